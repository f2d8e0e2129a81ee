"""A kind of request of a test's own, and its panel: the lengths of five rows in some norm."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import ipywidgets as w
import numpy as np
import pandas as pd

from embtie_widgets.charts.files import Plots
from embtie_widgets.jobs.cache import entry_key, kept_or_made, recall
from embtie_widgets.jobs.estimate import Estimate
from embtie_widgets.panels.exports import Offer, csv_offer, page_offer
from embtie_widgets.panels.fields import Field, Setting, labelled, section
from embtie_widgets.panels.frame import Panel
from embtie_widgets.progress import Progress
from embtie_widgets.requests import ModelRef, Request, fields
from embtie_widgets.requests.kinds import Kind
from embtie_widgets.results.storage import storable

NANO = ModelRef("nano-tied")


@dataclass(frozen=True)
class LengthRequest(Request):
    """How long the rows of a model are, in some norm; `sample` of them, 0 for all."""

    model: ModelRef = NANO
    power: float = 2.0
    sample: int = 0

    kind: ClassVar[str] = "length"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "power", fields.number("power", self.power, 1.0, 8.0))


@storable
@dataclass(frozen=True)
class Lengths:
    length: np.ndarray
    tokens: tuple[bytes | None, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def to_frame(self) -> pd.DataFrame:
        return pd.DataFrame({"length": self.length})

    def facts(self) -> dict[str, Any]:
        return {"mean": self.length.mean(), "settings": self.settings, "hashes": self.hashes}


HASHES = {"matrix": "aa"}
made: list[LengthRequest] = []
# What a test has a run do before it measures.
before: list[Callable[[LengthRequest, Progress], None]] = []


def run_length(request: LengthRequest, progress: Progress) -> Lengths:
    def make() -> Lengths:
        made.append(request)
        for step in before:
            step(request, progress)
        progress("measuring", 0, 1)
        length = np.arange(1.0, 6.0) ** request.power
        if request.sample:
            length[request.sample :] = np.nan
        return Lengths(length, (b"a", b"b", b"c", None, b"e"), request.to_dict())

    result: Lengths = kept_or_made(request, HASHES, make)
    return result


def look_length(request: LengthRequest) -> Lengths | None:
    found: Lengths | None = recall(entry_key(request, HASHES))
    return found


def estimate_length(request: LengthRequest) -> Estimate:
    return Estimate(0.1 if request.power < 7 else 60.0, 1000)


def preview_length(request: LengthRequest) -> LengthRequest | None:
    return None if request.sample else replace(request, sample=2)


def plots_length(result: Lengths) -> Plots:
    return Plots(f"{result.length.sum()}", (({"data": [], "layout": {}}, "five rows"),))


class LengthPanel(Panel):
    title = "Lengths"

    def __init__(self, request: LengthRequest | None = None, **parts: Any) -> None:
        super().__init__(LengthRequest() if request is None else request, **parts)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        self.power = labelled(w.FloatText(description="power"), "Which norm")
        return {"power": Field(self.power)}, [section("Norm", self.power)]

    def build_views(self) -> Iterable[w.Widget]:
        self.text, self.digits = w.HTML(), w.IntText(3)
        return [self.text, self.digits]

    def build_settings(self) -> Mapping[str, Setting]:
        return {"digits": Setting(self.digits, "value", 3)}

    def build_exports(self) -> Iterable[Offer]:
        return [csv_offer(), page_offer()]

    def draw(self, result: Lengths) -> None:
        self.text.value = f"{np.nansum(result.length):.{self.digits.value}f}"

    def part_of(self, result: Lengths) -> str:
        return f"{int(np.isfinite(result.length).sum())} of {len(result.length)} tokens"


def entry(*names: str) -> Kind:
    """The kind with these of its parts."""
    return Kind(LengthRequest, **{name: f"{__name__}:{name}_length" for name in names})
