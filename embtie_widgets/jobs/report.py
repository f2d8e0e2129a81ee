"""A report as a zip: the page, and of every panel its request, its result and how it is looked at.

What is read back may come from anybody.  Of the archive only `report.json` and the results that it
tells of are read, each under the name that its kind of request gives it, none of more bytes than
are allowed; nothing is unpacked to disk, and no code is in it.
"""

import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.exports import files
from embtie_widgets.progress import spoken
from embtie_widgets.requests.fields import short
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.requests.link import encode
from embtie_widgets.requests.reading import envelope, read_request
from embtie_widgets.requests.request import Request
from embtie_widgets.results.foreign import from_foreign_bytes
from embtie_widgets.results.storage import to_bytes

MOST_BYTES = 2**26
_DAMAGED = (  # what the readers of a zip raise where it is not whole
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)
_PACKED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_MOST_OF_RESULT, _MOST_IN_ALL, _MOST_OF_JSON = 2**27, 2**28, 2**23
_MOST_PANELS, _MOST_TOKENS, _LONGEST_VIEW = 40, 1_000_000, 4_000
MARK = "embtie-report"  # what its list begins with
_VERSION, _JSON, _RESULT = 1, "report.json", "result.npz"
_WORD = re.compile(r"[0-9a-zA-Z.:+\-]{1,40}")
_HINT = "Save the report again where it came from."
WHOLE = "report"  # in notes by kind, the one on all of it
Page = Callable[[Mapping[str, str]], str]


@dataclass(frozen=True)
class Saved:
    """The state of a panel: what its controls ask, and what it shows.

    `result` answers `answered`, and where that is a preview or a part, it is one of `preview_of`;
    all three are None where nothing is shown.  `tokens` are chosen by their place in the result,
    `view` is how it is looked at, as names and texts that the panel reads.
    """

    request: Request
    answered: Request | None = None
    preview_of: Request | None = None
    result: Any = None
    tokens: frozenset[int] = frozenset()
    view: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> Request:
        """The request of what is shown, or asked for where nothing is."""
        return self.request if self.answered is None else self.answered

    @property
    def link(self) -> str:
        """The query of the link that opens it without its result; empty where none can hold it."""
        try:
            return encode(self.shown, self.tokens, self.view)
        except EmbtieError:
            return ""


@dataclass(frozen=True)
class Opened:
    """A report that was read: when and by which version it was made, which kind of panel was in
    front, and all of them."""

    made: str
    version: str
    front: str
    panels: tuple[Saved, ...]

    @property
    def words(self) -> str:
        """Where it comes from, in a few words."""
        return f"a report of {self.made[:10]}, made with embtie {self.version}"


def report_zip(panels: Sequence[Saved], front: str, page: Page, made: str) -> bytes:
    """The panels with the page that shows them; no two of them are of one kind.

    Results that could not be opened again are left out, and a zip of more bytes than can be opened
    is made all the same: report.json says either, and so does the page, which is made of these
    notes by kind, `WHOLE` for the one on all of it.
    """
    stored, notes = _stored(panels)
    data = _zipped(panels, stored, front, page(notes), made, notes)
    if len(data) > MOST_BYTES:
        notes[WHOLE] = (
            f"This ZIP has more than the {spoken(MOST_BYTES)} that can be opened as a report: open "
            f"its {_JSON} alone, which asks for the same without the results."
        )
        data = _zipped(panels, stored, front, page(notes), made, notes)
    return data


def _zipped(
    panels: Sequence[Saved],
    stored: Mapping[str, bytes],
    front: str,
    page: str,
    made: str,
    notes: Mapping[str, str],
) -> bytes:
    from embtie_widgets import __version__

    about = {
        MARK: _VERSION,
        "embtie": __version__,
        "made": made,
        "front": front,
        "notes": dict(notes),
        "panels": [_entry(one, stored[one.request.kind]) for one in panels],
    }
    listed = json.dumps(about, indent=1, ensure_ascii=True).encode()
    written = {"report.html": page_bytes(page), _JSON: listed}
    for one in panels:
        written |= {f"{one.request.kind}/{name}": data for name, data in _files(one, stored)}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in written.items():
            archive.writestr(name, data)
    return file.getvalue()


def page_bytes(page: str) -> bytes:
    """A page as a file; half a letter, which no file can hold, becomes its escape."""
    return page.encode("utf-8", "backslashreplace")


def read_report(data: bytes) -> Opened:
    """What such a zip, or its `report.json` alone, holds; an EmbtieError for anything else."""
    if len(data) > MOST_BYTES:
        raise EmbtieError(
            f"The file has {spoken(len(data))}; a report has at most {spoken(MOST_BYTES)}.",
            f"Unpack it and open its {_JSON} alone: it asks for the same without the results.",
        )
    if data[:1] in (b"{", b" ", b"\n"):
        return _opened(_parsed(data), None)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _opened(_parsed(_read(archive, _JSON, _MOST_OF_JSON)), archive)
    except _DAMAGED:
        raise EmbtieError("The file is no whole zip archive.", _HINT) from None


def _stored(panels: Sequence[Saved]) -> tuple[dict[str, bytes], dict[str, str]]:
    """The results as bytes by kind, none where there is none or where it could not be opened
    again; and a note on each of these."""
    stored, notes, left = {}, {}, _MOST_IN_ALL
    for one in panels:
        data, most = b"" if one.result is None else to_bytes(one.result), min(left, _MOST_OF_RESULT)
        if len(data) > most:
            notes[one.request.kind] = (
                f"The result of {spoken(len(data))} is not in the ZIP, since at most "
                f"{spoken(most)} could be opened again; its tables are. Opened, it is asked for "
                "anew."
            )
            data = b""
        stored[one.request.kind] = data
        left -= len(data)
    return stored, notes


def _entry(saved: Saved, stored: bytes) -> dict[str, Any]:
    return {
        "kind": saved.request.kind,
        "request": envelope(saved.request),
        "answered": None if saved.answered is None else envelope(saved.answered),
        "preview_of": None if saved.preview_of is None else envelope(saved.preview_of),
        "link": saved.link,
        "tokens": sorted(saved.tokens),
        "view": dict(saved.view),
        "sha256": hashlib.sha256(stored).hexdigest() if stored else "",
    }


def _files(saved: Saved, stored: Mapping[str, bytes]) -> Sequence[tuple[str, bytes]]:
    if saved.result is None:
        return []
    kept = stored[saved.request.kind]
    named = list(files(saved.shown, saved.result).items())
    return [*named, (_RESULT, kept)] if kept else named


def _read(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """One entry, of at most so many bytes, whatever the archive claims."""
    if archive.namelist().count(name) != 1:
        raise EmbtieError(f"There is no {short(name)} in it, so this is no report.", _HINT)
    if archive.getinfo(name).compress_type not in _PACKED:
        raise EmbtieError(f"{short(name)} in it is packed in another way than ours.", _HINT)
    with archive.open(name) as entry:
        data = entry.read(most + 1)
    if len(data) > most:
        raise EmbtieError(f"{short(name)} in it is larger than {spoken(most)}.", _HINT)
    return data


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        about = json.loads(data)
    except (ValueError, RecursionError):
        about = None
    if len(data) > _MOST_OF_JSON or not isinstance(about, dict) or MARK not in about:
        raise EmbtieError("The file is no report of embtie.", _HINT)
    version = about[MARK]
    if type(version) is not int or not 1 <= version <= _VERSION:
        raise EmbtieError(
            f"The report is of version {short(version)}; this embtie reads up to {_VERSION}.",
            "Update embtie to open it.",
        )
    return about


def _opened(about: dict[str, Any], archive: zipfile.ZipFile | None) -> Opened:
    listed = about.get("panels")
    if not isinstance(listed, list) or not 0 < len(listed) <= _MOST_PANELS:
        raise EmbtieError("The report tells of no panels, or of too many.", _HINT)
    panels, left = [], _MOST_IN_ALL
    for entry in listed:
        saved, size = _saved(entry, archive, min(left, _MOST_OF_RESULT))
        panels.append(saved)
        left -= size
    kinds = [one.request.kind for one in panels]
    if len(set(kinds)) < len(kinds):
        raise EmbtieError("The report tells of one panel twice.", _HINT)
    front = about.get("front")
    made, version = (_word(about.get(name)) for name in ("made", "embtie"))
    return Opened(made, version, front if front in kinds else kinds[0], tuple(panels))


def _word(value: Any) -> str:
    """A date or a version, as far as it looks like one."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else "unknown"


def _saved(entry: Any, archive: zipfile.ZipFile | None, most: int) -> tuple[Saved, int]:
    """One panel, and how many bytes its result took."""
    if not isinstance(entry, dict):
        raise EmbtieError("The report tells of a panel in a way that cannot be read.", _HINT)
    request = read_request(entry.get("request"))
    answered, preview_of = (
        None if entry.get(name) is None else read_request(entry[name])
        for name in ("answered", "preview_of")
    )
    others = [one for one in (answered, preview_of) if one is not None]
    if any(one.kind != request.kind for one in others):
        raise EmbtieError("The report answers a request with the result of another kind.", _HINT)
    found = Saved(request, tokens=_tokens(entry.get("tokens")), view=_view(entry.get("view")))
    digest = entry.get("sha256")
    if archive is None or answered is None or not digest:
        return found, 0
    data = _read(archive, f"{request.kind}/{_RESULT}", most)
    if hashlib.sha256(data).hexdigest() != digest:
        raise EmbtieError("A result in the report was changed after it was saved.", _HINT)
    result = from_foreign_bytes(data, KINDS[request.kind].result_type())
    return Saved(request, answered, preview_of, result, found.tokens, found.view), len(data)


def _tokens(value: Any) -> frozenset[int]:
    listed = [] if value is None else value
    good = isinstance(listed, list) and len(listed) <= _MOST_TOKENS
    if not good or not all(type(one) is int and 0 <= one < 2**31 for one in listed):
        raise EmbtieError("The report chooses tokens in a way that cannot be read.", _HINT)
    return frozenset(listed)


def _view(value: Any) -> dict[str, str]:
    named = {} if value is None else value
    good = isinstance(named, dict) and len(named) <= 100
    if not good or not all(
        isinstance(text, str) and len(name) + len(text) <= _LONGEST_VIEW
        for name, text in named.items()
    ):
        raise EmbtieError("The report looks at its results in a way that cannot be read.", _HINT)
    return named
