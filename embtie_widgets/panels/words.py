"""Numbers and names as they are read: small HTML pieces, every text escaped."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

MINUS = "−"


def escape(value: Any) -> str:
    """Any text as text, never as markup."""
    return html.escape(str(value))


def paragraphs(text: str, kind: str = "") -> str:
    """Any text as paragraphs of this class, parted where a line is empty."""
    mark = f' class="{kind}"' if kind else ""
    parts = (part.strip() for part in text.split("\n\n"))
    return "".join(f"<p{mark}>{escape(part)}</p>" for part in parts if part)


def number(value: float | None, places: int = 3) -> str:
    """A number with fixed places and a real minus sign; a dash where there is none."""
    return "–" if value is None else f"{value:.{places}f}".replace("-", MINUS)


def interval(pair: Sequence[float] | None) -> str:
    """A 95 % interval in brackets; nothing where there is none."""
    return "" if pair is None else f"[{number(pair[0])}, {number(pair[1])}]"


def seconds(value: float) -> str:
    """A time as people say it: 0.4 s, 12 s, 3 min 05 s."""
    if value < 10:
        return f"{value:.1f} s"
    if value < 60:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"


def head(title: str, lead: str) -> str:
    """The head of a panel: its title and its question."""
    said = f"<h2>{escape(title)}</h2><p>{escape(lead)}</p>"
    return f'<div class="ep-head">{said}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], label: str) -> str:
    """An HTML table of cells that are already HTML; the first column names the row.  A head without
    a word is left out."""
    top = f"<thead><tr>{''.join(_head(cell, 'col') for cell in head)}</tr></thead>"
    body = "".join(
        f"<tr>{_head(row[0], 'row')}{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    return (
        f'<div class="ep-scroll"><table class="ep-table" aria-label="{escape(label)}">'
        f"{top if any(head) else ''}<tbody>{body}</tbody></table></div>"
    )


def _head(cell: str, of: str) -> str:
    """A cell that names its row or column; one without a word names nothing."""
    return f'<th scope="{of}">{cell}</th>' if cell else "<td></td>"
