import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from embtie_widgets.app import configuration
from embtie_widgets.app.configuration import Configuration, lines, slips
from embtie_widgets.app.settings import ServeSettings, rule
from embtie_widgets.app.variables import LINE, tell_kernels, variable
from embtie_widgets.cli import main
from embtie_widgets.errors import EmbtieError

TOKEN = "long-enough-a-token"


def configured(*said: Any, **around: Any) -> Configuration:
    """What was set, all of it possible."""
    known = configuration.configured(*said, **around)
    known.check()
    return known


def test_nothing_said_is_the_default() -> None:
    known = configured({}, environment={})
    assert known.settings == ServeSettings()
    assert configured({}, environment={}, default_port=8867).settings.port == 8867


def test_what_is_said_nearer_goes_first(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('host = "::1"\nvisitors = 3\nready = 2\nbase_url = "embtie"\n')
    around = {"EMBTIE_VISITORS": "4", "EMBTIE_READY": "", "EMBTIE_HOST": "0.0.0.0"}
    known = configured({"host": "localhost"}, str(file), around)
    assert known.settings == ServeSettings(
        host="localhost", visitors=4, ready=2, base_url="/embtie/"
    )
    assert known.where == {
        "host": "the command line",
        "visitors": "EMBTIE_VISITORS",
        "ready": "serve.toml",
        "base_url": "serve.toml",
        "port": "default",
    }


def test_the_environment_may_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("visitors = 7")
    (tmp_path / "b.toml").write_text("visitors = 8")
    around = {"EMBTIE_CONFIG": str(tmp_path / "a.toml")}
    assert configured({}, environment=around).settings.visitors == 7
    assert configured({}, str(tmp_path / "b.toml"), around).settings.visitors == 8


@pytest.mark.parametrize("text", ["on", "1", "True", "yes"])
def test_a_variable_is_read_as_what_its_setting_is(text: str, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    folders = os.pathsep.join([str(tmp_path), str(tmp_path / "more")])
    around = {
        "EMBTIE_PROXIED": text,
        "EMBTIE_PUBLIC": "off",
        "EMBTIE_IDLE_MINUTES": "0.5",
        "EMBTIE_MODELS": folders,
        "EMBTIE_FRAMED_BY": "https://a.example,https://*.b.example:8443",
    }
    known = configured({}, environment=around).settings
    assert (known.proxied, known.public, known.idle_minutes) == (True, False, 0.5)
    assert known.models == (str(tmp_path), str(tmp_path / "more"))
    assert known.framed_by == ("https://a.example", "https://*.b.example:8443")


def test_a_path_is_of_the_folder_of_what_named_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here / "texts", there / "lenses"):
        folder.mkdir(parents=True)
    (there / "serve.toml").write_text('lenses = "lenses"\ncache = "new"\n')
    monkeypatch.chdir(here)
    known = configured({"corpora": "texts"}, str(there / "serve.toml"), {}).settings
    assert known.corpora == str(here / "texts")
    assert (known.lenses, known.cache) == (str(there / "lenses"), str(there / "new"))


BAD = [
    ("visitor = 3", "no setting 'visitor'", "'visitors'"),
    ("[serve]\nport = 1", "[serve] begins a section", "Leave that line out"),
    ('visitors = "3"', 'visitors cannot be "3"', "a whole number from 1"),
    ("visitors = true", "visitors cannot be true", "a whole number"),
    ("visitors = 1.5", "visitors cannot be 1.5", "a whole number"),
    ("visitors = 0", "visitors cannot be 0", "from 1 to 10000"),
    ("visitors = 1 2", "no TOML file", ""),
    ("port = 65536", "port cannot be 65536", "from 0 to 65535"),
    ("idle_minutes = nan", "idle_minutes cannot be NaN", "above 0"),
    ("keep_seconds = -1", "keep_seconds cannot be -1", "from 0"),
    ("proxied = 1", "proxied cannot be 1", "true or false"),
    ('base_url = "/../"', "base_url cannot be", "a path"),
    ('base_url = "/a b/"', "base_url cannot be", "a path"),
    ('framed_by = "https://a.example"', "framed_by cannot be", "addresses"),
    ('framed_by = ["a;script-src *"]', "framed_by cannot be", "addresses"),
    ("framed_by = [1]", "framed_by cannot be", "addresses"),
    ('sign_in = "password"', "sign_in cannot be", '"none" or "token"'),
    ('models = ["none"]', "models names 'none'", ""),
    ('lenses = "serve.toml"', "lenses names 'serve.toml'", ""),
    ("ready = 50", "ready = 50 kernels", "Set ready lower"),
    (f'token = "{TOKEN}"', "asks for none", 'sign_in = "token"'),
    ('models = "models"', 'models cannot be "models"', 'models = ["models"]'),
    ("models = /srv/models", "no TOML file", 'models = ["/srv/models"]'),
    ("port = 1\nhost = 0.0.0.0  # all", "no TOML file", 'in quotes: host = "0.0.0.0"'),
    ("proxied = True", "no TOML file", "proxied is true or false"),
    (f"token = {TOKEN}", "no TOML file", 'token = "…"'),
]


@pytest.mark.parametrize(("text", "said", "hint"), BAD)
def test_what_cannot_be_is_told_with_where_it_was_said(
    text: str, said: str, hint: str, tmp_path: Path
) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(EmbtieError) as caught:
        configured({}, str(file), {})
    assert said in caught.value.message
    assert hint in caught.value.hint
    assert str(tmp_path) not in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "serve.toml").write_text('visitor = 3\nmodels = ["none"]\nready = 2')
    around = {"EMBTIE_LOG": "xml"}
    with pytest.raises(EmbtieError) as caught:
        configured({"visitors": "ten"}, str(tmp_path / "serve.toml"), around)
    first, *others = caught.value.message.splitlines()
    assert first.startswith("4 things")
    assert [line.split(":")[0].strip(" -") for line in others] == [
        "serve.toml", "serve.toml", "EMBTIE_LOG", "the command line",
    ]  # fmt: skip
    assert 'visitors cannot be "ten". It is a whole number from 1 to 10000.' in others[3]


def test_all_else_is_shown_beside_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_VISITOR", "3")
    monkeypatch.delenv("EMBTIE_CACHE", raising=False)
    (tmp_path / "serve.toml").write_text('models = ["none"]\nbase_url = "a"')
    told = ["--config", str(tmp_path / "serve.toml"), "--show-settings"]
    assert main(["serve", *told]) == 2
    shown, said = capsys.readouterr()
    assert 'base_url = "/a/"' in shown
    assert "# cache is not set: the cache folder of the account" in shown
    assert "nine tenths" in next(line for line in shown.splitlines() if line.startswith("memory"))
    assert "models = []" in shown
    assert "# default, since what was said cannot be" in shown
    assert "models names 'none', where there is no folder" in said
    assert "EMBTIE_VISITOR means nothing here. Is EMBTIE_VISITORS meant?" in said


def test_only_a_variable_that_is_nearly_ours_is_a_slip() -> None:
    around = dict.fromkeys(
        ("EMBTIE_VISITOR", "EMBTIE_VISITORS", "EMBTIE_LINES", "EMBTIE_SHARED", "VISITOR"), "1"
    )
    lines_, visitors = sorted(slips(around))
    assert "EMBTIE_VISITOR means" in visitors
    assert visitors.endswith("Is EMBTIE_VISITORS meant?")
    assert lines_.endswith("Is EMBTIE_LINE meant?")


@pytest.mark.parametrize("command", ["serve", "lessons"])
def test_the_help_says_what_may_be_chosen_and_what_holds_otherwise(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for word in ('"none", everyone', '"token", who', '"jupyterhub", users', '"json", an object'):
        assert word in said
    assert f"any free one (default: {8866 if command == 'serve' else 8867})" in said
    assert said.count("(default: ") == len(fields(ServeSettings))


def test_a_variable_or_an_option_that_is_wrong_is_named() -> None:
    with pytest.raises(EmbtieError, match=r'^EMBTIE_READY: ready cannot be "many"'):
        configured({}, environment={"EMBTIE_READY": "many"})
    with pytest.raises(EmbtieError, match=r"^the command line: starting cannot be 0"):
        configured({"starting": 0}, environment={})


@pytest.mark.parametrize("made", ["missing", "folder", "bytes"])
def test_a_file_that_cannot_be_read_is_told(made: str, tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    if made == "folder":
        file.mkdir()
    elif made == "bytes":
        file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EmbtieError, match=r"'serve\.toml'"):
        configured({}, str(file), {})


def test_a_token_that_is_too_short_is_refused_and_not_repeated() -> None:
    with pytest.raises(EmbtieError) as caught:
        configured({"sign_in": "token"}, environment={"EMBTIE_TOKEN": "hunter2"})
    assert "at least 16" in caught.value.hint
    assert "hunter2" not in str(caught.value)


def test_what_is_shown_is_a_file_that_says_the_same(tmp_path: Path) -> None:
    around = {"EMBTIE_SIGN_IN": "token", "EMBTIE_TOKEN": TOKEN, "EMBTIE_MODELS": str(tmp_path)}
    known = configured({"host": "0.0.0.0", "datasets": True}, environment=around)
    said = lines(known)
    assert len(said) == len(fields(ServeSettings))
    assert not any(TOKEN in line for line in said)
    assert any(line.startswith('host = "0.0.0.0"') and "command line" in line for line in said)
    assert any(line.startswith("public = true") and "as host" in line for line in said)
    (tmp_path / "again.toml").write_text("\n".join(x for x in said if not x.startswith("token")))
    again = configured({}, str(tmp_path / "again.toml"), {"EMBTIE_TOKEN": TOKEN}).settings
    assert {**vars(again), "public": None} == vars(known.settings)


def test_every_setting_is_an_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "own.toml").touch()
    typed = {field.name: _typed(field.name, tmp_path) for field in fields(ServeSettings)}
    argv = [f"--{n.replace('_', '-')}" + (f"={v}" if v else "") for n, v in typed.items()]
    for name in typed:
        monkeypatch.delenv(variable(name), raising=False)
    assert main(["serve", *argv, "--show-settings"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[-2:] for line in shown] == [["command", "line"]] * len(typed)


def _typed(name: str, folder: Path) -> str:
    special = {"token": TOKEN, "sign_in": "token", "log": "json", "catalogue": folder / "own.toml"}
    if name in special:
        return str(special[name])
    if rule(name).is_path:
        return str(folder)
    if rule(name).expected == "true or false":
        return ""
    words = {"host": "::1", "base_url": "/a/", "framed_by": "https://a.example", "cluster": "here"}
    return words.get(name, "512" if name == "visitor_memory" else "5")


def test_kernels_are_told_what_concerns_them_and_no_token(tmp_path: Path) -> None:
    around = {"EMBTIE_TOKEN": TOKEN, "EMBTIE_CORPORA": "/texts", "EMBTIE_PUBLIC": "0", "HOME": "/"}
    known = ServeSettings(
        host="0.0.0.0", token=TOKEN, sign_in="token", models=("/a", "/b"), lenses="", datasets=True
    )
    tell_kernels(known, tmp_path, around)
    assert around == {
        "HOME": "/",
        "EMBTIE_SERVED": "1",
        "EMBTIE_PUBLIC": "1",
        "EMBTIE_MODELS": os.pathsep.join(["/a", "/b"]),
        "EMBTIE_VISITOR_MEMORY": "4096",
        "EMBTIE_VISITOR_CARD": "0",
        "EMBTIE_LOG": "text",
        "EMBTIE_CORPORA": "/texts",
        "EMBTIE_LENSES": "",
        "EMBTIE_DATASETS": "on",
        LINE: str(tmp_path),
    }


def test_a_page_of_this_machine_alone_is_not_public(tmp_path: Path) -> None:
    around: dict[str, str] = {"EMBTIE_PUBLIC": "1", LINE: "/shared"}
    tell_kernels(ServeSettings(), tmp_path, around)
    assert "EMBTIE_PUBLIC" not in around
    assert around[LINE] == "/shared"  # of several servers that share a device


@pytest.mark.parametrize(
    ("known", "public"),
    [
        (ServeSettings(), False),
        (ServeSettings(host="0.0.0.0"), True),
        (ServeSettings(proxied=True), True),
        (ServeSettings(proxied=True, sign_in="jupyterhub"), False),
        (ServeSettings(host="0.0.0.0", public=False), False),
        (ServeSettings(public=True), True),
    ],
)
def test_who_counts_as_a_stranger(known: ServeSettings, public: bool) -> None:
    assert known.is_public is public
