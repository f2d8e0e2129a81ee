"""What a page is sent of widgets that are made together: each once, after what it refers to."""

import threading
from dataclasses import dataclass, field
from typing import Any

import comm
import ipywidgets as w
import pytest
import traitlets
from comm.base_comm import BaseComm

import embtie_widgets.widgets.gathered as gathering
from embtie_widgets.widgets import Gathering
from embtie_widgets.widgets.gathered import gathered


@dataclass
class Said:
    kind: str
    name: str
    state: dict[str, Any]
    content: Any
    paths: list[list[Any]]
    buffers: list[Any]

    def references(self) -> set[str]:
        found = [one for value in self.state.values() for one in _flat(value)]
        return {one[10:] for one in found if str(one).startswith("IPY_MODEL_")}


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return list(value) if isinstance(value, list | tuple) else [value]


@dataclass
class Wire:
    said: list[Said] = field(default_factory=list)

    def opened(self) -> list[str]:
        return [one.name for one in self.said if one.kind == "comm_open"]

    def of(self, widget: w.Widget) -> list[Said]:
        return [one for one in self.said if one.name == widget.model_id]


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """What goes to the page, in order."""
    wire = Wire()

    class Line(BaseComm):
        def publish_msg(
            self,
            msg_type: str,
            data: Any = None,
            metadata: Any = None,
            buffers: Any = None,
            **_: Any,
        ) -> None:
            told = data or {}
            state, content = told.get("state", {}), told.get("content")
            paths = told.get("buffer_paths", [])
            wire.said.append(Said(msg_type, self.comm_id, state, content, paths, buffers or []))

    monkeypatch.setattr(comm, "create_comm", Line)
    return wire


class Data(w.Widget):
    numbers = traitlets.Any().tag(sync=True)


def test_each_goes_once_as_it_is_at_the_end_and_after_what_it_refers_to(wire: Wire) -> None:
    with gathered():
        outer = w.VBox()
        inner = w.Box()
        outer.children = [inner]
        button = w.Button(description="first").add_class("a").add_class("b")
        button.description, button.disabled = "last", True
        inner.children = [button]
        assert wire.said == []
    assert {one.kind for one in wire.said} == {"comm_open"}
    assert len(set(wire.opened())) == len(wire.opened()) == 7  # three, their layouts, a style
    known: set[str] = set()
    for one in wire.said:
        assert one.references() <= known
        known.add(one.name)
    (said,) = wire.of(button)
    assert (said.state["description"], said.state["disabled"]) == ("last", True)
    assert said.state["_dom_classes"] == ("a", "b")


def test_afterwards_a_widget_speaks_and_hears_as_any(wire: Wire) -> None:
    with gathered():
        box = w.Checkbox()
    name = box.model_id
    box.description = "later"
    assert [one.kind for one in wire.of(box)] == ["comm_open", "comm_msg"]
    heard: list[bool] = []
    box.observe(lambda change: heard.append(change["new"]), "value")
    state = {"method": "update", "state": {"value": True}, "buffer_paths": []}
    box.comm.handle_msg({"content": {"data": state, "comm_id": name}, "buffers": []})
    assert heard == [True]
    box.close()
    assert wire.said[-1].kind == "comm_close"


def test_the_last_buffers_go_to_their_places(wire: Wire) -> None:
    with gathered():
        data = Data(numbers=b"old")
        nested = Data(numbers={"x": b"1", "y": [b"2", "text"]})
        data.numbers = b"new"
        emptied = Data(numbers=b"gone")
        emptied.numbers = None
    (said,) = wire.of(data)
    assert (said.paths, said.buffers) == ([["numbers"]], [b"new"])
    (said,) = wire.of(nested)
    assert dict(zip(map(tuple, said.paths), said.buffers, strict=True)) == {
        ("numbers", "x"): b"1",
        ("numbers", "y", 0): b"2",
    }
    (said,) = wire.of(emptied)
    assert (said.state["numbers"], said.paths, said.buffers) == (None, [], [])


def test_messages_follow_what_opens_and_the_closed_are_never_heard_of(wire: Wire) -> None:
    with gathered():
        button, gone = w.Button(), w.Button()
        button.send({"ask": 1})
        gone.close()
    assert [(one.kind, one.content) for one in wire.of(button)] == [
        ("comm_open", None),
        ("comm_msg", {"ask": 1}),
    ]
    assert len(wire.said) == 6  # two layouts, two styles, one button and its message


def test_what_another_thread_makes_or_changes_meanwhile_is_not_lost(wire: Wire) -> None:
    made: list[w.Widget] = []
    with gathered():
        label = w.Label("before")
        thread = threading.Thread(target=lambda: made.append(w.Label("elsewhere")))
        thread.start()
        thread.join()
        assert [one.name for one in wire.of(made[0])] == [made[0].model_id]
        other = threading.Thread(target=lambda: setattr(label, "value", "after"))
        other.start()
        other.join()
    (said,) = wire.of(label)
    assert said.state["value"] == "after"


def test_one_within_another_waits_for_the_outer_and_a_failure_opens_what_there_is(
    wire: Wire,
) -> None:
    class Pair(w.HBox, metaclass=Gathering):
        def __init__(self) -> None:
            super().__init__([w.Label("a"), w.Label("b")])

    def fail() -> None:
        Pair()
        assert wire.said == []
        raise ValueError

    with pytest.raises(ValueError), gathered():
        fail()
    assert len(wire.opened()) == 8
    w.Label("usual")
    assert len(wire.opened()) == 11


def test_who_listens_is_given_time_also_between_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    halts: list[int] = []
    opened: list[str] = []

    class Line(BaseComm):
        kernel = "listens"

        def publish_msg(self, msg_type: str, *_: Any, **__: Any) -> None:
            opened.append(msg_type)

    monkeypatch.setattr(comm, "create_comm", Line)
    monkeypatch.setattr(gathering, "_pace", gathering._Pace())
    monkeypatch.setattr(gathering.time, "sleep", lambda _: halts.append(len(opened)))
    for _ in range(5):
        with gathered():
            for _ in range(100):
                w.Label()  # three lines: its layout and its style are widgets
    assert halts == [400, 800, 1200]
