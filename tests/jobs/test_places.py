"""Where runs are carried out: chosen by the user, by the variable, by a page's owner."""

from collections.abc import Iterator

import pytest

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import places
from embtie_widgets.jobs.places import place, place_of, use_cluster
from tests.fresh import run_fresh

ADDRESS = "tcp://scheduler.example:8786"


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (places.VARIABLE, "EMBTIE_SERVED", "VOILA_BASE_URL", "VOILA_PREHEAT"):
        monkeypatch.delenv(name, raising=False)
    yield
    monkeypatch.undo()
    use_cluster(None)


def test_runs_stay_in_this_process_until_a_place_is_chosen() -> None:
    assert (place().kind, place().address) == ("here", "")


def test_a_scheduler_is_named_by_its_address() -> None:
    chosen = ew.use_cluster(ADDRESS)
    assert chosen == place()
    assert (chosen.kind, chosen.address) == ("cluster", ADDRESS)


def test_an_address_without_protocol_is_taken_for_tcp() -> None:
    assert place_of("10.0.0.7:8786/").address == "tcp://10.0.0.7:8786"
    assert place_of("tls://[fe80::1]:8786").address == "tls://[fe80::1]:8786"


def test_local_means_so_many_worker_processes() -> None:
    assert place_of("local:4").workers == 4
    assert "4 worker processes" in place_of("local:4").words
    assert place_of("local").workers >= 1
    assert place_of("local:1").words.startswith("1 worker process ")


@pytest.mark.parametrize("address", ["", "cluster", "tcp://", "host:0", "host:99999", "a b:1"])
def test_what_is_no_address_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(EmbtieError, match="no address of a Dask scheduler") as refused:
        use_cluster(address)
    assert "tcp://host:8786" in refused.value.hint
    assert place().kind == "here"


@pytest.mark.parametrize("many", ["local:0", "local:257"])
def test_too_many_and_no_workers_are_refused(many: str) -> None:
    with pytest.raises(EmbtieError, match="1 to 256"):
        use_cluster(many)


def test_the_variable_counts_where_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(places.VARIABLE, "local:2")
    assert place().workers == 2
    use_cluster("here")
    assert place().kind == "here"
    use_cluster(None)
    assert place().workers == 2


def test_the_address_stands_neither_in_the_words_nor_in_what_is_printed() -> None:
    chosen = use_cluster(ADDRESS)
    assert "example" not in chosen.words + repr(chosen)


def test_on_a_shared_page_the_owner_alone_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cluster(ADDRESS)
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    assert place().kind == "here"
    monkeypatch.setenv(places.VARIABLE, "tcp://owner.example:8786")
    assert place().address == "tcp://owner.example:8786"
    with pytest.raises(EmbtieError, match="owner alone"):
        use_cluster("local:2")


def test_a_visitor_does_not_see_what_the_owner_mistyped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    monkeypatch.setenv(places.VARIABLE, "owner.example")
    with pytest.raises(EmbtieError) as refused:
        place()
    assert "owner.example" not in str(refused.value)


def test_saying_where_loads_neither_torch_nor_dask() -> None:
    code = f"import embtie_widgets as ew; ew.use_cluster({ADDRESS!r}); ew.use_cluster('local')"
    run_fresh(code, "torch", "distributed", "dask")
