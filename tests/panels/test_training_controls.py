"""The controls that every panel has which trains: bound, shown as needed, seeds drawn."""

from dataclasses import replace
from typing import Any

import pytest

from embtie_widgets.panels.fields import Binding
from embtie_widgets.panels.training_controls import TokenizerPicker, TrainingControls
from embtie_widgets.requests import CorpusRef
from embtie_widgets.requests.gradient import GradientFlowRequest


def same(function: Any) -> Any:
    return function


def controls(**options: Any) -> tuple[TrainingControls, Binding, GradientFlowRequest]:
    request = GradientFlowRequest(**options)
    made = TrainingControls(request, same)
    made.prepare(request)
    binding = Binding(made.fields(), lambda _: None)
    binding.write(request)
    made.adapt()
    return made, binding, request


def seen(widget: Any) -> bool:
    return bool(widget.layout.display != "none")


def test_every_field_of_a_training_is_edited() -> None:
    wanted = {
        "preset": "nano-gpt2",
        "corpus": CorpusRef("bundled"),
        "tokenizer": "train",
        "vocabulary": 500,
        "steps": 12,
        "batch": 3,
        "length": 16,
        "lr": 0.01,
        "warmup": 2,
        "share_start": True,
        "every": 5,
        "precision": "float32",
        "device": "cuda",
        "seed": 4,
    }
    made, binding, request = controls(**wanted)
    assert set(made.fields()) == set(wanted)
    assert binding.read(GradientFlowRequest()) == request


def test_whole_numbers_stay_whole() -> None:
    made, binding, request = controls()
    made.numbers["steps"].value = 40.0
    assert binding.read(request) == replace(request, steps=40)


def test_only_fields_that_count_are_in_sight() -> None:
    made, _, _ = controls()
    made.show({"corpus", "batch", "device"})
    assert [seen(one) for one in made.sections] == [True, True, True]
    assert [seen(made.numbers[name]) for name in ("batch", "steps")] == [True, False]
    assert not seen(made.more)
    assert not seen(made.new_seed)
    made.show({"corpus"})
    assert [seen(one) for one in made.sections] == [False, True, False]


def test_the_size_of_a_tokenizer_is_asked_for_where_one_is_learned() -> None:
    made, _, _ = controls()
    assert not seen(made.numbers["vocabulary"])
    made.tokenizer.source.value = "train"
    made.adapt()
    assert seen(made.numbers["vocabulary"])


def test_a_tokenizer_of_a_model_is_asked_for_only_once_it_is_named() -> None:
    picker = TokenizerPicker()
    picker.source.value = "model"
    assert (picker.value, seen(picker.ref)) == ("", True)
    picker.ref.value = " nano-tied "
    assert picker.value == "nano-tied"
    picker.value = "train"
    assert (picker.source.value, seen(picker.ref)) == ("train", False)


def test_another_seed_is_drawn_on_a_click() -> None:
    made, _, _ = controls()
    made.new_seed.click()
    first = made.seed.value
    made.new_seed.click()
    assert 0 < first != made.seed.value


@pytest.mark.parametrize("found", [["auto", "cpu"], ["auto", "cpu", "cuda"]])
def test_devices_are_offered_as_they_are_found(
    found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _, _ = controls()
    monkeypatch.setattr(
        "embtie_widgets.jobs.devices.available", lambda chosen="auto": [*found, chosen]
    )
    made.offer_devices("mps")
    assert list(made.device.options) == [*found, "mps"]
    assert made.device.value == "mps"
