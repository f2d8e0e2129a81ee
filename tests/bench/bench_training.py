"""A training step against a plain transformers + AdamW loop, and what splitting adds to it.

    python -m tests.bench.bench_training [--preset nano-olmo] [--batch 8] [--length 128]
                                         [--steps 60] [--device cpu] [--precision auto]

Six trainings of the same tied model on the same batches take turns, step by step, so that what
else the machine does falls on all alike: the plain loop, the engine, the engine with the gradient
split by its two ways, the engine with what the head transmits at every step, and the engine with
all that the panel of gradient flow records, at every step and at every tenth.  Printed are medians,
and medians of the ratios within a turn.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from embtie_widgets.requests import CorpusRef
from embtie_widgets.training.bottleneck_recorder import BottleneckRecorder
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run
from embtie_widgets.training.flow import FlowRecorder
from embtie_widgets.training.interventions import Intervention
from embtie_widgets.training.presets import preset
from embtie_widgets.training.runs import start_of
from embtie_widgets.training.texts import corpus_for

WARM = 5
PLAIN, ENGINE, SPLIT, PASSED, FLOW, TENTH = (
    "plain loop", "engine", "with the split", "with the bottleneck", "with gradient flow",
    "with flow, every tenth",
)  # fmt: skip
RATIOS = ((ENGINE, PLAIN), (SPLIT, ENGINE), (PASSED, ENGINE), (FLOW, ENGINE), (TENTH, ENGINE))


class Splits(Intervention):
    """Asks for the parts, and does nothing with them."""

    splits = True


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", default="nano-olmo")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="auto")
    given = parser.parse_args()
    corpus, _ = corpus_for(CorpusRef(""), "", 4096)
    recipe = TrainingConfig(
        model=preset(given.preset, 4096, given.length),
        steps=10**6,
        batch=given.batch,
        length=given.length,
        log_every=1,
        device=given.device,
        precision=given.precision,
    )
    print(f"{given.preset}, {given.batch} x {given.length}, {torch.get_num_threads()} threads")
    taken = in_turns(trainings(recipe, corpus), given.steps, given.device)
    for name, seconds in taken.items():
        print(f"{name:24} {1e3 * median(seconds):8.1f} ms a step")
    for name, other in RATIOS:
        ratios = [a / b for a, b in zip(taken[name], taken[other], strict=True)]
        print(f"{name} / {other}: {median(ratios):.3f}")


def trainings(recipe: TrainingConfig, corpus: Corpus) -> dict[str, Callable[[], Any]]:
    """By name, what does one step."""
    counts = corpus.counts(recipe.model["vocab_size"])
    plugs: dict[str, tuple[Intervention, ...]] = {
        ENGINE: (),
        SPLIT: (Splits(),),
        PASSED: (BottleneckRecorder(),),
        FLOW: (FlowRecorder(counts=counts),),
    }
    runs = {
        name: Run(recipe, start_of(recipe, tied=True), corpus, "tied", each)
        for name, each in plugs.items()
    }
    seldom = TrainingConfig(**(recipe.__dict__ | {"log_every": 10}))
    flow = FlowRecorder(counts=counts)
    runs[TENTH] = Run(seldom, start_of(recipe, tied=True), corpus, "tied", (flow,))
    return {PLAIN: plain(recipe, runs[ENGINE]), **{n: run.advance for n, run in runs.items()}}


def plain(recipe: TrainingConfig, run: Run) -> Callable[[], Any]:
    """As one would write it by hand, in the precision of `run`."""
    model = start_of(recipe, tied=True).to(run.device).train()
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=recipe.lr, betas=recipe.betas, weight_decay=recipe.weight_decay
    )
    mixed = run.precision == "bfloat16"
    step = 0

    def advance() -> None:
        nonlocal step
        step += 1
        window = run.batches[step].to(run.device)
        with torch.autocast(run.device.type, torch.bfloat16, enabled=mixed):
            logits = model(input_ids=window[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1), window[:, 1:].flatten()
        )
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        for group in optimiser.param_groups:
            group["lr"] = recipe.learning_rate(step)
        optimiser.step()

    return advance


def in_turns(
    steps: dict[str, Callable[[], Any]], turns: int, device: str
) -> dict[str, list[float]]:
    """Seconds of each step; who begins a turn goes round."""
    taken: dict[str, list[float]] = {name: [] for name in steps}
    names = list(steps)
    for turn in range(WARM + turns):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            begun = time.perf_counter()
            steps[name]()
            if device == "cuda":
                torch.cuda.synchronize()
            if turn >= WARM:
                taken[name].append(time.perf_counter() - begun)
    return taken


if __name__ == "__main__":
    main()
