"""Reading and writing requests: one versioned JSON envelope for files, links and cache keys."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields
from embtie_widgets.requests.fields import short
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.requests.request import Request

SIZE_LIMIT = 64 * 1024


def envelope(request: Request) -> dict[str, Any]:
    """The request with its kind and version: what files and links hold."""
    return {"embtie": request.version, "kind": request.kind, **request.to_dict()}


def to_json(request: Request, indent: int | None = None) -> str:
    """Canonical JSON: the same request always gives the same text."""
    return json.dumps(envelope(request), sort_keys=True, indent=indent, ensure_ascii=False)


def request_key(request: Request) -> str:
    """A hash of the canonical JSON, for caches and file names."""
    return hashlib.sha256(to_json(request).encode()).hexdigest()


def read_request(source: Any) -> Request:
    """A request from itself, an envelope, its JSON text, or the path of a file with it."""
    if isinstance(source, Request):
        return source
    value = source if isinstance(source, Mapping) else _parse(_text_of(source))
    if not isinstance(value, Mapping):
        raise EmbtieError("The request is not a JSON object.", "Copy it again from the interface.")
    kind = fields.choice("kind", value.get("kind"), tuple(KINDS))
    known = KINDS[kind].request
    if "embtie" not in value:
        raise EmbtieError(
            "The request does not say for which version it was written.",
            f'Add "embtie": {known.version} beside its kind.',
        )
    version = fields.whole("embtie", value.get("embtie"), 1, 10**6)
    if version > known.version:
        raise EmbtieError(
            f"The request has version {version}; this embtie reads up to {known.version}.",
            "Update embtie to open it.",
        )
    return known.from_dict({k: v for k, v in value.items() if k not in ("embtie", "kind")})


def _text_of(source: Any) -> str:
    if isinstance(source, str) and source.lstrip().startswith(("{", "[")):
        text = source
    elif isinstance(source, str | Path):
        text = _file_text(Path(source))
    else:
        raise EmbtieError(
            f"A request cannot be read from a {type(source).__name__}.",
            "Give a request object, its JSON text or the path of a file with it.",
        )
    if len(text) > SIZE_LIMIT:
        raise EmbtieError(
            f"The text is longer than {SIZE_LIMIT} characters, so it is no request.",
            "Copy the request again from the interface.",
        )
    return text


def _file_text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        raise EmbtieError(
            f"There is no file {short(path.name)} there.", "Check its path."
        ) from None
    except (OSError, ValueError):  # no text, or a name that no file can have
        raise EmbtieError(
            f"{short(path.name)} cannot be read as text.", "Choose a request file."
        ) from None


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise EmbtieError(
            f"The request is not valid JSON{where}.", "Copy it again from the interface."
        ) from None


def _no_constant(name: str) -> float:
    raise ValueError(name)
