"""What somebody names to be run: a request in any of its forms, or a report made anew."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.report import MARK, MOST_BYTES, Saved, read_report
from embtie_widgets.requests.link import decode
from embtie_widgets.requests.reading import read_request

_LINK = ("embtie=", "kind=")
_ARCHIVE, _LISTED = b"PK", f'"{MARK}"'.encode()
_BEGIN = 64


@dataclass(frozen=True)
class Asked:
    """Requests to run, each with how its result is to be looked at; `front` is the place of the
    one that matters most."""

    panels: tuple[Saved, ...]
    front: int = 0


def asked_in(source: Any) -> Asked:
    """What this asks for: a request, its JSON text, the path of a file with it, a link or its
    query, or the path of a report, every request of which is asked for anew."""
    text = str(source) if isinstance(source, str | Path) else ""
    if not text or text.lstrip().startswith("{"):
        return Asked((Saved(read_request(source)),))
    if all(part in text for part in _LINK):
        return _of_link(text)
    data = _begin_of(Path(text))
    if data.startswith(_ARCHIVE) or _LISTED in data:
        return _of_report(Path(text))
    return Asked((Saved(read_request(Path(text))),))


def _of_link(text: str) -> Asked:
    link = decode(text.rpartition("?")[2])
    if link is None:
        raise EmbtieError("This is no link of embtie.", "Copy it again with Copy link.")
    return Asked((Saved(link.request, tokens=link.tokens, view=link.view),))


def _of_report(path: Path) -> Asked:
    if path.stat().st_size > MOST_BYTES:
        raise EmbtieError(f"'{path.name}' is too large for a report.", "Choose another file.")
    opened = read_report(path.read_bytes())
    kinds = [one.request.kind for one in opened.panels]
    return Asked(tuple(map(_anew, opened.panels)), kinds.index(opened.front))


def _anew(saved: Saved) -> Saved:
    """The request of what was shown, whole where it was a preview."""
    wanted = saved.shown if saved.preview_of is None else saved.preview_of
    return Saved(wanted, tokens=saved.tokens, view=saved.view)


def _begin_of(path: Path) -> bytes:
    """The first bytes of a file; none where it cannot be read, which its reader will tell."""
    try:
        with path.open("rb") as file:
            return file.read(_BEGIN)
    except OSError:
        return b""
