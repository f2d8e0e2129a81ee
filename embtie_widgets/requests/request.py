"""What every request has: plain fields with defaults, a kind, and a version."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from embtie_widgets.requests import fields
from embtie_widgets.requests.reference import Reference


@dataclass(frozen=True)
class Request:
    """A description of work: immutable, made of plain values and references, all with defaults.

    A kind of request is a frozen dataclass on this one that sets `kind` and checks its own fields
    (`requests/fields.py`) in `__post_init__`, after this one's, which reads models and corpora
    however they are given; one entry in `requests/kinds.py` makes it known.
    """

    kind: ClassVar[str] = ""
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if isinstance(field.default, Reference):
                named = field.default.from_value(getattr(self, field.name))
                object.__setattr__(self, field.name, named)

    def to_dict(self) -> dict[str, Any]:
        """Every field, references as objects: a plain JSON value."""
        values = {name: getattr(self, name) for name in fields.names_of(type(self))}
        return {k: v.to_dict() if isinstance(v, Reference) else v for k, v in values.items()}

    @classmethod
    def from_dict(cls, value: Any) -> Self:
        """From such an object; fields left out keep their defaults."""
        return cls(**fields.mapping("request", value, fields.names_of(cls)))
