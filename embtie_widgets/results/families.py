"""Which families of models are read, as rows that an interface can show."""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SupportedFamily:
    """One family, as a test has found it on a small random model.

    family        the model type of config.json
    model         the class of transformers that was tried
    input         the tensor that holds E in the saved file
    output        the tensor that holds U where it is stored apart
    output_bias   the head's bias, None where it has none
    final_norm    the module before the head, None where there is none
    layers        the list of blocks
    scales        factors around the matrices, by the field that gives them
    tied_default  what a configuration without tie flag means by the documented default
    readout       "exact" where norm, head, scale and cap give the model's own logits
    note          what it does otherwise
    """

    family: str
    model: str
    input: str
    output: str | None = None
    output_bias: str | None = None
    final_norm: str | None = None
    layers: str | None = None
    scales: tuple[str, ...] = ()
    tied_default: bool | None = None
    readout: str = ""
    note: str = ""


@dataclass(frozen=True)
class FamilyTable:
    """All families that are read; more can be registered."""

    rows: tuple[SupportedFamily, ...]
    settings: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        tied = sum(row.tied_default is True for row in self.rows)
        exact = sum(row.readout == "exact" for row in self.rows)
        return (
            f"FamilyTable({len(self.rows)} families, {tied} tied by default, {exact} with an exact "
            "readout; .to_frame() lists them)"
        )

    def to_frame(self) -> "pd.DataFrame":
        """One line a family, indexed by its model type."""
        import pandas as pd

        names = list(SupportedFamily.__dataclass_fields__)
        frame = pd.DataFrame([asdict(row) for row in self.rows], columns=names)
        return frame.set_index("family").fillna("")
