"""What the fields of a request may name: small descriptions that a plain text stands for too."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from embtie_widgets.requests import fields


@dataclass(frozen=True)
class Reference:
    """A thing that is named: its first field is `ref`, and what else is said of it has defaults.

    In JSON it is an object or the plain `ref`; in a link its fields are `a`, `a.revision`.
    """

    ref: str

    what: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """The reference, and the fields that differ from their defaults."""
        usual = {field.name: field.default for field in self.__dataclass_fields__.values()}
        return {k: v for k, v in asdict(self).items() if k == "ref" or v != usual[k]}

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """From a plain reference, a string or path, or an object with the fields above."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str | Path):
            return cls(str(value))
        given: Mapping[str, Any] = fields.mapping(cls.what, value, fields.names_of(cls))
        return cls(**{"ref": None, **given})
