"""One run: from its recipe to its folder, whatever breaks it off on the way."""

import math
import os
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus, corpus_from_documents, train_tokenizer
from embtie_widgets.training.interventions import InputScaling, Intervention, Step, registered
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.runs import RunSpec, is_finished, load_trained, train_run
from embtie_widgets.training.twins import build_twins

DROPPED = {"model_type": "gpt2", "n_embd": 12, "n_layer": 1, "n_head": 2, "vocab_size": 48}


@registered("running-mean")
class RunningMean(Intervention):
    """Remembers from step to step, and draws: all that makes a break show."""

    splits = True

    def on_build(self, model: Any, run: str) -> None:
        self.mean = torch.zeros_like(model.get_input_embeddings().weight)

    def on_gradients(self, step: Step) -> None:
        assert step.parts is not None
        self.mean = 0.9 * self.mean + step.parts.input + 1e-3 * torch.rand(1)
        step.metrics["mean"] = self.mean.norm()

    def row_values(self) -> Mapping[str, Tensor]:
        return {"input": self.mean.norm(dim=1)}

    def state_dict(self) -> dict[str, Any]:
        return {"mean": self.mean}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.mean = state["mean"]


@pytest.fixture
def spec_of(recipe: TrainingConfig) -> Callable[..., RunSpec]:
    def made(tied: bool = True, plugs: tuple[Intervention, ...] = (), **changes: Any) -> RunSpec:
        config = replace(recipe, **{"checkpoints": (0, 2), "log_every": 1, **changes})
        return RunSpec("tied" if tied else "untied", config, tied, interventions=plugs)

    return made


def content(store: RunStore) -> Any:
    """All numbers of a run, to compare bit for bit."""
    matrices = [m.numpy().tobytes() for kept in store.checkpoints() for m in kept[1:]]
    rows = {name: values.tobytes() for name, values in store.row_values().items()}
    weights = [p.detach().numpy().tobytes() for p in load_trained(store).parameters()]
    return store.rows(), store.steps(), matrices, rows, weights


def stopping(at: int, error: type[BaseException] = Cancelled) -> Callable[[str, int, int], None]:
    def progress(stage: str, done: int, total: int) -> None:
        if done == at:
            raise error

    return progress


def test_a_run_is_done_with_its_rows_checkpoints_and_model(
    spec_of: Any, corpus: Corpus, tmp_path: Path
) -> None:
    store = train_run(spec_of(plugs=(InputScaling(2.0),)), corpus, tmp_path)
    manifest = store.manifest
    assert (manifest["state"], manifest["done"], manifest["of"]) == ("done", 6, 6)
    assert (manifest["name"], manifest["tied"], manifest["device"]) == ("tied", True, "cpu")
    settings = manifest["settings"]
    assert (settings["batch"], settings["precision"]) == (3, "float32")
    assert settings["interventions"] == [{"kind": "input-scaling", "factor": 2.0, "until": None}]
    assert manifest["hashes"]["corpus"] == corpus.sha256
    assert [row["step"] for row in store.rows()] == [1, 2, 3, 4, 5, 6]
    assert store.steps() == [0, 2, 6]
    assert torch.equal(
        load_trained(store).get_input_embeddings().weight, store.checkpoints()[-1].input
    )
    assert store.counts() is not None
    assert not (store.folder / "resume.pt").exists()


@pytest.mark.parametrize("tied", [True, False])
def test_a_single_run_starts_as_it_does_in_the_pair(
    spec_of: Any, corpus: Corpus, tmp_path: Path, tied: bool
) -> None:
    spec = spec_of(tied=tied, steps=1)
    start = train_run(spec, corpus, tmp_path).checkpoints()[0]
    twin = build_twins(spec.config)[spec.name]
    assert torch.equal(start.input, twin.get_input_embeddings().weight)
    assert torch.equal(start.output, twin.get_output_embeddings().weight)
    assert (start.input is start.output) == tied


@pytest.mark.parametrize("model", [None, DROPPED], ids=["no dropout", "dropout"])
@pytest.mark.parametrize("tied", [True, False])
def test_broken_off_and_gone_on_with_is_the_same_as_never_broken_off(
    spec_of: Any, corpus: Corpus, tmp_path: Path, tied: bool, model: Any
) -> None:
    changes = {} if model is None else {"model": model}
    spec = spec_of(tied, (InputScaling(2.0, until=4), RunningMean()), **changes)
    for at in (1, 3):
        with pytest.raises(Cancelled):
            train_run(spec, corpus, tmp_path / "broken", progress=stopping(at))
        store = RunStore.open(tmp_path / "broken")
        assert (store.manifest["state"], store.manifest["done"]) == ("stopped", at)
        torch.rand(3)
        train_run(spec_of(not tied, steps=1), corpus, tmp_path / "another")
    broken = train_run(spec, corpus, tmp_path / "broken")
    whole = train_run(spec, corpus, tmp_path / "whole")
    assert content(broken) == content(whole)


def test_a_finished_run_is_found_and_not_trained_again(
    spec_of: Any, corpus: Corpus, tmp_path: Path
) -> None:
    train_run(spec_of(), corpus, tmp_path)
    again = train_run(spec_of(), corpus, tmp_path, progress=stopping(1, AssertionError))
    assert again.manifest["state"] == "done"


@registered("poison")
@dataclass
class Poison(Intervention):
    """Makes the loss infinite at one step."""

    at: int

    def on_logits(self, logits: Tensor, step: Step) -> Tensor:
        return logits + torch.inf if step.number == self.at else logits


@pytest.mark.parametrize("resumable", [True, False])
@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_run_that_diverges_is_done_with_what_it_had_before(
    spec_of: Any, corpus: Corpus, tmp_path: Path, at: int, resumable: bool
) -> None:
    spec = spec_of(plugs=(Poison(at),), log_every=10)
    store = train_run(spec, corpus, tmp_path, resumable=resumable)
    manifest = store.manifest
    assert (manifest["state"], manifest["done"], manifest["diverged"]) == ("done", at - 1, at)
    assert [row["step"] for row in store.rows()] == sorted({1, at})
    assert math.isnan(store.rows()[-1]["loss"])
    assert store.steps() == sorted({0, at - 1} | ({2} if at > 2 else set()))
    assert f"step {at} of 6" in store.notes()[0]
    last = load_trained(store).get_input_embeddings().weight
    assert torch.isfinite(last).all()
    assert torch.equal(last, store.checkpoints()[-1].input)
    assert not (store.folder / "resume.pt").exists()


def test_a_diverged_run_is_found_and_not_trained_again(
    spec_of: Any, corpus: Corpus, tmp_path: Path
) -> None:
    spec = spec_of(plugs=(Poison(4),))
    first = content(train_run(spec, corpus, tmp_path))
    again = train_run(spec, corpus, tmp_path, progress=stopping(1, AssertionError))
    assert repr(content(again)) == repr(first)
    assert is_finished(again, spec.config)
    (tmp_path / "checkpoints" / "step-000003.safetensors").unlink()
    assert not is_finished(again, spec.config)
    assert "diverged" not in train_run(spec_of(), corpus, tmp_path).manifest


def test_a_run_broken_off_before_it_diverges_ends_as_if_it_had_not_been(
    spec_of: Any, corpus: Corpus, tmp_path: Path
) -> None:
    def until(step: int) -> Callable[[RunStore, Mapping[str, Any]], None]:
        def watch(store: RunStore, row: Mapping[str, Any]) -> None:
            if row["step"] == step:
                raise Cancelled

        return watch

    spec = spec_of(plugs=(Poison(4), RunningMean()))
    whole = train_run(spec, corpus, tmp_path / "whole")
    for step in (2, 4):  # the second while it is diverging
        with pytest.raises(Cancelled):
            train_run(spec, corpus, tmp_path / "broken", watch=until(step), resumable=True)
        assert RunStore.open(tmp_path / "broken").manifest["state"] == "stopped"
    broken = train_run(spec, corpus, tmp_path / "broken", resumable=True)
    assert repr(content(broken)) == repr(content(whole))
    assert broken.manifest["diverged"] == 4


@pytest.mark.parametrize("what", ["seed", "text", "plug", "unknown plug"])
def test_a_run_of_another_recipe_takes_the_place_of_the_old(
    spec_of: Any, corpus: Corpus, tmp_path: Path, what: str
) -> None:
    first = (Intervention(),) if what == "unknown plug" else ()
    train_run(spec_of(plugs=first), corpus, tmp_path)
    text = Corpus(corpus.ids[::-1]) if what == "text" else corpus
    plugs = {"plug": (InputScaling(2.0),), "unknown plug": first}.get(what, ())
    steps: list[int] = []
    train_run(
        spec_of(plugs=plugs, seed=8 if what == "seed" else 7), text, tmp_path,
        progress=lambda stage, done, total: steps.append(done),
    )  # fmt: skip
    assert steps == [1, 2, 3, 4, 5, 6]


def test_the_run_can_be_watched_while_it_grows(
    spec_of: Any, corpus: Corpus, tmp_path: Path
) -> None:
    seen = []

    def watch(store: RunStore, row: Mapping[str, Any]) -> None:
        other = RunStore.open(store.folder)
        assert other.manifest["state"] == "running"
        assert other.rows()[-1] == row
        seen.append((row["step"], other.done, len(other.steps())))

    train_run(spec_of(log_every=2), corpus, tmp_path, watch=watch)
    assert seen == [(1, 1, 1), (2, 2, 2), (4, 4, 2), (6, 6, 3)]


def test_an_interrupt_waits_for_the_end_of_its_step(
    spec_of: Any, corpus: Corpus, tmp_path: Path
) -> None:
    class Interrupting(RunningMean):
        def on_gradients(self, step: Step) -> None:
            super().on_gradients(step)
            if step.number == 3 and self.at_work:
                os.kill(os.getpid(), signal.SIGINT)

        at_work = True

    registered("interrupting")(Interrupting)
    plug = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        train_run(spec_of(plugs=(plug,)), corpus, tmp_path / "broken")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    manifest = RunStore.open(tmp_path / "broken").manifest
    assert (manifest["state"], manifest["done"]) == ("stopped", 3)
    plug.at_work = False
    broken, whole = (
        train_run(spec_of(plugs=(plug,)), corpus, tmp_path / name) for name in ("broken", "whole")
    )
    assert content(broken) == content(whole)


def test_a_step_torn_in_the_middle_is_not_taken_for_a_state_to_go_on_from(
    spec_of: Any, corpus: Corpus, tmp_path: Path
) -> None:
    class Failing(RunningMean):
        at = 5

        def after_step(self, step: Step) -> None:
            if step.number == self.at:
                raise EmbtieError("The parts do not add up.", "Tell us.")

    registered("failing")(Failing)
    plug = Failing()
    with pytest.raises(EmbtieError, match="add up"):
        train_run(spec_of(plugs=(plug,)), corpus, tmp_path / "torn", resumable=True)
    store = RunStore.open(tmp_path / "torn")
    assert store.manifest["state"] == "stopped"
    state = store.read_resume()
    assert state is not None
    assert state["done"] == 2  # the last checkpoint
    plug.at = 0
    seen: list[int] = []

    def later_rows_are_gone(stage: str, done: int, total: int) -> None:
        seen.append(done)
        assert store.rows()[-1]["step"] == done

    torn = train_run(
        spec_of(plugs=(plug,)), corpus, tmp_path / "torn", progress=later_rows_are_gone
    )
    assert seen == [3, 4, 5, 6]
    assert content(torn) == content(train_run(spec_of(plugs=(plug,)), corpus, tmp_path / "whole"))


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "a row": lambda run: cut_short(run / "metrics.jsonl"),
    "all rows": lambda run: (run / "metrics.jsonl").unlink(),
    "numbers per token": lambda run: cut_short(run / "rows.npz"),
    "no numbers per token": lambda run: (run / "rows.npz").unlink(),
    "a checkpoint": lambda run: cut_short(run / "checkpoints" / "step-000002.safetensors"),
    "no checkpoint": lambda run: (run / "checkpoints" / "step-000000.safetensors").unlink(),
}
OF_STOPPED: dict[str, Callable[[Path], Any]] = {
    "bytes": lambda run: (run / "resume.pt").write_bytes(b"no longer what it was"),
    "nothing": lambda run: torch.save({}, run / "resume.pt"),
    "another": lambda run: torch.save({"done": 4, "model": {}}, run / "resume.pt"),
}
OF_FINISHED: dict[str, Callable[[Path], Any]] = {
    "model": lambda run: cut_short(run / "model.safetensors"),
    "no model": lambda run: (run / "model.safetensors").unlink(),
    "no configuration": lambda run: (run / "config.json").unlink(),
}


@pytest.mark.parametrize("what", DAMAGES | OF_STOPPED)
def test_what_a_stopped_run_left_damaged_makes_it_begin_anew(
    what: str, spec_of: Any, corpus: Corpus, tmp_path: Path
) -> None:
    spec = spec_of(plugs=(RunningMean(),))
    whole = content(train_run(spec, corpus, tmp_path / "whole"))
    with pytest.raises(Cancelled):
        train_run(spec, corpus, tmp_path / "run", progress=stopping(4))
    (DAMAGES | OF_STOPPED)[what](tmp_path / "run")
    assert content(train_run(spec, corpus, tmp_path / "run")) == whole


@pytest.mark.parametrize("what", DAMAGES | OF_FINISHED)
def test_a_finished_run_that_is_damaged_is_trained_again(
    what: str, recipe: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    recipe = replace(recipe, checkpoints=(0, 2), log_every=1)
    whole = ew.train_twins(recipe, corpus, folder=tmp_path)
    (DAMAGES | OF_FINISHED)[what](tmp_path / "tied")
    again = ew.train_twins(recipe, corpus, folder=tmp_path)
    assert (again.metrics, again.hashes) == (whole.metrics, whole.hashes)
    assert content(RunStore.open(tmp_path / "tied"))


def test_two_runs_at_a_time_are_the_runs_they_are_alone(
    spec_of: Any, corpus: Corpus, tmp_path: Path
) -> None:
    specs = {seed: spec_of(model=DROPPED, seed=seed, steps=12) for seed in (1, 2)}
    alone = {seed: train_run(spec, corpus, tmp_path / f"{seed}") for seed, spec in specs.items()}
    places = {seed: tmp_path / f"{seed} beside" for seed in specs}
    threads = [
        threading.Thread(target=train_run, args=(spec, corpus, places[seed]))
        for seed, spec in specs.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, store in alone.items():
        assert content(store) == content(RunStore.open(places[seed]))


def test_a_run_knows_the_tokens_of_its_rows(spec_of: Any, tmp_path: Path) -> None:
    documents = ["the cat and the dog and the bird. " * 30]
    corpus = corpus_from_documents(documents, train_tokenizer(documents, 300), "three animals")
    spec = spec_of(model={**spec_of().config.model, "vocab_size": 300}, steps=1)
    store = train_run(spec, corpus, tmp_path)
    tokens, counts = store.tokens(), store.counts()
    assert len(tokens) == 300
    assert counts is not None
    assert counts.sum() == len(corpus.ids)
    assert counts[tokens.index(b" and")] == 60
    assert store.manifest["settings"]["corpus"] == "three animals"
    assert ew.load(str(tmp_path)).tokens == list(tokens)


def test_a_full_disk_is_told_in_words_and_what_there_is_stays(
    spec_of: Any, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device", str(tmp_path))

    def broken(stage: str, done: int, total: int) -> None:
        if done == 3:
            monkeypatch.setattr("embtie_widgets.training.growing.os.replace", full)

    with pytest.raises(EmbtieError, match="the disk is full") as caught:
        train_run(spec_of(checkpoints=(2, 4)), corpus, tmp_path, progress=broken)
    assert str(tmp_path.parent) not in str(caught.value)
    assert len(RunStore.open(tmp_path).rows()) == 4
    assert not list(tmp_path.rglob("*.part"))


def test_the_corpus_may_use_fewer_ids_than_the_matrix_has_rows(
    spec_of: Any, tmp_path: Path
) -> None:
    small = Corpus(np.arange(200) % 7)
    store = train_run(spec_of(steps=2), small, tmp_path)
    counts = store.counts()
    assert counts is not None
    assert (len(counts), counts[7:].sum()) == (48, 0)
