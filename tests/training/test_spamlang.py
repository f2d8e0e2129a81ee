"""SpamLang: what is drawn, what a model of it learns, and what more copies of a symbol teach."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.requests.trials import Draws
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run, held_out
from embtie_widgets.training.presets import shaped
from embtie_widgets.training.runs import RunSpec, load_trained, start_of, train_run
from embtie_widgets.training.spamlang import SpamLang, spam_config, spam_numbers
from embtie_widgets.training.trial_recorder import TrialRecorder

SYMBOLS, RECIPE = 24, TrainingConfig(lr=0.02, warmup=4, weight_decay=0.0, log_every=1)
LANGUAGE = SpamLang(SYMBOLS)


def config(steps: int, batch: int, length: int, preset: str = "nano-olmo", **changes: Any) -> Any:
    fields = {"rows": SYMBOLS, "layers": 1, "width": 8} | changes
    return spam_config(RECIPE, Draws(steps, batch, length), preset, **fields)


def spec(recipe: TrainingConfig, tied: bool = False) -> RunSpec:
    return RunSpec("spam", recipe, tied, interventions=(TrialRecorder(draws=True),))


def losses(recipe: TrainingConfig) -> list[float]:
    run = Run(recipe, start_of(recipe, tied=False), LANGUAGE)
    return [run.advance()["loss"] for _ in range(recipe.steps)]


def test_a_sequence_repeats_one_symbol_and_every_symbol_is_drawn_as_often() -> None:
    batches = LANGUAGE.batches(500, 3, seed=5)
    drawn = torch.cat([batches[step] for step in range(1, 25)])
    assert drawn.shape == (12_000, 4)
    assert (drawn == drawn[:, :1]).all()
    counts = np.bincount(drawn[:, 0], minlength=SYMBOLS)
    assert abs(counts / 500 - 1).max() < 0.2  # nine standard deviations
    assert counts.std() > 5  # drawn, not dealt


def test_steps_are_drawn_apart_and_again_the_same_of_a_seed() -> None:
    batches, again = (LANGUAGE.batches(8, 1, seed=5) for _ in range(2))
    assert torch.equal(batches[7], again[7])
    assert not torch.equal(batches[7], batches[8])
    assert not torch.equal(batches[7], LANGUAGE.batches(8, 1, seed=6)[7])


def test_runs_of_different_languages_and_of_a_text_that_counts_have_different_names() -> None:
    counting = Corpus(np.arange(SYMBOLS))
    assert len({LANGUAGE.sha256, SpamLang(SYMBOLS + 1).sha256, counting.sha256}) == 3


@pytest.mark.parametrize("tied", [False, True])
def test_a_model_that_saw_each_symbol_often_knows_them_all(tied: bool, tmp_path: Path) -> None:
    store = train_run(spec(config(80, 64, 1), tied), LANGUAGE, tmp_path / "run")
    found = spam_numbers(load_trained(store), LANGUAGE, 4)
    assert (found["accuracy"], found["first_accuracy"], found["later_accuracy"]) == (1, 1, 1)
    assert found["asked"] == SYMBOLS
    last = store.rows()[-1]
    assert (last["sequences"], last["positions"]) == (80 * 64, 80 * 64)
    assert last["accuracy"] == 1


@pytest.mark.parametrize(("preset", "same"), [("nano-olmo", True), ("nano-gpt2", False)])
def test_copies_teach_nothing_more_unless_positions_have_vectors_of_their_own(
    preset: str, same: bool
) -> None:
    once, often = (losses(config(12, 6, length, preset)) for length in (1, 16))
    apart = np.abs(np.array(once) - often).max()
    assert (apart < 1e-4) == same


def test_all_positions_of_a_model_with_rotations_alone_have_the_same_logits() -> None:
    model = start_of(config(1, 1, 16, width=16, layers=2), tied=False)
    logits = model(input_ids=torch.full((1, 16), 3)).logits[0]
    torch.testing.assert_close(logits, logits[:1].expand_as(logits), atol=1e-5, rtol=0)


def test_accuracy_and_loss_of_every_symbol_are_those_of_each_asked_by_itself() -> None:
    model = start_of(config(1, 1, 5, "nano-gpt2"), tied=False).eval()
    found = spam_numbers(model, LANGUAGE, 5)
    rights, nats = [], []
    for symbol in range(SYMBOLS):
        with torch.no_grad():
            logits = model(input_ids=torch.full((1, 5), symbol)).logits[0]
        rights.append((logits.argmax(-1) == symbol).tolist())
        nats.append(-logits.log_softmax(-1)[:, symbol].mean().item())
    table = np.array(rights)
    assert found["loss"] == pytest.approx(np.mean(nats), abs=1e-5)
    assert found["accuracy"] == pytest.approx(table.mean())
    assert found["first_accuracy"] == pytest.approx(table[:, 0].mean())
    assert found["later_accuracy"] == pytest.approx(table[:, 1:].mean())


def test_classes_that_never_occur_are_rows_of_the_head_and_never_drawn() -> None:
    recipe = config(3, 4, 1, rows=SYMBOLS + 40)
    run = Run(recipe, start_of(recipe, tied=False), LANGUAGE)
    assert run.model.get_output_embeddings().weight.shape == (64, 8)
    assert int(LANGUAGE.batches(4, 1, 0)[3].max()) < SYMBOLS
    assert LANGUAGE.counts(64)[SYMBOLS:].sum() == 0


def test_a_run_that_was_broken_off_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    recipe = spec(config(10, 4, 2))

    def stop(stage: str, done: int, of: int) -> None:
        if stage.startswith("training") and done == 5:
            raise Cancelled

    with pytest.raises(Cancelled):
        train_run(recipe, LANGUAGE, tmp_path / "run", progress=stop)
    broken = train_run(recipe, LANGUAGE, tmp_path / "run")
    whole = train_run(recipe, LANGUAGE, tmp_path / "other")
    assert broken.rows() == whole.rows()


@pytest.mark.parametrize("preset", ["nano-olmo", "nano-pythia", "nano-llama", "nano-gpt2",
                                    "nano-stablelm"])  # fmt: skip
@pytest.mark.parametrize(("layers", "width"), [(0, 8), (1, 4), (2, 20)])
def test_every_preset_can_be_shaped(preset: str, layers: int, width: int) -> None:
    recipe = config(1, 2, 3, preset, layers=layers, width=width)
    assert np.isfinite(losses(recipe)).all()


def test_an_odd_width_is_refused_in_words() -> None:
    with pytest.raises(EmbtieError, match="width is 7, an odd number"):
        shaped("nano-olmo", 10, 4, 1, 7)


def test_the_accuracy_held_out_is_the_share_of_predictions_that_are_right() -> None:
    ids = np.random.default_rng(0).integers(SYMBOLS, size=61)
    model = start_of(config(1, 1, 6), tied=False).eval()
    found = held_out(model, Corpus(ids), batch=4, length=6)
    windows = torch.as_tensor(ids[:60].reshape(10, 6))
    with torch.no_grad():
        guess = model(input_ids=windows).logits.argmax(-1).flatten()
    assert found.accuracy == pytest.approx(float((guess.numpy() == ids[1:61]).mean()))
