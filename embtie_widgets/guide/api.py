"""The reference of every public name, written from the docstrings:

    python -m embtie_widgets.guide.api

brings `handbook/api.md` up to date; a test holds the two together.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import embtie_widgets as ew

PAGE = Path(__file__).parent / "handbook" / "api.md"
_INTRO = """# Every public name

`import embtie_widgets as ew` gives all of these; each is loaded when it is first used. This page is
made from the docstrings: `python -m embtie_widgets.guide.api` writes it anew.
"""
_GROUPS = {
    "Requests": "A request describes work: `ew.run(request)` carries it out, a panel edits it, "
    'a JSON file with its `kind` and any of its fields is what `embtie run` takes, `{"embtie": 1, '
    '"kind": "align", "map": "orthogonal"}`. What is left out keeps its default.',
    "Panels": "Each is a widget; give it a request, or fields of one by name.",
    "Calls": "Functions, pure where they can be: tensors or names in, a frozen result out.",
    "Other classes": "",
}
_COLUMNS = re.compile(r"^[^\s.][^.\n]{0,30}? {2,}\S", re.MULTILINE)


def reference() -> str:
    """The whole page."""
    named: dict[str, list[str]] = {group: [] for group in _GROUPS}
    for name in sorted(ew.__all__, key=str.lower):
        named[_group(name)].append(name)
    parts = [_INTRO]
    for group, intro in _GROUPS.items():
        parts += [f"## {group}\n", *([f"{intro}\n"] if intro else [])]
        parts += [_entry(name, getattr(ew, name)) for name in named[group]]
    return "\n".join(parts)


def _group(name: str) -> str:
    for ending in ("Request", "Panel"):
        if name.endswith(ending):
            return f"{ending}s"
    return "Other classes" if inspect.isclass(getattr(ew, name)) else "Calls"


def _entry(name: str, value: Any) -> str:
    kind = f", kind `{value.kind}`" if isinstance(getattr(value, "kind", None), str) else ""
    told = "\n\n".join(_paragraphs(inspect.getdoc(value) or ""))
    table = f"\n{_fields(value)}\n" if is_dataclass(value) else ""
    signature = "" if table else f"\n```text\n{name}{_signature(value)}\n```\n"
    return f"### {name}{kind}\n{signature}\n{told}\n{table}"


def _signature(value: Any) -> str:
    """Names and defaults, one a line where it is long; types are for the editor."""
    given = inspect.signature(value).parameters.values()
    plain = [one.replace(annotation=one.empty, default=_plain(one.default)) for one in given]
    short = str(inspect.Signature(plain))
    return short if len(short) < 80 else short.replace(", ", ",\n    ").replace("(", "(\n    ", 1)


class _Name(str):
    """A text that is shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def _plain(default: Any) -> Any:
    """A default as it is written; a function by its name, not by its place in memory."""
    return _Name(default.__name__) if inspect.isfunction(default) else default


def _paragraphs(text: str) -> Iterator[str]:
    """Those of a docstring; what stands in columns keeps them."""
    for part in re.split(r"\n\s*\n", text):
        in_columns = _COLUMNS.search(part) or part.startswith("    ")
        yield f"```text\n{part}\n```" if in_columns else part


def _fields(value: Any) -> str:
    """Its own fields, then those that it has from elsewhere."""
    known = sorted(fields(value), key=lambda one: one.name not in value.__annotations__)
    rows = [f"| `{one.name}` | {_default(one)} |" for one in known if one.init]
    return "\n".join(["| field | default |", "| --- | --- |", *rows])


def _default(one: Any) -> str:
    if one.default is MISSING and one.default_factory is MISSING:
        return ""
    value = one.default if one.default is not MISSING else one.default_factory()
    if hasattr(value, "ref"):
        value = value.ref
    return f"`{value!r}`"


def main() -> None:
    """Write the page."""
    PAGE.write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
