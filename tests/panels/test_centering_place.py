"""Where the runs of a sweep are carried out, chosen in the panel."""

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import places
from embtie_widgets.panels.centering_place import PlacePicker
from embtie_widgets.panels.guard import guard

ADDRESS = "tcp://ann.example:8786"


@pytest.fixture(autouse=True)
def chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(places.VARIABLE, raising=False)
    monkeypatch.setattr(places, "_chosen", None)


@pytest.fixture
def told() -> list[EmbtieError]:
    return []


@pytest.fixture
def moved() -> list[int]:
    return []


@pytest.fixture
def picker(told: list[EmbtieError], moved: list[int]) -> PlacePicker:
    return PlacePicker(
        lambda action: guard(action, lambda error, _: told.append(error)), lambda: moved.append(1)
    )


def test_it_begins_with_what_counts_already(picker: PlacePicker) -> None:
    assert picker.kind.value == "here"
    assert "this machine" in picker.said.value
    places.use_cluster("local:3")
    picker.follow()
    assert (picker.kind.value, picker.processes.value) == ("local", 3)


def test_processes_are_counted_and_said(picker: PlacePicker, moved: list[int]) -> None:
    picker.kind.value = "local"
    picker.processes.value = 4
    assert places.place() == places.place_of("local:4")
    assert "4 worker processes" in picker.said.value
    assert len(moved) == 2
    assert picker.address.layout.display == "none"


def test_nothing_is_sent_before_a_scheduler_is_named(picker: PlacePicker, moved: list[int]) -> None:
    picker.kind.value = "cluster"
    assert (places.place().kind, moved) == ("here", [])
    assert "before the address" in picker.said.value
    picker.address.value = ADDRESS
    assert places.place().address == ADDRESS
    assert ADDRESS not in picker.said.value


@pytest.mark.parametrize(
    ("kind", "name", "typed"), [("cluster", "address", "nowhere"), ("local", "processes", 0.5)]
)
def test_what_is_no_place_is_refused_in_words_and_the_one_before_counts(
    picker: PlacePicker, told: list[EmbtieError], kind: str, name: str, typed: object
) -> None:
    picker.kind.value = kind
    before = places.place()
    getattr(picker, name).value = typed
    assert len(told) == 1
    assert places.place() == before


def test_going_back_here_leaves_the_cluster(picker: PlacePicker) -> None:
    picker.kind.value = "cluster"
    picker.address.value = ADDRESS
    picker.kind.value = "here"
    assert places.place().kind == "here"


def test_on_a_shared_page_the_owner_has_chosen(
    monkeypatch: pytest.MonkeyPatch, told: list[EmbtieError]
) -> None:
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    monkeypatch.setenv(places.VARIABLE, ADDRESS)
    picker = PlacePicker(lambda action: action, lambda: None)
    assert picker.children == (picker.said,)
    assert "a Dask cluster" in picker.said.value
    assert ADDRESS not in picker.said.value + picker.address.value


def test_an_owners_address_that_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(places.VARIABLE, "nowhere")
    picker = PlacePicker(lambda action: action, lambda: None)
    assert "no address of a Dask scheduler" in picker.said.value
