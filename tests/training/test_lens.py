import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tuned_lens.nn.lenses import TunedLens

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.measures.head import Head
from embtie_widgets.progress import silent
from embtie_widgets.training.lens import Learned, batches, train_translators
from embtie_widgets.training.lens_loss import Divergence
from embtie_widgets.training.lens_states import Text, Window, moments
from embtie_widgets.training.lens_steps import fit
from embtie_widgets.training.translators import Translators
from tests.measures.lens_models import narrow_opt
from tests.sources.tiny import tiny
from tests.training.lens_text import HELD, PIECES, model

PUBLISHED: dict[str, Any] = {"recipe": "published", "start": "zero", "tokens_per_step": 64}


def text_of(given: Any, memory: int = 1 << 30) -> Text:
    return Text(given, PIECES, Divergence(Head.of(given)), seed=0, memory=memory)


def held_bits(given: Any, lens: Translators | None) -> list[float]:
    """By torch's own steps, on the text held out."""
    loss = Divergence(Head.of(given))
    window = Text(given, HELD, loss, seed=0).window(0, silent)
    own = loss.head.logits(window.last).log_softmax(-1)
    bits = []
    for layer, state in enumerate(window.states):
        y = state if lens is None else lens.apply(layer, state)
        kl = (own.exp() * (own - loss.head.logits(y).log_softmax(-1))).sum(-1)
        bits.append(float(kl.mean()) / np.log(2))
    return bits


def package_trained(given: Any, steps: int, tokens: int) -> TunedLens:
    """The library's module and optimiser settings, on the same positions in the same order."""
    lens, text = TunedLens.from_model(given), text_of(given)
    parameters = [p for p in lens.parameters() if p.requires_grad]
    sgd = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3)
    falling = torch.optim.lr_scheduler.LambdaLR(sgd, lambda step: (steps - step) / steps)
    drawn = batches(text, tokens, 0, silent)
    for _ in range(steps):
        window, rows = next(drawn)
        with torch.no_grad():
            log_p = given.lm_head(given.model.norm(window.last[rows])).log_softmax(-1)
        for layer, state in enumerate(window.states):
            log_q = lens(state[rows], idx=layer).log_softmax(-1)
            torch.sum(log_p.exp() * (log_p - log_q), dim=-1).mean().backward()
        torch.nn.utils.clip_grad_norm_(lens.parameters(), 1.0)
        sgd.step()
        sgd.zero_grad()
        falling.step()
    return lens


def test_the_published_recipe_gives_the_translators_of_the_library() -> None:
    theirs = package_trained(model(), 30, 64)
    ours = train_translators(model(), PIECES, 30, **PUBLISHED)
    for layer in range(2):
        weight, bias = theirs[layer].weight.detach(), theirs[layer].bias.detach()
        assert float(weight.abs().max()) > 0.05
        torch.testing.assert_close(ours.weights[layer], weight, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(ours.biases[layer], bias, rtol=1e-3, atol=1e-4)


def test_no_step_is_the_logit_lens() -> None:
    lens = train_translators(model(), PIECES, 0)
    assert len(lens) == 2
    assert not lens.weights.any()
    assert not lens.biases.any()


def test_the_first_step_is_the_ridge_regression_that_cross_validation_chooses() -> None:
    text = text_of(model())
    fitted = fit(moments(text, silent), silent)
    window = text.window(0, silent)
    lengths = window.last.norm(dim=-1, keepdim=True)
    aims = (window.last * lengths.mean() / lengths).double().numpy()
    for layer, state in enumerate(window.states):
        x = state.double().numpy()
        mean, spread = x.mean(0), x.std(0)
        z = (x - mean) / spread
        slopes, errors = {}, {}
        for ridge in [10 ** (p / 2) for p in range(-12, 3)]:
            gram = z.T @ z / len(z) + ridge * np.eye(8)
            slopes[ridge] = np.linalg.solve(gram, z.T @ (aims - aims.mean(0)) / len(z))
            hat = z @ np.linalg.solve(gram, z.T) / len(z) + 1 / len(z)
            left = aims - aims.mean(0) - z @ slopes[ridge]
            errors[ridge] = (left**2).sum() / (1 - np.trace(hat) / len(z)) ** 2
        best = min(errors, key=lambda ridge: errors[ridge])
        assert fitted.ridges[layer] == pytest.approx(best)
        expected = (slopes[best] / spread[:, None]).T - np.eye(8)
        np.testing.assert_allclose(fitted.weights[layer], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2", "cohere", "opt", "narrow"])
def test_training_brings_every_layer_nearer_on_text_held_out(kind: str) -> None:
    given = narrow_opt() if kind == "narrow" else tiny(kind, False)
    before = held_bits(given, None)
    lens = train_translators(given, PIECES, 40, held=HELD)
    after = held_bits(given, lens)
    assert all(new < 0.9 * old for new, old in zip(after, before, strict=True))
    assert lens.settings["held_kl_bits"] == pytest.approx(after, rel=1e-3, abs=1e-3)
    assert lens.settings["curve"]["kl_bits"][0] == pytest.approx(before, rel=1e-3)


def test_a_large_vocabulary_is_sampled_and_every_layer_comes_nearer_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = train_translators(model(), PIECES, 30, held=HELD)
    for name, value in (("_WHOLE", 10), ("_TOP", 10), ("_DRAWN", 10)):
        monkeypatch.setattr(f"embtie_widgets.training.lens_steps.{name}", value)
    lens = train_translators(model(), PIECES, 30, held=HELD)
    assert not torch.equal(lens.weights, whole.weights)
    first, bits = lens.settings["curve"]["kl_bits"][1], lens.settings["held_kl_bits"]
    assert all(a < b for a, b in zip(bits, first, strict=True))
    assert bits == pytest.approx(whole.settings["held_kl_bits"], rel=0.15)


def test_what_a_look_at_the_held_out_text_costs_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("embtie_widgets.training.lens._LOOK", 1.0)
    assert train_translators(model(), PIECES, 2, held=HELD).settings["held_positions"] == 64


def test_the_fast_recipe_is_ahead_of_the_published_one_after_as_many_positions() -> None:
    common: dict[str, Any] = {"tokens_per_step": 64, "held": HELD}
    fast = train_translators(model(), PIECES, 20, **common)
    slow = train_translators(model(), PIECES, 20, **PUBLISHED | common)
    pairs = zip(fast.settings["held_kl_bits"], slow.settings["held_kl_bits"], strict=True)
    assert all(ours < 0.8 * theirs for ours, theirs in pairs)


@pytest.mark.parametrize("recipe", ["fast", "published"])
def test_the_model_stays_as_it_was_bit_for_bit(recipe: str) -> None:
    given = copy.deepcopy(model())
    before = {name: value.clone() for name, value in given.state_dict().items()}
    train_translators(given, PIECES, 5, recipe=recipe, held=HELD)
    after = given.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert all(p.grad is None and p.requires_grad for p in given.parameters())


@pytest.mark.parametrize("recipe", ["fast", "published"])
def test_the_same_seed_gives_the_same_translators_and_another_one_others(recipe: str) -> None:
    one, two, other = (
        train_translators(model(), PIECES, 6, recipe=recipe, tokens_per_step=64, seed=seed)
        for seed in (0, 0, 1)
    )
    assert torch.equal(one.weights, two.weights)
    assert torch.equal(one.biases, two.biases)
    assert not torch.equal(one.weights, other.weights)


def test_watching_and_text_held_out_change_nothing() -> None:
    seen: list[Learned] = []
    plain = train_translators(model(), PIECES, 6)
    watched = train_translators(model(), PIECES, 6, held=HELD, watch=seen.append)
    assert torch.equal(plain.weights, watched.weights)
    last = seen[-1]
    assert (last.step, last.steps) == (6, 6)
    assert torch.equal(last.translators().weights, watched.weights)
    assert last.curve["kl_bits"].shape == (len(last.curve["step"]), 2)
    assert last.kl_bits is not None
    assert (last.curve["kl_bits"][-1] == last.kl_bits).all()


def test_states_that_do_not_fit_in_memory_are_made_again_and_none_is_missed() -> None:
    whole, cut = text_of(model()), text_of(model(), memory=64 * 4 * 34)
    assert len(whole.groups) == 1
    assert len(cut.groups) == 6
    a, b = moments(whole, silent), moments(cut, silent)
    assert a.n == b.n == 24 * 16
    for name in ("centre", "gram", "spread"):
        torch.testing.assert_close(getattr(a, name), getattr(b, name), rtol=1e-4, atol=1e-4)
    drawn, sizes = batches(cut, 32, 0, silent), []
    for _ in range(12):
        window, rows = next(drawn)
        sizes.append(len(rows))
        assert len(window) == 64
    assert sum(sizes) == 24 * 16
    lens = train_translators(model(), PIECES, 30, memory=64 * 4 * 34, held=HELD)
    bits = held_bits(model(), None)
    assert all(a < b for a, b in zip(lens.settings["held_kl_bits"], bits, strict=True))


def test_each_position_of_a_window_is_drawn_once_before_any_is_drawn_again() -> None:
    drawn = batches(text_of(model()), 50, 3, silent)
    rows = torch.cat([next(drawn)[1] for _ in range(8)])
    assert sorted(rows.tolist()) == list(range(24 * 16))
    assert rows.tolist() != sorted(rows.tolist())


class Stop:
    """Progress that is cancelled at a step of the training."""

    def __init__(self, at: int, error: type[BaseException] = Cancelled) -> None:
        self.at, self.error = at, error

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage == "training the lens" and done >= self.at:
            raise self.error


@pytest.mark.parametrize("error", [Cancelled, KeyboardInterrupt])
@pytest.mark.parametrize("recipe", ["fast", "published"])
def test_what_is_learned_stays_when_the_training_is_stopped(
    recipe: str, error: type[BaseException]
) -> None:
    stopped = train_translators(
        model(), PIECES, 20, recipe=recipe, held=HELD, progress=Stop(7, error)
    )
    assert stopped.settings["stopped"] == "stopped after 7 of 20 steps"
    assert stopped.settings["done"] == 7
    before, after = held_bits(model(), None), held_bits(model(), stopped)
    assert all(new < old for new, old in zip(after, before, strict=True))


def test_a_training_stopped_before_anything_is_learned_is_cancelled() -> None:
    with pytest.raises(Cancelled):
        train_translators(model(), PIECES, 20, progress=Stop(0))


def test_a_stopped_training_goes_on_where_it_stopped() -> None:
    stopped = train_translators(model(), PIECES, 20, held=HELD, progress=Stop(7))
    again = train_translators(model(), PIECES, 20, held=HELD, resume=stopped)
    whole = train_translators(model(), PIECES, 20, held=HELD)
    assert again.settings["done"] == 20
    assert "stopped" not in again.settings
    assert again.settings["curve"]["step"][:7] == list(range(7))
    assert again.settings["held_kl_bits"] == pytest.approx(whole.settings["held_kl_bits"], rel=0.05)


def test_a_finished_lens_is_where_another_training_begins() -> None:
    first = train_translators(model(), PIECES, 10, held=HELD)
    more = train_translators(model(), PIECES, 10, held=HELD, resume=first, seed=1)
    assert more.settings["start"] == "a lens given"
    start = more.settings["curve"]["kl_bits"][0]
    assert start == pytest.approx(first.settings["held_kl_bits"], rel=1e-4)


def test_positions_that_are_not_finite_take_no_part() -> None:
    given, bad = copy.deepcopy(model()), 20
    with torch.no_grad():
        given.get_input_embeddings().weight[bad] = float("inf")
    clean = [piece for piece in PIECES if bad not in piece]
    pieces = [*clean, np.array([bad, bad, bad])]
    assert len(clean) > 4
    lens = train_translators(given, pieces, 3)
    assert lens.weights.isfinite().all()
    assert lens.settings["left_out"] == 3
    with pytest.raises(EmbtieError, match="No state of the text is finite"):
        train_translators(given, pieces[-1:], 3)


def test_a_window_is_read_with_padding_as_without() -> None:
    loss, given = Divergence(Head.of(model())), model()
    pieces = [PIECES[0], PIECES[1][:5], PIECES[2][:9]]
    together: Window = Text(given, pieces, loss, 0).window(0, silent)
    singly = [Text(given, [p], loss, 0).window(0, silent) for p in sorted(pieces, key=len)]
    states = torch.cat([w.states[1] for w in singly])
    torch.testing.assert_close(together.states[1], states, rtol=1e-4, atol=1e-5)
    level = torch.cat([w.target.level for w in singly])
    torch.testing.assert_close(together.target.level, level, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": -1},
        {"steps": 2.5},
        {"start": "ones"},
        {"recipe": "adam"},
        {"lr": 0.0},
        {"lr": float("nan")},
        {"lr": "fast"},
        {"tokens_per_step": 0},
        {"tokens_per_step": True},
    ],
)
def test_what_cannot_be_is_refused(wrong: Any) -> None:
    with pytest.raises(EmbtieError, match=next(iter(wrong))):
        train_translators(model(), PIECES, **({"steps": 2} | wrong))


def test_steps_that_lead_away_do_not_take_what_was_nearer_before() -> None:
    lens = train_translators(model(), PIECES, 12, held=HELD, tokens_per_step=2, lr=5.0)
    looks = np.array(lens.settings["curve"]["kl_bits"])
    assert (looks[-1] > looks[1]).any()
    assert lens.settings["held_kl_bits"] == pytest.approx(looks.min(axis=0).tolist())
    assert held_bits(model(), lens) == pytest.approx(looks.min(axis=0).tolist(), rel=1e-3, abs=1e-3)
    assert lens.settings["kept_steps"] == looks.argmin(axis=0).tolist()


def test_a_rate_that_is_too_large_is_said_to_be() -> None:
    with pytest.raises(EmbtieError, match="went astray"):
        train_translators(model(), PIECES, 60, **PUBLISHED | {"lr": 1e30})


def test_another_models_translators_are_no_start() -> None:
    lens = train_translators(model(), PIECES, 0)
    short = replace(lens, weights=lens.weights[:1], biases=lens.biases[:1])
    with pytest.raises(EmbtieError, match="1 translators of width 8"):
        train_translators(model(), PIECES, 3, resume=short)


def test_no_text_is_refused() -> None:
    with pytest.raises(EmbtieError, match="no text"):
        train_translators(model(), [], 3)
