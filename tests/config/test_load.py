import os
from pathlib import Path

import pytest

from tests.config.certificates import certificate
from vmcp.config.errors import ConfigError, ConfigInvalid
from vmcp.config.load import MAX_CONFIG_BYTES, MAX_SECRET_BYTES, Loaded, load
from vmcp.config.references import FromEnv, FromFile
from vmcp.model.secret import Secret

SEAL = "k" * 32


class Folder:
    """A folder with a config file and what it names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "vmcp.yaml"

    def write(self, **files: str | bytes) -> None:
        for name, content in files.items():
            target = self.path / name.replace("__", "/")
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)

    def load(self, text: str, **environment: str) -> Loaded:
        self.config.write_text(text)
        return load(self.config, environment)

    def refuse(self, text: str, **environment: str) -> list[ConfigError]:
        with pytest.raises(ConfigInvalid) as caught:
            self.load(text, **environment)
        return list(caught.value.errors)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def bearer(keys: str) -> str:
    return (
        "backends: [{name: web, url: 'https://h'}]\n"
        f"outgoingAuth: {{default: {{type: bearer_token, bearerToken: {{{keys}}}}}}}"
    )


def trusting(path: str) -> str:
    return f"backends: [{{name: web, url: 'https://h', caBundlePath: '{path}'}}]"


def child(keys: str) -> str:
    return f"backends: [{{name: box, stdio: {{command: box, {keys}}}}}]"


def test_everything_that_a_file_names_is_read(folder: Folder) -> None:
    folder.write(keys__header="h\n", keys__env="e", ca="# ours\n" + certificate("a"), seal=SEAL)
    text = """
    backends:
      - name: web
        url: https://h
        caBundlePath: ca
        headerForward: {addHeadersFromSecret: [{headerName: X, valueFile: keys/header}]}
      - name: box
        stdio: {command: box, env: {A: {valueFile: keys/env}, B: {valueEnv: B}}}
    outgoingAuth: {default: {type: bearer_token, bearerToken: {tokenEnv: TOKEN}}}
    server: {sealKeyFile: seal}
    """

    loaded = folder.load(text, B="b", TOKEN="t", UNUSED="u")

    assert loaded.secrets == {
        FromFile("keys/header"): Secret("h"),
        FromFile("keys/env"): Secret("e"),
        FromFile("seal"): Secret(SEAL),
        FromEnv("B"): Secret("b"),
        FromEnv("TOKEN"): Secret("t"),
    }
    assert loaded.bundle(loaded.config.backends[0]) == certificate("a")
    names = ["vmcp.yaml", "ca", "keys/env", "keys/header", "seal"]
    assert loaded.files == tuple(folder.path / name for name in names)


def test_a_relative_path_starts_at_the_folder_of_the_config(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write(etc__token="t", other__x="")
    (folder.path / "etc" / "vmcp.yaml").write_text(bearer("tokenFile: token"))
    monkeypatch.chdir(folder.path / "other")

    loaded = load(Path("../etc/vmcp.yaml"), {})

    assert loaded.secret(FromFile("token")) == Secret("t")
    assert all(path.is_absolute() for path in loaded.files)


@pytest.mark.parametrize(
    ("content", "secret"),
    [("s", "s"), ("s\n", "s"), ("s\r\n", "s"), (b"\xef\xbb\xbfs\n", "s"), ("s-ü\n", "s-ü")],
)
def test_one_line_break_at_the_end_is_no_part_of_a_secret(
    folder: Folder, content: str | bytes, secret: str
) -> None:
    folder.write(token=content)

    loaded = folder.load(bearer("tokenFile: token"))

    assert loaded.secret(FromFile("token")) == Secret(secret)


def test_a_variable_of_a_child_may_hold_line_breaks(folder: Folder) -> None:
    folder.write(key="a\nb\n\n")

    loaded = folder.load(child("env: {A: {valueFile: key}}"))

    assert loaded.secret(FromFile("key")) == Secret("a\nb\n")


def test_what_cannot_be_read_is_told_with_all_other_errors(folder: Folder) -> None:
    folder.write(ca="no certificate", empty="\n", spaced="a b")
    text = """
    backends:
      - {name: a, url: 'https://h', caBundlePath: ca}
      - {name: b, url: 'https://h', caBundlePath: ./missing}
      - {name: c, transport: sse, stdio: {command: x, cwd: nowhere, env: {A: {valueEnv: NO}}}}
      - {name: d, url: 'https://h', headerForward: {addHeadersFromSecret: [
          {headerName: X, valueFile: empty}, {headerName: Y, valueEnv: EMPTY}]}}
    outgoingAuth: {default: {type: bearer_token, bearerToken: {tokenFile: spaced}}}
    server: {sealKeyEnv: SHORT}
    """

    found = folder.refuse(text, EMPTY="", SHORT="short")

    assert [(error.path, error.message) for error in found] == [
        ("backends[0].caBundlePath", "The file ca holds no PEM certificate."),
        ("backends[1].caBundlePath", "The file ./missing does not exist."),
        ("backends[2].transport", "This transport needs the key url."),
        ("backends[2].stdio.cwd", "The folder nowhere does not exist."),
        ("backends[2].stdio.env.A.valueEnv", "The environment variable NO is not set."),
        ("backends[3].headerForward.addHeadersFromSecret[0].valueFile", "The file empty is empty."),
        (
            "backends[3].headerForward.addHeadersFromSecret[1].valueEnv",
            "The environment variable EMPTY is empty.",
        ),
        ("outgoingAuth.default.bearerToken.tokenFile", "The file spaced holds white space."),
        ("server.sealKeyEnv", "The environment variable SHORT is shorter than 32 characters."),
    ]


@pytest.mark.parametrize("value", ["s3cret\nX: y", " s3cret", "s3cret\0", "s3cret\udcff"])
def test_a_secret_that_cannot_be_sent_is_refused_and_not_shown(folder: Folder, value: str) -> None:
    [error] = folder.refuse(bearer("tokenEnv: TOKEN"), TOKEN=value)

    assert error.path == "outgoingAuth.default.bearerToken.tokenEnv"
    assert "s3cret" not in str(error)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "The file token is not UTF-8."),
        ("x" * (MAX_SECRET_BYTES + 1), f"The file token is larger than {MAX_SECRET_BYTES} bytes."),
    ],
    ids=["no text", "too large"],
)
def test_a_secret_file_that_cannot_be_one_is_refused(
    folder: Folder, content: str | bytes, message: str
) -> None:
    folder.write(token=content)

    [error] = folder.refuse(bearer("tokenFile: token"))

    assert error.message == message


def test_a_pipe_is_refused_without_waiting_for_its_writer(folder: Folder) -> None:
    os.mkfifo(folder.path / "token")

    [error] = folder.refuse(bearer("tokenFile: token"))

    assert error.message == ("The file token is a folder, a pipe or a device, and no regular file.")


@pytest.mark.parametrize("path", ["", "folder"])
def test_a_bundle_that_is_no_file_is_refused(folder: Folder, path: str) -> None:
    (folder.path / "folder").mkdir()

    [error] = folder.refuse(trusting(path))

    assert error.path == "backends[0].caBundlePath"


def test_one_broken_certificate_makes_a_bundle_bad(folder: Folder) -> None:
    folder.write(ca=certificate("a") + certificate("b").replace("MII", "!!!", 1))

    [error] = folder.refuse(trusting("ca"))

    assert error.message == "The file ca holds a certificate that cannot be read."


def test_a_bundle_through_a_link_is_read(folder: Folder) -> None:
    folder.write(v1__ca=certificate("a"))
    (folder.path / "current").symlink_to("v1")

    loaded = folder.load(trusting("current/ca"))

    assert loaded.files[1] == folder.path / "current" / "ca"


def test_a_folder_of_a_child_is_made_absolute(folder: Folder) -> None:
    folder.write(work__x="")

    loaded = folder.load(child("cwd: work"))

    assert loaded.folder("work") == str(folder.path / "work")
    assert loaded.folder(None) is None


def test_a_missing_config_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        load(tmp_path / "none.yaml", {})

    assert str(caught.value) == f"{tmp_path / 'none.yaml'}: 1 error\n- the file: It does not exist."


@pytest.mark.parametrize(
    ("content", "message", "line", "column"),
    [
        (b"backends: []\nname: \xff", "It is not UTF-8.", 2, 7),
        (
            b"# " + b"x" * MAX_CONFIG_BYTES,
            f"It is larger than {MAX_CONFIG_BYTES} bytes.",
            None,
            None,
        ),
        (b"", "Is empty.", None, None),
        (b"backends: [", "Is not YAML", 1, 12),
    ],
    ids=["no text", "too large", "empty", "no yaml"],
)
def test_a_config_that_is_no_text_is_refused(
    folder: Folder, content: bytes, message: str, line: int | None, column: int | None
) -> None:
    folder.config.write_bytes(content)

    with pytest.raises(ConfigInvalid) as caught:
        load(folder.config, {})

    [error] = caught.value.errors
    assert error.message.startswith(message)
    assert (error.line, error.column) == (line, column)


def test_a_folder_is_no_config(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="no regular file"):
        load(tmp_path, {})


def test_a_config_may_begin_with_a_byte_order_mark(folder: Folder) -> None:
    folder.config.write_bytes(b"\xef\xbb\xbfbackends: []\n")

    assert load(folder.config, {}).config.backends == ()


def test_nothing_secret_shows_when_what_was_loaded_is_printed(folder: Folder) -> None:
    folder.write(token="s3cret-file")

    loaded = folder.load(
        bearer("tokenFile: token") + "\nserver: {sealKeyEnv: SEAL}", SEAL="s3cret" * 10
    )

    assert "s3cret" not in repr(loaded)
    assert "s3cret" not in str(loaded)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("tokenEnv", "GITHUB_TOKEN2", "The environment variable GITHUB_TOKEN2 is not set."),
        (
            "tokenEnv",
            "ghp_Ab12",
            "The environment variable that it names (not shown) is not set.",
        ),
        ("tokenFile", "/run/secrets/Token", "The file /run/secrets/Token does not exist."),
        ("tokenFile", "token.txt", "The file token.txt does not exist."),
        ("tokenFile", "ghp_Ab12", "The file that it names (not shown) does not exist."),
        (
            "tokenFile",
            "x" * 300,
            "The file that it names (not shown) cannot be read: File name too long.",
        ),
    ],
)
def test_what_may_be_the_secret_itself_is_not_repeated(
    folder: Folder, key: str, value: str, said: str
) -> None:
    [error] = folder.refuse(bearer(f"{key}: {value}"))

    assert error.message == said


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("{tokenEnvv: A}", "Is no key that is known here."),
        ("{ghp_Ab12: A}", "Holds a key that is no name."),
        ("{ghp_Ab12: }", "Holds a key that is no name."),
    ],
)
def test_a_key_beside_secrets_is_repeated_where_it_is_near_one_that_is_known(
    folder: Folder, token: str, said: str
) -> None:
    strategy = f"{{type: bearer_token, bearerToken: {token}}}"

    found = folder.refuse(f"backends: []\noutgoingAuth: {{default: {strategy}}}")

    assert said in [error.message for error in found]
    assert "ghp_Ab12" not in str(found)
