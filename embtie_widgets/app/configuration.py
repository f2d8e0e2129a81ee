"""What is set of a served page, and where each setting was said: on the command line, in the
environment, in a file, or nowhere."""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, get_args

from embtie_widgets.app.settings import ServeSettings, default_words, rule
from embtie_widgets.app.variables import variable
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.line import LINE
from embtie_widgets.sources.permission import SERVED

FILE = "config"
COMMAND_LINE, DEFAULT = "the command line", "default"
_WRONG = f"{DEFAULT}, since what was said cannot be"
_LARGEST = 2**20
_MADE_LATER = ("cache", "runs")  # folders that may be missing when the server starts
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_NAMES = tuple(field.name for field in fields(ServeSettings))
_CLOSE = 0.8  # how alike a variable is to one of ours that it is taken for a slip


class Configuration(NamedTuple):
    """The settings, for each the place that said it, and what is wrong with what was said: such
    settings are as if nobody had said them."""

    settings: ServeSettings
    where: dict[str, str]
    faults: tuple[EmbtieError, ...] = ()

    def check(self) -> ServeSettings:
        """The settings, all of them possible; else an EmbtieError that tells all that is wrong."""
        if len(self.faults) == 1:
            raise self.faults[0]
        if self.faults:
            told = "\n".join(f"        - {fault}" for fault in self.faults)
            raise EmbtieError(f"{len(self.faults)} things that were set cannot be:\n{told}")
        return self.settings


class _Said(NamedTuple):
    value: Any
    where: str


_Checked = dict[str, "_Said | EmbtieError"]


def configured(
    typed: Mapping[str, Any],
    file: str = "",
    environment: Mapping[str, str] = os.environ,
    default_port: int = ServeSettings.port,
) -> Configuration:
    """The settings with what is wrong of them; what was typed goes before the environment, and
    that before the file."""
    file = file or environment.get(variable(FILE), "")
    try:
        written = _in_file(file)
    except EmbtieError as fault:
        written = {"": fault}
    checked = [
        written,
        _in_environment(environment),
        {name: _tried(name, value, COMMAND_LINE) for name, value in typed.items()},
    ]
    faults = [x for said in checked for x in said.values() if isinstance(x, EmbtieError)]
    good = {n: x for said in checked for n, x in said.items() if isinstance(x, _Said)}
    good.setdefault("port", _Said(default_port, DEFAULT))
    settings = ServeSettings(**{name: one.value for name, one in good.items()})
    faults += [] if faults else _impossible_together(settings)
    wrong = {n: _WRONG for said in checked for n, x in said.items() if isinstance(x, EmbtieError)}
    where = {**wrong, **{name: one.where for name, one in good.items()}}
    return Configuration(settings, where, tuple(faults))


def slips(environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Of each variable that is none of ours, but nearly, what it was probably meant to be."""
    ours = (*map(variable, _NAMES), variable(FILE), LINE, SERVED)
    start = variable("")
    for name in environment:
        if name.startswith(start) and name not in ours:
            bare = {one.removeprefix(start): one for one in ours}
            for near in get_close_matches(name.removeprefix(start), bare, 1, _CLOSE):
                yield f"The variable {name} means nothing here. Is {bare[near]} meant?"


def lines(known: Configuration) -> list[str]:
    """Every setting as a line of a configuration file, with where it was said; no token."""
    shown = {name: _shown(name, getattr(known.settings, name)) for name in _NAMES}
    where = dict(known.where)
    if known.settings.public is None:
        shown["public"] = _shown("public", known.settings.is_public)
        where["public"] = "as host, proxied and sign_in have it"
    width = max(len(f"{name} = {value}") for name, value in shown.items())
    return [
        f"{f'{name} = {value}':{width}}  # {where.get(name) or _default(name)}"
        if value
        else f"# {name} is not set: {default_words(name)}"
        for name, value in shown.items()
    ]


def _default(name: str) -> str:
    """That nobody said it, and what the default stands for where its value does not say so."""
    return f"{DEFAULT}: {rule(name).unset}" if rule(name).unset else DEFAULT


def _shown(name: str, value: Any) -> str:
    """A value as a file of settings spells it; "" for one that is not set."""
    if name == "token" and value:
        return '"…"'
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False)


def _in_file(file: str) -> _Checked:
    if not file:
        return {}
    path = Path(file)
    table, folder = _table(path), path.absolute().parent
    return {
        name: _tried(name, value, path.name, folder)
        if name in _NAMES
        else _unknown(name, value, path.name)
        for name, value in table.items()
    }


def _unknown(name: str, value: Any, where: str) -> EmbtieError:
    if isinstance(value, dict):
        return EmbtieError(
            f"{where}: [{name}] begins a section, and a file of settings has none.",
            "Leave that line out: each setting is a line by itself.",
        )
    near = get_close_matches(name, _NAMES, 1)
    hint = f"Is '{near[0]}' meant?" if near else f"The settings are {', '.join(_NAMES)}."
    return EmbtieError(f"{where}: there is no setting '{name}'.", hint)


def _table(path: Path) -> dict[str, Any]:
    text = ""
    try:
        if path.stat().st_size > _LARGEST:
            raise EmbtieError(f"'{path.name}' is too large for a file of settings.")
        text = path.read_text(encoding="utf-8-sig")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise EmbtieError(
            f"There is no file '{path.name}' there.", "Name the file of settings with --config."
        ) from None
    except (OSError, UnicodeDecodeError):
        raise EmbtieError(f"'{path.name}' cannot be read as a text file.") from None
    except tomllib.TOMLDecodeError as error:
        hint = _spelt(text, str(error))
        raise EmbtieError(f"{path.name} is no TOML file: {error}.", hint) from None


def _spelt(text: str, error: str) -> str:
    """How the line in which TOML found a fault was probably meant."""
    at = re.search(r"at line (\d+)", error)
    line = text.splitlines()[int(at[1]) - 1] if at else ""
    given = re.fullmatch(r"""\s*(\w+)\s*=\s*([^\s"'#\[][^"'#]*?)\s*(?:#.*)?""", line)
    if not given or given[1] not in _NAMES:
        return 'A setting is a line such as: host = "::1"'
    name, value = given[1], _shown(given[1], given[2])
    kinds = _kinds(name)
    if tuple in kinds:
        return f"A list is written: {name} = [{value}]"
    if str in kinds:
        return f"Text is written in quotes: {name} = {value}"
    return f"{name} is {rule(name).expected}."


def _in_environment(environment: Mapping[str, str]) -> _Checked:
    """Variables that are set but empty say nothing."""
    given = {name: environment.get(variable(name), "") for name in _NAMES}
    return {
        name: _tried(name, _read(name, text), variable(name))
        for name, text in given.items()
        if text
    }


def _read(name: str, text: str) -> Any:
    """The value that a variable's text means; text that means none is left for the check."""
    kinds = _kinds(name)
    if tuple in kinds:
        return tuple(filter(None, text.split(os.pathsep if rule(name).is_path else ",")))
    if bool in kinds and text.lower() in (*_YES, *_NO):
        return text.lower() in _YES
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                continue
    return text


def _kinds(name: str) -> tuple[type, ...]:
    """The types that a setting's value may have."""
    declared = ServeSettings.__dataclass_fields__[name].type
    many = [one for one in get_args(declared) if one is not NoneType and one is not Ellipsis]
    if getattr(declared, "__origin__", None) is tuple:
        return (tuple,)
    kinds = tuple(many) or (declared,)
    return (*kinds, int) if float in kinds else kinds


def _tried(name: str, value: Any, where: str, folder: Path | None = None) -> "_Said | EmbtieError":
    """A setting as it was said, or what is wrong with it."""
    try:
        return _checked(name, value, where, folder)
    except EmbtieError as fault:
        return fault


def _checked(name: str, value: Any, where: str, folder: Path | None = None) -> _Said:
    """A setting as it was said, its paths made whole, or an EmbtieError that says where."""
    known, value = rule(name), tuple(value) if isinstance(value, list) else value
    if name == "base_url" and isinstance(value, str):
        value = f"/{value.strip('/')}/".replace("//", "/")
    fits = type(value) in _kinds(name)
    if fits and isinstance(value, tuple):
        fits = all(type(one) is str for one in value)
    if not fits or not known.good(value):
        given = "the token that was given" if name == "token" else _shown("", value)
        hint = f"It is {known.expected}."
        if tuple in _kinds(name) and isinstance(value, str):
            hint += f" A list is written: {name} = [{given}]"
        raise EmbtieError(f"{where}: {name} cannot be {given}.", hint)
    return _Said(
        _whole(name, value, where, folder or Path.cwd()) if known.is_path else value, where
    )


def _whole(name: str, value: Any, where: str, folder: Path) -> Any:
    """A path from the folder of what said it, since kernels work in another; it has to be there."""
    if isinstance(value, tuple):
        return tuple(_whole(name, one, where, folder) for one in value)
    if value == "" or (name == "cache" and value == "off"):
        return value
    path = folder / Path(value).expanduser()
    there = path.is_file() if name == "catalogue" else path.is_dir()
    if not there and name not in _MADE_LATER:
        kind = "file" if name == "catalogue" else "folder"
        raise EmbtieError(f"{where}: {name} names '{value}', where there is no {kind}.")
    return str(path)


def _impossible_together(known: ServeSettings) -> Iterable[EmbtieError]:
    """What is possible by itself, but not beside another setting."""
    if known.ready > known.visitors:
        yield EmbtieError(
            f"ready = {known.ready} kernels cannot be kept where visitors = {known.visitors} may "
            "be there in all.",
            "Set ready lower, or visitors higher.",
        )
    if known.token and known.sign_in != "token":
        yield EmbtieError(
            f'A token was given, but sign_in = "{known.sign_in}" asks for none.',
            'Set sign_in = "token", or leave the token out.',
        )
