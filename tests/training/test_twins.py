import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.interventions import InputScaling, Intervention, Step
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.twins import build_twins

FAMILIES = {
    "olmo": {},
    "llama": {"hidden_act": "silu"},
    "gpt_neox": {},
    "gpt2": {"n_positions": 16},
}


def correlation(a: Tensor, b: Tensor) -> float:
    return float(np.corrcoef(a.detach().flatten(), b.detach().flatten())[0, 1])


def matrices(twins: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    untied, tied = twins["untied"], twins["tied"]
    return (
        untied.get_input_embeddings().weight,
        untied.get_output_embeddings().weight,
        tied.get_input_embeddings().weight,
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_twins_share_the_body_and_none_of_the_three_matrices(recipe_of: Any, family: str) -> None:
    model = {**recipe_of().model, "model_type": family, "vocab_size": 300, **FAMILIES[family]}
    twins = build_twins(recipe_of(model=model))
    embedding, unembedding, shared = matrices(twins)
    assert twins["tied"].get_output_embeddings().weight is shared
    assert embedding is not unembedding
    untied = dict(twins["untied"].named_parameters())
    body = [(n, p) for n, p in twins["tied"].named_parameters() if p is not shared]
    assert len(body) > 8
    assert all(torch.equal(p, untied[n]) for n, p in body)
    for a, b in ((embedding, unembedding), (embedding, shared), (unembedding, shared)):
        assert abs(correlation(a, b)) < 0.1
        assert float(a.detach().std()) == pytest.approx(float(b.detach().std()), rel=0.1)


def test_a_shared_start_is_offered_and_is_exactly_that(recipe: TrainingConfig) -> None:
    embedding, unembedding, shared = matrices(build_twins(recipe, share_start=True))
    assert torch.equal(embedding, shared)
    assert abs(correlation(unembedding, shared)) < 0.2


class SeenBatches(Intervention):
    def __init__(self) -> None:
        self.seen: dict[str, list[Tensor]] = {}

    def after_step(self, step: Step) -> None:
        self.seen.setdefault(step.run, []).append(step.input_ids)


def test_both_twins_see_the_same_batches_in_the_same_order(
    recipe: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    plug = SeenBatches()
    ew.train_twins(recipe, corpus, 5, [plug], folder=tmp_path)
    assert list(plug.seen) == ["untied", "tied"]
    assert torch.equal(torch.stack(plug.seen["untied"]), torch.stack(plug.seen["tied"]))
    assert len({batch.numpy().tobytes() for batch in plug.seen["tied"]}) == 5


def test_twins_twice_are_the_same_twins(
    recipe: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    one, other = (ew.train_twins(recipe, corpus, 4, folder=tmp_path / n) for n in "ab")
    assert one.metrics == other.metrics
    assert one.hashes == other.hashes
    assert one.hashes["tied"] != one.hashes["input"]


def test_each_twin_has_a_folder_that_holds_what_the_result_holds(tiny_twins: Any) -> None:
    runs = {name: RunStore.open(tiny_twins.folder / name) for name in ("untied", "tied")}
    assert [row for run in runs.values() for row in run.rows()] == list(tiny_twins.metrics)
    for name, run in runs.items():
        assert [kept.step for kept in run.checkpoints()] == [0, 10, 30]
        for a, b in zip(run.checkpoints(), tiny_twins.checkpoints[name], strict=True):
            assert torch.equal(a.output, b.output)
    settings = runs["tied"].manifest["settings"]
    assert (settings["steps"], settings["share_start"]) == (30, False)
    assert settings == tiny_twins.settings


def test_each_twin_is_a_series_of_checkpoints(tiny_twins: Any) -> None:
    series = ew.load_series(str(tiny_twins.folder / "untied"))
    assert [revision.step for revision in series.revisions] == [0, 10, 30]
    assert torch.equal(series.loaded[1].output, tiny_twins.checkpoints["untied"][1].output)


def test_the_saved_models_load_with_their_tokenizer(tiny_twins: Any) -> None:
    for name in ("tied", "untied"):
        loaded = AutoModelForCausalLM.from_pretrained(tiny_twins.folder / name)
        wanted = tiny_twins.models[name].state_dict()
        assert all(torch.equal(v, wanted[k]) for k, v in loaded.state_dict().items())
        tokenizer = AutoTokenizer.from_pretrained(tiny_twins.folder / name)
        assert tokenizer.decode(tokenizer("the 3 and 4")["input_ids"]) == "the 3 and 4"


def test_twins_learn(tiny_twins: Any) -> None:
    by_run = tiny_twins.to_frame().groupby("run")["loss"]
    assert (by_run.last() < by_run.first() - 0.5).all()


def test_cancelled_twins_go_on_where_they_were_and_end_with_the_same_bits(
    recipe: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    seen: list[tuple[str, int]] = []

    def stop(stage: str, done: int, total: int) -> None:
        seen.append((stage, done))
        if (stage, done) == ("training tied", 3) and len(seen) < 12:
            raise Cancelled

    def again() -> Any:
        return ew.train_twins(recipe, corpus, 6, [InputScaling(2.0)], folder=place, progress=stop)

    place = tmp_path / "broken"
    with pytest.raises(Cancelled):
        again()
    states = [RunStore.open(place / name).manifest["state"] for name in ("untied", "tied")]
    assert states == ["done", "stopped"]
    assert [row["step"] for row in RunStore.open(place / "tied").rows()] == [1, 2]
    twins = again()
    assert [done for stage, done in seen if stage == "training untied"] == [1, 2, 3, 4, 5, 6]
    assert [done for stage, done in seen if stage == "training tied"] == [1, 2, 3, 4, 5, 6]
    place = tmp_path / "whole"
    whole = again()
    assert (twins.metrics, twins.hashes) == (whole.metrics, whole.hashes)


def test_a_transformers_configuration_and_plain_text_are_enough(tmp_path: Path) -> None:
    config = GPT2Config(
        vocab_size=300, n_embd=8, n_layer=1, n_head=2, n_positions=128, embd_pdrop=0.0
    )
    text = "All that glisters is not gold; often have you heard that told. " * 200
    twins = ew.train_twins(config, text, steps=2, folder=tmp_path)
    assert [row["step"] for row in twins.metrics] == [1, 2, 1, 2]
    assert twins.models["tied"].config.tie_word_embeddings


def untrained(stage: str, done: int, total: int) -> None:
    raise AssertionError("training began before the fault was told")


@pytest.mark.parametrize("inside", ["", "deeper"])
def test_a_folder_that_is_a_file_is_refused_before_training(
    recipe: TrainingConfig, corpus: Corpus, tmp_path: Path, inside: str
) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(ew.EmbtieError, match="is a file") as caught:
        ew.train_twins(recipe, corpus, folder=tmp_path / "taken" / inside, progress=untrained)
    assert str(tmp_path) not in str(caught.value)


def test_a_folder_that_cannot_be_written_is_refused_before_training(
    recipe: TrainingConfig, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(dir: Path) -> None:
        raise PermissionError(13, "denied", str(dir))

    monkeypatch.setattr(tempfile, "TemporaryFile", denied)
    with pytest.raises(ew.EmbtieError, match="cannot be written") as caught:
        ew.train_twins(recipe, corpus, folder=tmp_path / "mine", progress=untrained)
    assert str(tmp_path) not in str(caught.value)


def test_windows_longer_than_the_models_positions_are_refused_before_training(
    recipe_of: Any, corpus: Corpus, tmp_path: Path
) -> None:
    with pytest.raises(ew.EmbtieError, match="length is 17; the model has 16 positions"):
        ew.train_twins(recipe_of(length=17), corpus, folder=tmp_path, progress=untrained)
    assert ew.train_twins(recipe_of(length=16), corpus, 1, folder=tmp_path).metrics


@pytest.mark.parametrize("plugs", [None, Intervention(), [Intervention], ["decay"], 3])
def test_what_are_no_interventions_is_refused(
    recipe: TrainingConfig, corpus: Corpus, tmp_path: Path, plugs: Any
) -> None:
    with pytest.raises(ew.EmbtieError, match="interventions"):
        ew.train_twins(recipe, corpus, 1, plugs, folder=tmp_path, progress=untrained)


def test_the_hashes_are_those_of_the_saved_models_when_loaded(tiny_twins: Any) -> None:
    untied = ew.load(tiny_twins.folder / "untied").hashes
    assert untied == {role: tiny_twins.hashes[role] for role in ("input", "output")}
    assert ew.load(tiny_twins.folder / "tied").hashes["input"] == tiny_twins.hashes["tied"]


def test_the_name_of_a_preset_is_enough(tmp_path: Path) -> None:
    ids = torch.randint(4096, (1, 300))
    twins = ew.train_twins("nano-gpt2", ids, 1, folder=tmp_path)
    assert twins.settings["model"]["model_type"] == "gpt2"
    assert twins.models["tied"].get_input_embeddings().weight.shape == (4096, 128)


def test_what_a_shared_start_pretends_is_there_before_any_training(
    recipe_of: Any, corpus: Corpus, tmp_path: Path
) -> None:
    """The two matrices look alike after a few steps because they were equal, not by learning."""
    near = {}
    for share in (False, True):
        twins = ew.train_twins(
            recipe_of(lr=1e-3), corpus, share_start=share, folder=tmp_path / str(share)
        )
        untied, tied = (twins.checkpoints[name][-1].input for name in ("untied", "tied"))
        near[share] = torch.cosine_similarity(untied, tied).mean()
    assert near[True] > 0.9
    assert abs(near[False]) < 0.3
