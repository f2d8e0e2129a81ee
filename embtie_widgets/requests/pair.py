"""What every request has that is about two models and their matrices In, Out and Tied."""

from dataclasses import dataclass, field, replace
from typing import Self

from embtie_widgets.requests import fields
from embtie_widgets.requests.model import ModelRef
from embtie_widgets.requests.request import Request

ROLES = ("auto", "input", "output")
DEVICES = ("auto", "cpu", "cuda", "mps")
COMPARISONS = ("In->Out", "Out->Tied", "In->Tied")
# What the control of `leave_out_copies` is called, in panels and in what is said of it.
WITHOUT_COPIES = "leave out rows that copy the mean"
_UNTIED, _TIED = ModelRef("nano-untied"), ModelRef("nano-tied")


@dataclass(frozen=True)
class PairRequest(Request):
    """Two models: `a` gives In and Out, and one matrix of `b` is Tied.

    `role_b` says which matrix of `b` stands for Tied: "auto" takes the tied one.  `mu_centered`
    takes the mean row off every matrix that is an output matrix, before anything else is done.
    `leave_out_copies` compares without the tokens whose row in one of the matrices is all but the
    mean row, as rows are that were added and never trained.  A kind adds fields of its own, which
    by position come right after the models.
    """

    a: ModelRef = _UNTIED
    b: ModelRef = _TIED
    role_b: str = field(default="auto", kw_only=True)
    device: str = field(default="auto", kw_only=True)
    mu_centered: bool = field(default=False, kw_only=True)
    leave_out_copies: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.choice("role_b", self.role_b, ROLES)
        fields.choice("device", self.device, DEVICES)
        fields.flag("mu_centered", self.mu_centered)
        fields.flag("leave_out_copies", self.leave_out_copies)

    @property
    def other_side(self) -> Self:
        """The same request before centring for one after it, and the other way round."""
        return replace(self, mu_centered=not self.mu_centered)
