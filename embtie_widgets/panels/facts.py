"""What is known of models or runs, side by side, with hashes and notes: a panel's last card."""

from collections.abc import Iterable, Mapping
from typing import Any

from embtie_widgets.panels.words import escape, table


def facts_of(
    about: Mapping[str, Mapping[str, Any]],
    hashes: Mapping[str, str],
    notes: Iterable[str],
    label: str,
) -> str:
    """A column for each name with what is known `about` it, then hashes and notes."""
    plain = {name: _plain(one) for name, one in about.items()}
    known = list(dict.fromkeys(key for one in plain.values() for key in one))
    sides = table(
        ["", *map(escape, plain)],
        [[escape(key), *(_value(one.get(key)) for one in plain.values())] for key in known],
        label,
    )
    listed = table(
        ["SHA-256", ""],
        [[escape(name), f"<code>{escape(value)}</code>"] for name, value in hashes.items()],
        "what it was made of, by hash",
    )
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    told = f'<h4>Notes</h4><ul class="ep-notes">{items}</ul>' if items else ""
    shown = f'<div class="ep-facts">{sides}</div>' if known else ""
    return f"{shown}{listed if hashes else ''}{told}"


def _plain(about: Mapping[str, Any]) -> dict[str, Any]:
    """What of it is one value, by name; what is inside by both names."""
    found: dict[str, Any] = {}
    for name, value in about.items():
        if isinstance(value, dict):
            found |= {f"{name}, {key}": inner for key, inner in _plain(value).items()}
        elif isinstance(value, str | int | float) and value != "":
            found[str(name)] = value
    return found


def _value(value: Any) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return escape(f"{value:,}" if isinstance(value, int) else value)
