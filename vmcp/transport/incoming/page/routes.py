"""The paths of the page: its files, and the JSON that it asks for every other second."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from vmcp.catalog.entries import Kind
from vmcp.gateway.browse import Browser, Query, Shelf

# Backends choose names and descriptions: nothing runs or loads here but our own files.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
_JSON = "application/json"
_LONGEST_SEARCH = 200
_MOST_DIGITS = 9


class _Misasked(Exception):
    """A query that cannot be answered; the message says what is wanted."""


def routes(live: Callable[[int], bytes], browser: Browser) -> list[Route]:
    """Return the routes; `live` gives the state at the moment for a revision of the browser."""

    async def show_live(_request: Request) -> Response:
        return Response(live(browser.revision()), media_type=_JSON, headers=_HEADERS)

    async def show_catalog(request: Request) -> Response:
        try:
            query = _query(request)
        except _Misasked as error:
            return PlainTextResponse(f"{error}\n", 400, _HEADERS)
        return Response(await browser.page(query), media_type=_JSON, headers=_HEADERS)

    return [
        *(_file(path, name, kind) for path, (name, kind) in _FILES.items()),
        Route("/status/live", show_live),
        Route("/status/catalog", show_catalog),
    ]


def _file(path: str, name: str, kind: str) -> Route:
    content = files(__package__).joinpath(name).read_bytes()

    async def show(_request: Request) -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)

    return Route(path, show)


def _query(request: Request) -> Query:
    asked = request.query_params
    search, after = asked.get("search", ""), asked.get("after", "0")
    if len(search) > _LONGEST_SEARCH:
        raise _Misasked(f"search may have at most {_LONGEST_SEARCH} characters.")
    if not after.isascii() or not after.isdecimal() or len(after) > _MOST_DIGITS:
        raise _Misasked("after must be the `next` of the page before.")
    return Query(_shelf(asked.get("show", "")), _kind(asked.get("kind", "")), search, int(after))


def _shelf(word: str) -> Shelf:
    try:
        return Shelf(word or Shelf.LISTED.value)
    except ValueError:
        allowed = ", ".join(shelf.value for shelf in Shelf)
        raise _Misasked(f"show must be one of: {allowed}.") from None


def _kind(word: str) -> Kind | None:
    try:
        return Kind(word) if word else None
    except ValueError:
        raise _Misasked(f"kind must be one of: {', '.join(k.value for k in Kind)}.") from None
