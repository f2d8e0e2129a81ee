"""What requests say of recorded files: which one, and which column means what."""

from collections.abc import Iterable
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields

_MOST = 64


def checked_columns(value: Any) -> tuple[str, ...]:
    """Such pairs, each name once; a lone string is refused."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | dict):
        raise EmbtieError(
            f"columns is {fields.short(value)}; expected pairs of names.",
            'Give them as ["step=iteration", "output_norm=grad_out"].',
        )
    pairs = tuple(fields.text("a pair of columns", pair) for pair in value)
    named = columns_of(pairs)
    if len(named) < len(pairs) or len(pairs) > _MOST:
        raise EmbtieError(
            f"columns names {len(pairs)} columns; expected at most {_MOST}, each name once.",
            "Leave out what stands there twice.",
        )
    return pairs


def columns_of(pairs: Iterable[str]) -> dict[str, str]:
    """Name to header."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, header = pair.partition("=")
        if not (name and equals and header):
            raise EmbtieError(
                f"columns holds {fields.short(pair)}; expected a name, '=' and a header.",
                'Give such as "output_norm=grad_out".',
            )
        found[name] = header
    return found


def checked_file(source: str, file: str) -> None:
    """A file or folder is named, where the source is one."""
    if file:
        fields.text("file", file)
    elif source in ("file", "run"):
        raise EmbtieError(
            f"source is '{source}', but no file is named.",
            "Name the recorded file, or the folder of the run, as `file`.",
        )
