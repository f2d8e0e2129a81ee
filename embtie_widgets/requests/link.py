"""A request as the query of a link: short, readable, versioned, and read with distrust."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints
from urllib.parse import parse_qsl, quote, unquote, urlencode

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.fields import choice
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.requests.reading import read_request
from embtie_widgets.requests.reference import Reference
from embtie_widgets.requests.request import Request

LENGTH_LIMIT = 16 * 1024
TOKEN_LIMIT = 64
VIEW_LIMIT = 200
_FIELD_LIMIT = 64
_VERSION, _KIND, _TOKENS, _VIEW = "embtie", "kind", "tokens", "view."
_FIELD = ".tokens"  # a request's field of that name, beside the chosen tokens
_FLAGS = {"true": True, "false": False}
_HINT = "Copy the link again where it came from; the page opens with what it shows by itself."


@dataclass(frozen=True)
class Link:
    """What a link holds: a request, chosen tokens by their place in its result, and how it is
    looked at, as names and texts that the panel reads."""

    request: Request
    tokens: frozenset[int] = frozenset()
    view: Mapping[str, str] = dataclasses.field(default_factory=dict)


_NO_VIEW: Mapping[str, str] = {}


def encode(
    request: Request, tokens: Collection[int] = (), view: Mapping[str, str] = _NO_VIEW
) -> str:
    """The query: what differs from the defaults, up to 64 chosen tokens, and the view; empty for
    none of them.

    A larger choice, or a setting of the view that is longer than 200 characters, is left out.  A
    request that is too long for any link, as with a pasted text, is an EmbtieError.
    """
    items = list(_changed(request, type(request)()))
    items += [(_VIEW + name, text) for name, text in view.items() if len(text) <= VIEW_LIMIT]
    if 0 < len(tokens) <= TOKEN_LIMIT:
        items.append((_TOKENS, ".".join(map(str, sorted(tokens)))))
    query = f"{bare(request)}&{urlencode(items, safe='/:,')}" if items else ""
    if len(query) > LENGTH_LIMIT:
        raise EmbtieError(
            f"These settings are longer than the {LENGTH_LIMIT:,} characters of a link.",
            "Copy the code or save the request, which hold all of it.",
        )
    return query


def bare(request: Request) -> str:
    """The query of this kind of request with every default."""
    return urlencode([(_VERSION, str(request.version)), (_KIND, request.kind)])


def decode(query: str) -> Link | None:
    """The link of a query, None where it is not ours; an EmbtieError for one that cannot be."""
    if len(query) > LENGTH_LIMIT:
        raise EmbtieError(f"The link is longer than {LENGTH_LIMIT:,} characters.", _HINT)
    given = _items(query)
    if _VERSION not in given:
        return None
    try:
        tokens = _tokens(given.pop(_TOKENS, ""))
        view = {name: given.pop(name) for name in list(given) if name.startswith(_VIEW)}
        kind = choice(_KIND, given.pop(_KIND, ""), tuple(KINDS))
        given = {_TOKENS if name == _FIELD else name: text for name, text in given.items()}
        plain = {_VERSION: _whole(_VERSION, given.pop(_VERSION)), _KIND: kind}
        request = read_request(plain | _fields(KINDS[kind].request(), given))
        return Link(request, tokens, _checked_view(view))
    except EmbtieError as error:
        raise EmbtieError(f"This link cannot be opened: {error.message}", _HINT) from None


def _changed(request: Any, default: Any) -> Iterator[tuple[str, str]]:
    """Name and text of every field that differs; those of a reference as `a`, `a.revision`."""
    for field in dataclasses.fields(request):
        value, usual = getattr(request, field.name), getattr(default, field.name)
        if value == usual:
            continue
        if isinstance(value, Reference):
            for part, known in value.to_dict().items():
                yield field.name if part == "ref" else f"{field.name}.{part}", _text(known)
        else:
            yield _FIELD if field.name == _TOKENS else field.name, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        # A comma inside a name is not one between two.
        return ",".join(quote(str(part), safe="/:") for part in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _items(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, max_num_fields=_FIELD_LIMIT, errors="strict"
        )
    except ValueError:
        raise EmbtieError("The link has too many parts or is not text.", _HINT) from None
    if len({name for name, _ in pairs}) < len(pairs):
        raise EmbtieError("The link says something twice.", _HINT)
    return dict(pairs)


def _fields(default: Any, given: dict[str, str]) -> dict[str, Any]:
    """The texts as the kinds of value that the fields of a request have; unknown ones stay."""
    found: dict[str, Any] = {}
    references = _references(type(default))
    for name, text in given.items():
        owner, _, part = name.partition(".")
        if owner in references:
            named, part = found.setdefault(owner, {}), part or "ref"
            if part in named:
                raise EmbtieError(f"The link gives {owner} twice.", _HINT)
            named[part] = _value(name, text, getattr(references[owner], part, None))
        else:
            found[name] = _value(name, text, getattr(default, owner, None))
    return found


def _references(kind: type[Request]) -> dict[str, type[Reference]]:
    """The class of each field that names something, of those too that usually name nothing."""
    return {
        name: one
        for name, hint in get_type_hints(kind).items()
        for one in (hint, *get_args(hint))
        if isinstance(one, type) and issubclass(one, Reference)
    }


def _value(name: str, text: str, usual: Any) -> Any:
    if isinstance(usual, bool):
        return _FLAGS.get(text, text)
    if isinstance(usual, int):
        return _whole(name, text)
    if isinstance(usual, float):
        return _number(text)
    if isinstance(usual, tuple):
        return tuple(unquote(name) for name in text.split(",")) if text else ()
    return text


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise EmbtieError(f"{name} is no whole number there.", _HINT)
    return int(text)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _tokens(text: str) -> frozenset[int]:
    parts = text.split(".") if text else []
    if len(parts) > TOKEN_LIMIT:
        raise EmbtieError(f"It names more than {TOKEN_LIMIT} tokens.", _HINT)
    return frozenset(_whole(_TOKENS, part) for part in parts)


def _checked_view(given: dict[str, str]) -> dict[str, str]:
    if any(len(text) > VIEW_LIMIT for text in given.values()):
        raise EmbtieError(f"A setting of its view has more than {VIEW_LIMIT} characters.", _HINT)
    return {name.removeprefix(_VIEW): text for name, text in given.items()}
