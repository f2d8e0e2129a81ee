"""What a server and its kernels say of what happens: words for a terminal, or an object of JSON a
line for a machine.  Neither holds a token, a query, or a path outside the package."""

import json
import logging
import os
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from embtie_widgets.errors import whereabouts

FORMAT = "EMBTIE_LOG"
# What our own records may carry beside their message, all of it numbers, words of ours or ids.
_CARRIED = (
    "event", "kernel", "why", "kind", "how", "seconds", "method", "path", "status", "address",
    "version", "access", "sign_in", "visitors", "ready",
)  # fmt: skip
_LONGEST = 600
_ID = re.compile(r"\b([0-9a-f]{8})-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")
_HIDDEN = (
    (re.compile(r"\bhf_\w+|\b(token|password|secret|authorization|_xsrf)\b(['\"]?\s*[=:]\s*)"
                r"(?:(?:token|bearer)\s+)?[^\s&;,'\"]+", re.IGNORECASE), r"\1\2…"),
    (re.compile(r"(?<=[\w/])\?[^\s'\"]+"), "?…"),
    # Folders of the machine; the file itself may be named.
    (re.compile(r"(?:(?<![\w.…:/])|(?<=ipc://)|(?<=file://))"
                r"(?:~|[A-Za-z]:)?[\\/](?:[^\s'\"<>|:*?\\/]+[\\/])+"), "…/"),
    (_ID, r"\1"),  # who has a kernel's whole id can speak to it
)  # fmt: skip


def scrubbed(text: str) -> str:
    """A text without what is nobody's business."""
    for pattern, shown in _HIDDEN:
        text = pattern.sub(shown, text)
    return text[:_LONGEST]


class JsonLines(logging.Formatter):
    """A record as an object on a line; `always` is said of each."""

    def __init__(self, **always: Any) -> None:
        super().__init__()
        self._always = always

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told: dict[str, Any] = {
            "time": at,
            "level": record.levelname.lower(),
            "from": record.name,
            "message": scrubbed(record.getMessage()),
            **self._always,
        }
        for name in _CARRIED:
            if name in record.__dict__:
                value = record.__dict__[name]
                told[name] = scrubbed(value) if isinstance(value, str) else value
        if record.exc_info and record.exc_info[1] is not None:
            told["fault"] = whereabouts(record.exc_info[1]).splitlines()
        return json.dumps(told, ensure_ascii=False, default=lambda value: type(value).__name__)


class Lines(logging.Formatter):
    """A record as words: the message, and of a fault what it says and where in embtie it was."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and those of a fault."""
        lines = [f"embtie: {scrubbed(record.getMessage())}"]
        fault = record.exc_info[1] if record.exc_info else None
        if fault is not None:
            kind, *places = whereabouts(fault).splitlines()
            lines += [scrubbed(f"{kind}: {fault}"), *places]
        return "\n        ".join(lines)


def write_log(
    stream: IO[str] | None = None, others: Iterable[logging.Logger] = (), **always: Any
) -> None:
    """Let the records of this process go to a stream, in the form that was set: in words what
    went wrong in embtie, in JSON what happens too, and what `others` have to say."""
    as_json = os.environ.get(FORMAT) == "json"
    _give(logging.getLogger("embtie"), stream, logging.INFO if as_json else logging.WARNING, always)
    if as_json:
        logging.captureWarnings(True)
        for other in (logging.getLogger(), *others):
            _give(other, stream, logging.WARNING, always)


def _give(log: logging.Logger, stream: IO[str] | None, level: int, always: dict[str, Any]) -> None:
    """One logger's records, from a level on, to the stream and nowhere else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines(**always) if os.environ.get(FORMAT) == "json" else Lines())
    handler.setLevel(level)
    log.handlers, log.propagate = [handler], False
    log.setLevel(level)


def write_kernel_log() -> None:
    """The log of a kernel goes where its server's goes: what a kernel prints goes to its page."""
    original = getattr(sys.stderr, "_original_stdstream_copy", None)
    if original is None:
        return
    write_log(open(original, "w", buffering=1, closefd=False), kernel=_kernel())  # noqa: SIM115


def _kernel() -> str:
    """The beginning of this kernel's id."""
    from ipykernel.connect import get_connection_file

    try:
        return Path(get_connection_file()).stem.removeprefix("kernel-")[:8]
    except RuntimeError:
        return ""
