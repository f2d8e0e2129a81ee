"""A weights file on the hub, read in parts: its header, then the bytes of the tensors asked for.

The hub answers with the address of a store, where the bytes are; it is asked once for each file,
and the store never sees the user's token.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import huggingface_hub
import huggingface_hub.utils
import torch

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.progress import Progress, elsewhere, spoken
from embtie_widgets.sources import tensor_cache
from embtie_widgets.sources.bounds import check_matrix, take_fetching
from embtie_widgets.sources.header import (
    PREFIX,
    Slot,
    dtype_name,
    header_length,
    parse_header,
)
from embtie_widgets.sources.hub_faults import explain, status_of
from embtie_widgets.sources.listing import Listing
from embtie_widgets.sources.tensor_cache import Sink
from embtie_widgets.sources.tensor_entry import Wanted

# Exported, but not so that a type checker sees it.
_utils: Any = huggingface_hub.utils
_TRIES = 4
_PAUSE = 0.1
# Answers after which it makes sense to ask again.
_PASSING = (408, 429, 500, 502, 503, 504)
# Answers of a store to an address that ran out.
_EXPIRED = (401, 403)


class RemoteFile:
    """The bytes of one file of one commit."""

    def __init__(self, listing: Listing, name: str, progress: Progress) -> None:
        self.listing, self.name, self._progress = listing, name, progress
        self.size = listing.files[name].size
        self.parts = True
        self._address: str | None = None
        self._etag: str | None = None

    def start(self, count: int, skip: int = 0) -> bytes:
        """Some bytes near the start, held in memory."""
        memory = _Bytes()
        if self.size == 0:
            return b""
        self.fetch(skip, skip + count, memory, f"{self.name}: header")
        return bytes(memory.data)

    def fetch(self, start: int, end: int, sink: Sink, stage: str) -> None:
        """Write the bytes [start, end) to the sink, from where it stands; breaks are mended."""
        failures = 0
        while sink.done < end - start:
            before = sink.done
            try:
                for chunk in self._chunks(start + sink.done, end):
                    sink.write(chunk)
                    self._progress(stage, sink.done, end - start)
                fault: Exception = EOFError()
            except _Broken as broken:
                fault = broken.cause
            if sink.done == end - start:
                return
            failures = 1 if sink.done > before else failures + 1
            self._give_up_or_wait(fault, failures, sink, end - start)

    def _give_up_or_wait(self, fault: Exception, failures: int, sink: Sink, size: int) -> None:
        if isinstance(fault, EmbtieError):
            sink.restart()
            raise fault
        ref = self.listing.ref
        if not self._passes(fault, failures):
            raise explain(fault, ref, self.listing.revision, self.name)
        self._progress(f"{self.name}: the connection broke, once more", sink.done, size)
        if failures >= _TRIES:
            if sink.done == 0:
                raise explain(fault, ref, self.listing.revision, self.name)
            raise Interrupted(
                f"The connection to the hub broke after {spoken(sink.done)} of {spoken(size)} of "
                f"{self.name} of '{ref}'.",
                "Ask for it again: it goes on where it stopped.",
            )
        self._address = None
        time.sleep(_PAUSE * 2**failures)

    def _passes(self, fault: Exception, failures: int) -> bool:
        """Whether it makes sense to ask again."""
        status = status_of(fault)
        if status in _EXPIRED:
            return self._address is not None and failures < 2
        return status is None or status in _PASSING

    def _chunks(self, start: int, end: int) -> Iterator[bytes]:
        """What one answer gives of the bytes [start, end)."""
        try:
            with self._answer(start, end) as answer:
                skip = self._check(answer, start)
                left = end - start
                for chunk in answer.iter_bytes():
                    piece = chunk[skip : skip + left]
                    skip = max(0, skip - len(chunk))
                    left -= len(piece)
                    yield piece
                    if left == 0:
                        return
        except Exception as error:
            raise _Broken(error) from None

    @contextmanager
    def _answer(self, start: int, end: int) -> Iterator[Any]:
        headers = _utils.build_hf_headers(library_name="embtie")
        asked, address = self._resolved()
        if _origin(address) != _origin(asked):
            headers.pop("authorization", None)
        headers |= {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        limit = huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT
        with _utils.get_session().stream("GET", address, headers=headers, timeout=limit) as answer:
            _utils.hf_raise_for_status(answer)
            yield answer

    def _resolved(self) -> tuple[str, str]:
        """The address at the hub, and the one where the bytes are."""
        asked = huggingface_hub.hf_hub_url(
            self.listing.ref, self.name, revision=self.listing.commit
        )
        if self._address is None:
            found = huggingface_hub.get_hf_file_metadata(asked)
            known = self.listing.files[self.name].sha256
            if known and found.etag and found.etag != known:
                raise self._changed()
            self._address = urljoin(asked, found.location)
        return asked, self._address

    def _check(self, answer: Any, start: int) -> int:
        """How many bytes to pass over, of an answer that is the file's and no other's."""
        etag = answer.headers.get("etag")
        if self._etag is not None and etag != self._etag:
            raise self._changed()
        self._etag = etag
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise self._changed()
        self.parts = answer.status_code == 206
        if not self.parts:
            self._check_size(answer.headers.get("content-length", ""))
            return start
        first, _, whole = answer.headers.get("content-range", "").partition("/")
        if first and first.split()[-1].partition("-")[0] != str(start):
            raise self._changed()
        self._check_size(whole)
        return 0

    def _check_size(self, told: str) -> None:
        if not told.isdigit():
            return
        if self.size is not None and int(told) != self.size:
            raise self._changed()
        self.size = int(told)

    def _changed(self) -> EmbtieError:
        return Interrupted(
            f"{self.name} of '{self.listing.ref}' is not the file that the hub lists, or changed "
            "while it was read; nothing of it was used.",
            "Try again; if it stays so, a proxy or mirror on the way gives out another file.",
        )


class RemoteTensors:
    """The tensors of a safetensors file on the hub: shapes by its header, values by their bytes."""

    def __init__(self, listing: Listing, name: str, progress: Progress) -> None:
        self._listing, self._name, self._progress = listing, name, progress
        self._file = RemoteFile(listing, name, progress)
        self._identity = listing.files[name].sha256 or f"{listing.commit}/{name}"
        self.notes: list[str] = []
        self._slots = self._header()

    def names(self) -> list[str]:
        """Of all tensors."""
        return sorted(self._slots)

    def shape(self, name: str) -> tuple[int, ...]:
        """From the header alone."""
        return self._slots[name].shape

    def dtype(self, name: str) -> str:
        """From the header alone, as torch calls it where it knows it: "bfloat16"."""
        return dtype_name(self._slots[name].dtype)

    def read(self, name: str) -> torch.Tensor:
        """The tensor as stored: mapped from the local cache, fetched into it before if need be."""
        wanted = self._wanted(name)
        with elsewhere(self.to_fetch(name)):
            tensor, note = tensor_cache.obtain(
                wanted, lambda sink: self._fill(wanted, sink), self._progress
            )
        if note:
            self._note(note)
        return tensor

    @property
    def in_parts(self) -> bool:
        """Whether the server gives out parts of the file, as far as it was asked for any."""
        return self._file.parts

    def to_fetch(self, name: str) -> int:
        """How many bytes reading the tensor would move."""
        left = self._slots[name].size - tensor_cache.held(self._wanted(name))
        return left if self._file.parts or not left else self._slots[name].end

    def _wanted(self, name: str) -> Wanted:
        listing, slot = self._listing, self._slots[name]
        return Wanted(listing.ref, listing.commit, self._name, self._identity, name, slot)

    def _fill(self, wanted: Wanted, sink: Sink) -> None:
        listing, slot = self._listing, wanted.slot
        if listing.fault is not None:
            raise listing.fault
        stage = f"{wanted.tensor} of {listing.ref}"
        if not self._file.parts:
            stage += f", while {spoken(slot.end)} of its file pass by"
        self._progress(stage, sink.done, slot.size)
        check_matrix(slot.shape, wanted.tensor)
        moving = slot.size - sink.done if self._file.parts else slot.end
        take_fetching(moving, f"{wanted.tensor} of {listing.ref}")
        self._file.fetch(slot.start, slot.end, sink, stage)
        if not self._file.parts:
            self._note(
                f"The server of {listing.ref} gives out no parts of files: {spoken(slot.end)} of "
                f"{self._name} passed by for {spoken(slot.size)}."
            )

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _header(self) -> dict[str, Slot]:
        listing = self._listing
        fact = f"header {self._identity}"
        kept = tensor_cache.remembered(listing.ref, fact)
        if isinstance(kept, dict) and isinstance(kept.get("header"), str):
            self._file.parts = kept.get("parts") is not False
            try:
                return self._parsed(kept["header"].encode())
            except EmbtieError:
                pass
        if listing.fault is not None:
            raise listing.fault
        length = header_length(self._file.start(PREFIX), self._name, self._file.size)
        header = self._file.start(length, skip=PREFIX)
        slots = self._parsed(header)
        known = {"header": header.decode(), "parts": self._file.parts}
        tensor_cache.remember(listing.ref, fact, known)
        return slots

    def _parsed(self, header: bytes) -> dict[str, Slot]:
        return parse_header(header, self._name, self._file.size)[0]


class _Broken(Exception):  # noqa: N818 - no fault yet
    """The answer ended early, or did not come."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause


class _Bytes:
    """A sink for a few bytes."""

    def __init__(self) -> None:
        self.data, self.done = bytearray(), 0

    def write(self, chunk: bytes) -> None:
        self.data += chunk
        self.done = len(self.data)

    def restart(self) -> None:
        self.data.clear()
        self.done = 0


def _origin(address: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port
