"""Training the translators of a tuned lens: KL(final || lens) at the same position, the model
frozen."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.measures.devices import full_float32
from embtie_widgets.measures.head import Head
from embtie_widgets.progress import Progress, silent
from embtie_widgets.training.lens_loss import Divergence, Words
from embtie_widgets.training.lens_states import MEMORY, Moments, Text, Window, moments
from embtie_widgets.training.lens_steps import (
    RECIPES,
    Fit,
    Metric,
    Recipe,
    Vocabulary,
    fit,
    gradients,
    translated,
    usual_lr,
    usual_tokens,
)
from embtie_widgets.training.translators import Translators, column_lengths, unembedding_hash

BITS = 1 / float(np.log(2))
STARTS = ("least-squares", "zero")
_STAGE = "training the lens"
_LOOKS = 20  # how often the text held out is measured on, over the whole training
_HELD = (256, 2000)  # at least and at most so many positions of it
_LOOK = 1e11  # operations that a look on a processor may take; 64 positions are looked at anyway
_APART = 1.0  # seconds between two calls of `watch`


@dataclass(frozen=True, eq=False)
class Learned:
    """What a training has come to.

    step, steps   how many steps are done, of how many
    loss_bits     KL over the positions of the last step, mean over the layers, in bits
    kl_bits       (L,) on text held out, when it was last measured; None without such a text
    curve         "step" (m,), "loss_bits" (m,), "kl_bits" (m, L): all looks so far
    translators() copies of the translators as they are now
    """

    step: int
    steps: int
    loss_bits: float
    kl_bits: np.ndarray[Any, Any] | None
    curve: dict[str, np.ndarray[Any, Any]]
    translators: Callable[[], Translators]


Watch = Callable[[Learned], None]


def train_translators(
    model: Any,
    pieces: Any,
    steps: int,
    *,
    held: Any = None,
    start: str = "least-squares",
    recipe: str = "fast",
    tokens_per_step: int | None = None,
    lr: float | None = None,
    seed: int = 0,
    device: torch.device | str | None = None,
    watch: Watch | None = None,
    resume: Translators | None = None,
    memory: int = MEMORY,
    progress: Progress = silent,
) -> Translators:
    """Translators (L, d, d) of a loaded decoder, from runs of token ids.

    pieces   each is read alone by the model, from place 0; so is `held`, which is measured on
             along the way: no step learns from it, and the fast recipe gives for each layer the
             translator that was nearest there
    steps    0 gives zeros: the logit lens
    start    "least-squares": the first step is the closed form; "zero": nothing is known before it
    recipe   "fast": natural gradients; "published": SGD as the tuned-lens library does it
    lr       of whole steps; the published one is 1
    resume   unfinished translators of the same settings go on from where they stopped; others are
             where the training begins
    memory   bytes of hidden states that are kept; beyond, they are made again when needed

    `watch` hears about once a second.  Cancelled or KeyboardInterrupt, once something is learned,
    ends the training: what is learned is given, and its settings say so ("stopped").
    """
    _check(steps, start, recipe, tokens_per_step, lr)
    place = None if device in (None, "auto") else torch.device(str(device))
    loss = Divergence(Head.of(model, place))
    text = Text(model, getattr(pieces, "ids", pieces), loss, seed, memory)
    tokens = tokens_per_step or usual_tokens(recipe, loss.head, text.layers)
    tokens = min(tokens, text.positions)
    how = RECIPES[recipe]
    settings: dict[str, Any] = {
        "model": _name_of(model),
        "layers": text.layers,
        "width": text.width,
        "start": start,
        "recipe": recipe,
        "steps": steps,
        "tokens_per_step": tokens,
        "lr": lr or how.lr or usual_lr(tokens, text.width),
        "seed": seed,
        "device": str(loss.head.device),
        "positions": text.positions,
    }
    named = {"text": pieces.sha256} if getattr(pieces, "sha256", None) else {}
    hashes = {"unembedding": unembedding_hash(loss.head.weight)} | named
    run = _Run(text, loss, how, settings, hashes, watch, progress)
    with full_float32(), torch.no_grad():
        run.begin(resume)
        if held is not None and steps:
            run.hold(getattr(held, "ids", held))
        run.train()
    return run.made()


def _name_of(model: Any) -> str:
    path = str(getattr(model.config, "_name_or_path", ""))
    return path.rsplit("/", 1)[-1] or type(model).__name__


def _check(steps: Any, start: str, recipe: str, tokens: Any, lr: Any) -> None:
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
        raise EmbtieError(f"steps is {steps!r}, not a number of steps.", "Give 0 or more.")
    for name, value, known in (("start", start, STARTS), ("recipe", recipe, tuple(RECIPES))):
        if value not in known:
            raise EmbtieError(
                f"{name} is '{value}'; it can be {' or '.join(known)}.", "Choose one of these."
            )
    for name, value in (("tokens_per_step", tokens), ("lr", lr)):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (number and 0 < value < float("inf")):
            raise EmbtieError(f"{name} is {value!r}, not above 0.", "Leave it out for the usual.")


def batches(
    text: Text, tokens: int, seed: int, progress: Progress
) -> Iterator[tuple[Window, Tensor]]:
    """Positions of each step without end: all of a window in an order of chance, then the next."""
    generator = torch.Generator().manual_seed(seed)
    for _ in count():
        for number in text.order:
            window = text.window(number, progress)
            order = torch.randperm(len(window), generator=generator)
            for rows in order.chunk(max(1, round(len(window) / tokens))):
                yield window, rows


@dataclass
class _Best:
    """The translators of each layer that were nearest on the text held out, and their steps."""

    kl_bits: np.ndarray[Any, Any]
    steps: np.ndarray[Any, Any]
    weights: Tensor
    biases: Tensor

    @classmethod
    def none(cls, weights: Tensor, biases: Tensor) -> "_Best":
        """Nothing yet."""
        start = np.full(len(weights), np.inf), np.zeros(len(weights), int)
        return cls(*start, weights.detach().clone(), biases.detach().clone())

    def take(
        self, kl_bits: np.ndarray[Any, Any], weights: Tensor, biases: Tensor, step: int
    ) -> None:
        """The layers that are nearer now."""
        for layer in np.flatnonzero(kl_bits < self.kl_bits).tolist():
            self.kl_bits[layer], self.steps[layer] = kl_bits[layer], step
            self.weights[layer], self.biases[layer] = weights[layer], biases[layer]


class _Run:
    """One training: its parameters, and what is told about them."""

    def __init__(
        self,
        text: Text,
        loss: Divergence,
        how: Recipe,
        settings: dict[str, Any],
        hashes: dict[str, str],
        watch: Watch | None,
        progress: Progress,
    ) -> None:
        self.text, self.loss, self.how = text, loss, how
        self.settings, self.hashes = settings, hashes
        self.watch, self.progress = watch, progress
        self.steps: int = settings["steps"]
        L, d = text.layers, text.width
        self.weights = torch.nn.Parameter(loss.head.weight.new_zeros(L, d, d))
        self.biases = torch.nn.Parameter(loss.head.weight.new_zeros(L, d))
        self.done = 0
        self.held: Window | None = None
        self.kl_bits: np.ndarray[Any, Any] | None = None
        self.best: _Best | None = None
        self.curve: dict[str, list[Any]] = {"step": [], "loss_bits": [], "kl_bits": []}
        self._told = 0.0

    def begin(self, resume: Translators | None) -> None:
        """From zeros, or from what there is."""
        if resume is None:
            return
        if resume.weights.shape != self.weights.shape:
            raise EmbtieError(
                f"The lens to go on from has {len(resume)} translators of width "
                f"{resume.biases.shape[-1]}; the model has {len(self.weights)} layers of width "
                f"{self.biases.shape[-1]}.",
                "Go on from a lens of this model, or begin anew.",
            )
        self.weights.data.copy_(resume.weights)
        self.biases.data.copy_(resume.biases)
        same = ("start", "recipe", "steps", "tokens_per_step", "lr", "seed", "positions")
        if "stopped" in resume.settings and all(
            resume.settings.get(key) == self.settings[key] for key in same
        ):
            self.done = int(resume.settings["done"])
            kept = resume.settings.get("curve", {})
            self.curve = {key: list(kept.get(key, [])) for key in self.curve}
        else:
            self.settings["start"] = "a lens given"

    def hold(self, pieces: Sequence[Any]) -> None:
        """Read the text held out, as much of it as can be measured on along the way."""
        planned = self.settings["tokens_per_step"] * self.steps // (4 * _LOOKS)
        most = min(max(planned, _HELD[0]), _HELD[1])
        if self.loss.head.device.type == "cpu":
            each = 2 * len(self.weights) * self.loss.head.weight.numel()
            most = min(most, max(64, int(_LOOK // each)))
        runs: list[Any] = []
        for piece in pieces:
            runs.append(piece[: most - sum(map(len, runs))])
            if sum(map(len, runs)) >= most:
                break
        self.held = Text(self.text.model, runs, self.loss, 0).window(0, self.progress)
        self.settings["held_positions"] = len(self.held)

    def train(self) -> None:
        """All steps that are left; broken off, what is learned stays."""
        before = self.done
        try:
            self._train()
        except (Cancelled, KeyboardInterrupt):
            if self.done == before:
                raise
        if self.done < self.steps:
            self.settings["stopped"] = f"stopped after {self.done} of {self.steps} steps"
        elif self.best is not None:
            self._return_to(self.best)

    def _return_to(self, best: "_Best") -> None:
        """Of each layer, what was nearest on the text held out: steps can lead away from it."""
        self.weights.data.copy_(best.weights)
        self.biases.data.copy_(best.biases)
        self.kl_bits = best.kl_bits
        self.settings["kept_steps"] = best.steps.tolist()

    def _train(self) -> None:
        if self.done >= self.steps:
            return
        self._look(None)
        found: Moments | None = None
        fitted: Fit | None = None
        closed = self.settings["start"] == "least-squares"
        if self.how.natural or (closed and not self.done):
            found = moments(self.text, self.progress)
            fitted = fit(found, self.progress)
            self.settings["left_out"] = found.lost
            self.settings["ridges"] = fitted.ridges
        if closed and fitted is not None and not self.done:
            self.weights.data.copy_(fitted.weights)
            self.biases.data.copy_(fitted.biases)
            self.done = 1
            self._look(None)
        self._descend(found, fitted)

    def _descend(self, found: Moments | None, fitted: Fit | None) -> None:
        settings = self.settings
        seed, rate = settings["seed"], settings["lr"]
        metric = vocabulary = None
        if self.how.natural and found is not None and fitted is not None:
            metric = Metric(found, fitted, self.loss, seed)
        optimizer = self.how.optimizer([self.weights, self.biases], rate)
        usual = optimizer.param_groups[0]["lr"]
        drawn = batches(self.text, settings["tokens_per_step"], seed, self.progress)
        begun = self.done
        for window, rows in islice(drawn, begun, self.steps):
            if vocabulary is None:
                vocabulary = Vocabulary(self.loss, window.words, seed + begun)
            since = self.done - begun
            if metric is not None and since & (since - 1) == 0:  # at 0, 1, 2, 4, 8...
                self._measure(metric, window)
            words = vocabulary.draw() if metric is not None else None
            kl = self._gradients(window, rows, words, metric)
            if self.how.clip is not None:
                torch.nn.utils.clip_grad_norm_([self.weights, self.biases], self.how.clip)
            optimizer.param_groups[0]["lr"] = usual * (1 - self.done / self.steps)
            optimizer.step()
            self.done += 1
            self._look(sum(kl) * BITS / len(kl))

    def _measure(self, metric: Metric, window: Window) -> None:
        for layer in range(len(self.weights)):
            x = window.states[layer][: metric.asked()]
            metric.measure(layer, translated(x, self.weights[layer], self.biases[layer]))
            self.progress(_STAGE, self.done, self.steps)

    def _gradients(
        self, window: Window, rows: Tensor, words: Words | None, metric: Metric | None
    ) -> list[float]:
        """Set the gradients of all translators, or what the metric makes of them; the KL of each
        layer in nats."""
        by_weight, by_bias = torch.empty_like(self.weights), torch.empty_like(self.biases)
        found = []
        for layer in range(len(self.weights)):
            own = self.weights[layer], self.biases[layer]
            kl, weight, bias = gradients(self.loss, window, rows, layer, own, words)
            if metric is not None:
                weight, bias = metric.turn(layer, weight, bias)
            by_weight[layer], by_bias[layer] = weight, bias
            found.append(kl)
            self.progress(_STAGE, self.done, self.steps)
        self.weights.grad, self.biases.grad = by_weight, by_bias
        return found

    def _look(self, loss_bits: float | None) -> None:
        """Measure on the text held out, at steps that depend on nothing but their number."""
        every = max(1, self.steps // _LOOKS)
        loss_bits = float("nan") if loss_bits is None else loss_bits
        if self.done in (0, 1, self.steps) or self.done % every == 0:
            if self.held is not None:
                self.kl_bits = self._held_bits(self.held)
                if self.how.natural:
                    self.best = self.best or _Best.none(self.weights, self.biases)
                    self.best.take(self.kl_bits, self.weights, self.biases, self.done)
            known = [] if self.kl_bits is None else self.kl_bits.tolist()
            for key, value in (("step", self.done), ("loss_bits", loss_bits), ("kl_bits", known)):
                self.curve[key].append(value)
        self.progress(_STAGE, self.done, self.steps)
        now = time.monotonic()
        if self.watch is not None and (now - self._told >= _APART or self.done == self.steps):
            self.watch(self._learned(loss_bits))
            self._told = time.monotonic()

    def _held_bits(self, held: Window) -> np.ndarray[Any, Any]:
        found = []
        for layer, x in enumerate(held.states):
            y = translated(x, self.weights[layer], self.biases[layer])
            found.append(float(self.loss(y, held.target)[0].mean()) * BITS)
            self.progress(_STAGE, self.done, self.steps)
        return np.array(found)

    def _learned(self, loss_bits: float) -> Learned:
        curve = {key: np.array(values, dtype=float) for key, values in self.curve.items()}
        return Learned(self.done, self.steps, loss_bits, self.kl_bits, curve, self.made)

    def made(self) -> Translators:
        """Copies on the CPU of what is learned, with all that belongs to it."""
        settings = self.settings | {"done": self.done, "curve": self.curve}
        if self.kl_bits is not None:
            settings["held_kl_bits"] = self.kl_bits.tolist()
        weights, biases = (t.detach().cpu().clone() for t in (self.weights, self.biases))
        columns = column_lengths(self.loss.head.weight)
        return Translators(weights, biases, settings, self.hashes, columns)
