// The page shows and never acts: it asks for JSON, and writes what comes as text, never as markup.
"use strict";

const EVERY_MS = 2000;
const PATIENCE_MS = 10000;
const TYPING_MS = 150;
const SHORT_TEXT = 200;

const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");

// Characters that one cannot see, or that turn the text around them, are shown by their code.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;
const visible = (text) =>
  String(text).replace(UNSEEN, (char) => `\\u${char.codePointAt(0).toString(16).padStart(4, "0")}`);

function made(tag, text, attributes = {}) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// Writes only what differs, so that a screen reader and a selection are left alone.
function write(node, text, look) {
  if (node.textContent !== text) node.textContent = text;
  if (look !== undefined && node.className !== look) node.className = look;
}

async function ask(path, signal) {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const response = await fetch(path, {
    cache: "no-store",
    signal: signal ? AbortSignal.any([signal, patience]) : patience,
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}

// What changes from second to second.

const STATES = {
  healthy: ["● healthy", "badge good"],
  degraded: ["▲ degraded", "badge bad"],
  unhealthy: ["▲ unhealthy", "badge bad"],
  unauthenticated: ["○ unauthenticated", "badge wait"],
  connecting: ["○ connecting", "badge wait"],
};
const COLUMNS = ["State", "Era", "Offers", "Calls", "Failed", "p50 / p99"];
const OFFERS = [
  ["tools", "tool", "tools"],
  ["prompts", "prompt", "prompts"],
  ["resources", "resource", "resources"],
  ["resourceTemplates", "template", "templates"],
];
const rowsOfBackends = new Map();

function counted(counts) {
  return OFFERS.filter(([member]) => counts[member])
    .map(([member, one, many]) => `${number.format(counts[member])} ${counts[member] === 1 ? one : many}`)
    .join(", ");
}

function newRow() {
  const row = made("tr", undefined, { role: "row" });
  const head = made("th", undefined, { role: "rowheader", scope: "row" });
  head.append(made("bdi"), made("span", "", { class: "soft" }));
  row.append(head);
  for (const label of COLUMNS) {
    const cell = made("td", undefined, { role: "cell", "data-label": label });
    if (["Calls", "Failed", "p50 / p99"].includes(label)) cell.className = "number";
    const inner = made("div");
    inner.append(made("span"), made("span", "", { class: "soft" }));
    cell.append(inner);
    row.append(cell);
  }
  return row;
}

function fill(row, backend) {
  const parts = [...row.cells].map((cell) => [...cell.querySelectorAll("bdi, span")]);
  const peer = backend.serverInfo;
  const isNamed = peer && typeof peer.name === "string";
  const software = isNamed ? `${peer.name} ${typeof peer.version === "string" ? peer.version : ""}` : "";
  const texts = [
    [backend.name, [backend.transport, visible(software.slice(0, SHORT_TEXT))].filter(Boolean).join(" · ")],
    [...stateOf(backend)],
    [backend.era ?? "–", backend.protocolVersion ?? ""],
    [counted(backend) || "–", ""],
    ...trafficOf(backend),
  ];
  texts.forEach(([first, second], column) => {
    write(parts[column][0], first);
    write(parts[column][1], second);
  });
  write(parts[1][0], texts[1][0], (STATES[backend.state] ?? STATES.connecting)[1]);
}

function stateOf(backend) {
  const [word] = STATES[backend.state] ?? [visible(backend.state)];
  const since = backend.since ? `since ${new Date(backend.since).toLocaleTimeString()}` : "";
  const failure = backend.state === "healthy" ? undefined : backend.lastFailure;
  const why = failure ? `${failure.reason}: ${visible(failure.message)}` : "";
  const isSpared = backend.circuitBreaker && backend.circuitBreaker.state !== "closed";
  const circuit = isSpared ? `circuit ${backend.circuitBreaker.state}` : "";
  return [word, [since, circuit, why].filter(Boolean).join(" · ")];
}

function trafficOf(backend) {
  const minute = backend.lastMinute;
  if (!minute) return [["–", ""], ["–", ""], ["–", ""]];
  const underWay = backend.calls ? `, ${number.format(backend.calls)} under way` : "";
  return [
    [`${number.format(minute.callsPerSecond)}/s`, `${number.format(backend.called)} in all${underWay}`],
    [`${number.format(minute.failuresPerSecond)}/s`, `${number.format(backend.failed)} in all`],
    [minute.p50Milliseconds === null ? "–" : `${time(minute.p50Milliseconds)} / ${time(minute.p99Milliseconds)}`, ""],
  ];
}

function time(milliseconds) {
  if (milliseconds >= 10000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`;
}

function showBackends(backends) {
  const names = new Set(backends.map((backend) => backend.name));
  for (const [name, row] of rowsOfBackends) {
    if (!names.has(name)) {
      row.remove();
      rowsOfBackends.delete(name);
    }
  }
  backends.forEach((backend, at) => {
    let row = rowsOfBackends.get(backend.name);
    if (!row) rowsOfBackends.set(backend.name, (row = newRow()));
    fill(row, backend);
    const there = byId("backends").rows[at];
    if (there !== row) byId("backends").insertBefore(row, there ?? null);
  });
  byId("no-backends").hidden = backends.length > 0;
}

function showNumbers(state) {
  const rate = state.backends.reduce((sum, each) => sum + (each.lastMinute?.callsPerSecond ?? 0), 0);
  const told = {
    Version: state.version,
    Sessions: number.format(state.sessions),
    "Calls/s": number.format(Math.round(rate * 100) / 100),
    ...Object.fromEntries(
      OFFERS.map(([member, , many]) => [many[0].toUpperCase() + many.slice(1), number.format(state.catalog[member])]),
    ),
  };
  const list = byId("numbers");
  if (!list.childElementCount) {
    for (const word of Object.keys(told)) {
      const pair = made("div");
      pair.append(made("dt", word), made("dd"));
      list.append(pair);
    }
  }
  Object.values(told).forEach((text, at) => write(list.children[at].lastChild, text));
}

function showConfig({ lastError }) {
  const wrong = lastError?.errors.map((each) => `${each.path || "the file"}: ${each.message}`).join(" ");
  write(byId("broken"), lastError ? `The config is broken, and the one before stays in force. ${wrong}` : "");
}

let revision = null;
let timer = null;
let isAsking = false;

async function look() {
  clearTimeout(timer);
  if (isAsking || document.hidden) return;
  isAsking = true;
  try {
    const state = await ask("status/live");
    write(byId("name"), state.name);
    document.title = `${state.name} – vmcp`;
    write(byId("ready"), state.ready ? "● ready" : "○ not ready", `badge ${state.ready ? "good" : "wait"}`);
    write(byId("link"), "Live", "");
    showConfig(state.config);
    showNumbers(state);
    showBackends(state.backends);
    if (state.revision !== revision) {
      revision = state.revision;
      await find();
    }
  } catch {
    if (byId("link").className !== "lost") {
      write(byId("link"), `No answer since ${new Date().toLocaleTimeString()}; what is shown is old.`, "lost");
    }
    // Another process may count its revisions from the beginning.
    revision = null;
  } finally {
    isAsking = false;
    timer = setTimeout(look, EVERY_MS);
  }
}

// The lists that are looked through.

let next = null;
let finding = new AbortController();

function query(after) {
  const form = byId("filter");
  const asked = { show: form.show.value, search: form.search.value, after: String(after) };
  if (form.show.value !== "problems") asked.kind = form.kind.value;
  return `status/catalog?${new URLSearchParams(asked)}`;
}

async function find() {
  finding.abort();
  finding = new AbortController();
  const { signal } = finding;
  try {
    const page = await ask(query(0), signal);
    if (!signal.aborted) byId("rows").replaceChildren(...shown(page));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function findMore() {
  const { signal } = finding;
  const known = byId("rows").childElementCount;
  try {
    const page = await ask(query(next), signal);
    if (signal.aborted) return;
    byId("rows").append(...shown(page));
    byId("rows").children[known]?.focus();
  } catch {
    if (!signal.aborted) write(byId("matching"), "No answer; try again.");
  }
}

function shown(page) {
  next = page.next;
  byId("more").hidden = next === null;
  for (const [shelf, count] of Object.entries(page.counts)) {
    write(byId(`count-${shelf}`), number.format(count), count && shelf === "problems" ? "count bad" : "count");
  }
  const form = byId("filter");
  form.kind.disabled = form.show.value === "problems";
  const total = page.counts[form.show.value];
  const found = number.format(page.matching);
  write(byId("matching"), page.matching === total ? `${found} in all` : `${found} of ${number.format(total)} match`);
  return page.rows.map(form.show.value === "problems" ? problem : thing);
}

function thing(row) {
  const item = made("li", undefined, { tabindex: "-1" });
  const head = made("div", undefined, { class: "head" });
  const name = made("bdi");
  name.append(made("code", visible(row.name)));
  head.append(name, labelled("", row.kind), labelled("backend ", row.backend));
  if (row.ownName !== undefined) head.append(labelled("own name ", row.ownName));
  item.append(head);
  if (row.why) item.append(made("p", visible(row.why), { class: "wait" }));
  if (row.title) item.append(made("p", row.title, { dir: "auto" }));
  if (row.description) item.append(described(row.description));
  return item;
}

function labelled(label, text) {
  const node = made("span", label, { class: "soft" });
  node.append(made("bdi", visible(text)));
  return node;
}

function described(text) {
  if (text.length <= SHORT_TEXT) return made("p", text, { dir: "auto" });
  const details = made("details");
  // Cut between two characters, not within one.
  const short = Array.from(text.slice(0, SHORT_TEXT)).slice(0, -1).join("");
  details.append(made("summary", `${short}…`, { dir: "auto" }), made("p", text, { dir: "auto" }));
  return details;
}

function problem(row) {
  const item = made("li", undefined, { tabindex: "-1" });
  const head = made("div", undefined, { class: "head" });
  head.append(made("code", visible(row.reason)), labelled("", row.object));
  item.append(head, made("p", visible(row.message), { dir: "auto" }));
  return item;
}

function refresh() {
  find().catch(() => write(byId("matching"), "No answer; try again."));
}

let typing = null;
byId("filter").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(refresh, TYPING_MS);
});
byId("filter").addEventListener("submit", (event) => {
  event.preventDefault();
  refresh();
});
byId("more").addEventListener("click", findMore);
document.addEventListener("visibilitychange", look);
look();
