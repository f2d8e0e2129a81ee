"""A panel with a kind of request of its own: one entry makes it known everywhere."""

import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import read_request
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.reading import to_json
from tests.panels.length_kind import LengthPanel, LengthRequest, entry, made


@pytest.fixture(autouse=True)
def known_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path))
    monkeypatch.setitem(KINDS, "length", entry("run", "estimate", "plots"))
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
        for part in ("run", "look", "first", "estimate", "preview", "plots", "text"):
            assert callable(kind.part(part))
