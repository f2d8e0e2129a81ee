"""A panel with a kind of request of its own: one entry makes it known everywhere."""

import io
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import ipywidgets as w
import numpy as np
import pandas as pd
import pytest

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.cache import kept_or_made
from embtie_widgets.jobs.estimate import Estimate
from embtie_widgets.panels.exports import Offer, csv_offer, page_offer
from embtie_widgets.panels.fields import Field, Setting, labelled, section
from embtie_widgets.panels.frame import Panel
from embtie_widgets.progress import Progress
from embtie_widgets.requests import ModelRef, Request, fields, read_request
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.kinds import KINDS, Kind
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.reading import to_json
from embtie_widgets.results.storage import storable

NANO = ModelRef("nano-tied")


@dataclass(frozen=True)
class LengthRequest(Request):
    """How long the rows of a model are, in some norm."""

    model: ModelRef = NANO
    power: float = 2.0

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


made: list[LengthRequest] = []


def run_length(request: LengthRequest, progress: Progress) -> Lengths:
    def make() -> Lengths:
        made.append(request)
        progress("measuring", 0, 1)
        length = np.arange(1.0, 6.0) ** request.power
        return Lengths(length, (b"a", b"b", b"c", None, b"e"), request.to_dict())

    result: Lengths = kept_or_made(request, {"matrix": "aa"}, make)
    return result


def estimate_length(request: LengthRequest) -> Estimate:
    return Estimate(0.1 if request.power < 8 else 60.0, 1000)


def length_page(result: Lengths, settings: str) -> str:
    return f"<p>{result.length.sum()}</p>{settings}"


class LengthPanel(Panel):
    title = "Lengths"

    def __init__(self, request: LengthRequest | None = None) -> None:
        super().__init__(LengthRequest() if request is None else request)
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
        self.text.value = f"{result.length.sum():.{self.digits.value}f}"


@pytest.fixture(autouse=True)
def known_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "length_kind", sys.modules[__name__])
    parts = {"run": "run_length", "estimate": "estimate_length", "page": "length_page"}
    entry = Kind(LengthRequest, **{name: f"length_kind:{part}" for name, part in parts.items()})
    monkeypatch.setitem(KINDS, "length", entry)
    made.clear()


def test_files_links_and_code_know_the_kind() -> None:
    request = LengthRequest("someone/model", 3)
    assert read_request(json.loads(to_json(request))) == request
    link = decode(encode(request, {1}, {"digits": "5"}))
    assert link is not None
    assert (link.request, link.tokens, link.view) == (request, {1}, {"digits": "5"})
    assert "ew.LengthRequest(model='someone/model', power=3.0)" in to_code(request)
    with pytest.raises(EmbtieError, match="power is 9"):
        read_request({"embtie": 1, "kind": "length", "power": 9})


def test_a_run_is_kept_and_recalled() -> None:
    first, again = ew.run(LengthRequest()), ew.run(LengthRequest())
    assert len(made) == 1
    assert again.settings["cached"]
    np.testing.assert_array_equal(first.length, again.length)
    assert again.tokens == first.tokens


def test_the_panel_runs_what_is_quick_waits_with_what_is_not_and_gives_files() -> None:
    panel = LengthPanel()
    panel._answer.event.wait(30)  # type: ignore[union-attr]
    assert panel.text.value == "55.000"
    panel.power.value = 8.0
    assert "1 min 00 s" in panel.runbar.text.value or panel.state.phase == "looking"
    panel.run()
    button = panel.exports.files["CSV"]
    sent: list[Any] = []
    button.send = lambda content, buffers=None: sent.append(buffers)
    button._receive(button, {"kind": "ask"}, [])
    frame = pd.read_csv(io.BytesIO(sent[0][0]), skiprows=1)
    assert frame["length"].tolist() == [1.0, 256.0, 6561.0, 65536.0, 390625.0]
    head = json.loads(sent[0][0].split(b"\n")[0].removeprefix(b"# "))
    assert read_request(head["request"]) == LengthRequest(power=8)


def test_the_panel_opens_a_link_with_its_view_and_tokens() -> None:
    panel = LengthPanel()
    panel._answer.event.wait(30)  # type: ignore[union-attr]
    query = "embtie=1&kind=length&power=3.0&view.digits=1&tokens=2"
    where = {"query": query, "origin": "https://x", "path": "/", "host": "voila"}
    panel.link.page.page = where
    panel._answer.event.wait(30)  # type: ignore[union-attr]
    assert (panel.request.power, panel.digits.value, panel.selection) == (3.0, 1, {2})
    assert panel.link.page.query == query


def test_every_kind_is_told_by_name_and_all_its_parts_are_there() -> None:
    for name, kind in KINDS.items():
        assert kind.request.kind == name
        assert read_request({"embtie": 1, "kind": name}) == kind.request()
        for part in ("run", "look", "first", "estimate", "page", "text"):
            assert callable(kind.part(part))
