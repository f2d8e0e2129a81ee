"""Counts that ship with the package, and the paper's tables recomputed from them."""

from dataclasses import asdict

import pytest

import embtie_widgets as ew
from embtie_widgets.jobs import catalogue
from embtie_widgets.jobs.packaged import configurations, packaged_counts
from embtie_widgets.jobs.parameters import printed_tables
from embtie_widgets.results import Parameters
from embtie_widgets.sources.parameters import parameters
from tests.fresh import run_fresh

# What the headers of the released files add up to, a tied matrix once.
RELEASED = {
    "EleutherAI/pythia-70m": 70_426_624,
    "EleutherAI/pythia-160m": 162_322_944,
    "EleutherAI/pythia-410m": 405_334_016,
    "EleutherAI/pythia-1b": 1_011_781_632,
    "EleutherAI/pythia-1.4b": 1_414_647_808,
    "EleutherAI/pythia-2.8b": 2_775_208_960,
    "EleutherAI/pythia-6.9b": 6_857_302_016,
    "EleutherAI/pythia-12b": 11_846_072_320,
    "EleutherAI/gpt-neo-2.7B": 2_651_307_520,
    "allenai/OLMo-1B-hf": 1_176_764_416,
    "Qwen/Qwen3-0.6B": 596_049_920,
    "Qwen/Qwen3-4B": 4_022_468_096,
    "Qwen/Qwen3-8B": 8_190_735_360,
    "Qwen/Qwen3-32B": 32_762_123_264,
    "HuggingFaceTB/SmolLM2-135M": 134_515_008,
    "HuggingFaceTB/SmolLM2-1.7B": 1_711_376_384,
    "google/gemma-2b": 2_506_172_416,
    "google/gemma-7b": 8_537_680_896,
    "google/gemma-2-2b": 2_614_341_888,
    "google/gemma-3-1b-pt": 999_885_952,
    "meta-llama/Llama-3.2-1B": 1_235_814_400,
    "meta-llama/Llama-3.2-3B": 3_212_749_824,
    "meta-llama/Llama-3.1-8B": 8_030_261_248,
    "openai-community/gpt2": 124_439_808,
    "openai-community/gpt2-xl": 1_557_611_200,
}


@pytest.mark.parametrize("ref", configurations())
def test_a_packaged_count_is_what_its_configuration_gives_today(ref: str) -> None:
    shipped, now = packaged_counts()[ref], parameters(configurations()[ref])
    assert _numbers(shipped) == _numbers(now)
    assert shipped.settings["status"] == now.settings["status"]


@pytest.mark.parametrize("ref", RELEASED)
def test_a_packaged_count_is_that_of_the_released_files(ref: str) -> None:
    assert packaged_counts()[ref].settings["stored"] == RELEASED[ref]


@pytest.mark.parametrize("ref", ["nano-tied", "nano-untied"])
def test_the_bundled_pair_is_counted_as_its_files_are(ref: str) -> None:
    assert asdict(packaged_counts()[ref]) == asdict(parameters(ref))


def test_every_model_of_the_catalogue_has_its_counts_and_its_role() -> None:
    for entry in catalogue.entries():
        assert entry.role in packaged_counts()[entry.ref].settings["status"]
    assert {entry.ref for entry in catalogue.entries()} == set(packaged_counts())


def test_table_3_is_reproduced_to_the_printed_digit() -> None:
    third = [number for number in printed_tables() if number.table == "table 3"]
    assert len(third) == 15
    assert all(number.agrees and not number.reason for number in third)
    assert all(abs(number.difference) <= 0.05 for number in third)


def test_table_4_differs_where_it_is_known_to_and_says_why() -> None:
    fourth = {(n.model, n.quantity): n for n in printed_tables() if n.table == "table 4"}
    assert len(fourth) == 10
    exact = {name: number.recomputed for name, number in fourth.items()}
    sizes = ("70M", "160M", "410M", "1B", "2.8B")
    shares = [exact[f"Pythia {size}", "share"] for size in sizes]
    matrices = [exact[f"Pythia {size}", "embedding"] for size in sizes]
    assert shares == ["73.1", "47.6", "25.4", "20.4", "9.3"]
    assert matrices == ["51.5", "77.3", "103.0", "206.0", "257.6"]
    assert all(bool(number.reason) != number.agrees for number in fourth.values())
    assert "No reason is known." not in {number.reason for number in fourth.values()}
    assert "nominal 70 M" in fourth["Pythia 70M", "share"].reason
    assert "50,257 rows" in fourth["Pythia 70M", "embedding"].reason
    assert "50,304 rows" in fourth["Pythia 160M", "embedding"].reason


def test_a_model_of_the_catalogue_needs_neither_network_nor_torch() -> None:
    code = (
        "import socket; socket.socket.connect = None; import embtie_widgets as ew;"
        "report = ew.run(ew.ParametersRequest('Qwen/Qwen3-8B'));"
        "assert report.model.untied == 8190735360"
    )
    run_fresh(code, "torch", "transformers")


def test_headers_are_read_where_they_are_asked_for() -> None:
    shipped = ew.run(ew.ParametersRequest("nano-tied"))
    read = ew.run(ew.ParametersRequest("nano-tied", source="headers"))
    assert shipped.model == read.model
    assert shipped.settings != read.settings


def test_a_configuration_is_counted_in_place_of_the_model() -> None:
    config = configurations()["EleutherAI/pythia-70m"]
    report = ew.run(ew.ParametersRequest(config=config))
    assert report.model.untied == 70_426_624
    assert report.name == "GPTNeoXForCausalLM"
    assert "Counted from the configuration alone" in report.notes[0]


def test_the_suite_stands_beside_the_model_once() -> None:
    report = ew.run(ew.ParametersRequest("EleutherAI/pythia-1b"))
    frame = report.to_frame()
    assert frame.model.iloc[0] == "Pythia 1B"
    assert len(frame) == 8
    shares = [one.share for one in report.beside.values()]
    assert shares == sorted(shares, reverse=True)
    assert (frame.body + frame.embedding == frame.untied).all()


def _numbers(counted: Parameters) -> tuple[float, ...]:
    numbers = asdict(counted)
    return tuple(numbers[name] for name in ("untied", "tied", "saved", "embedding", "share"))
