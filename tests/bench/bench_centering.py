"""What each way of keeping the logits in check costs per step, and what logging costs.

    python -m tests.bench.bench_centering [--preset nano-stablelm] [--size nano] [--tied]
                                          [--vocabulary 4096] [--batch 8] [--length 128]
                                          [--steps 60] [--device cpu] [--precision auto]

Trainings of the same model on the same batches take turns, step by step, so that what else the
machine does falls on all alike: without any method, with each, and without any while the numbers on
logits are logged, at every step and at every tenth.  Printed are medians, and medians of the ratios
to the plain step within a turn; the second plain one tells how exact those are.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import torch

from embtie_widgets.requests.centering import NONE, PARTS
from embtie_widgets.training.centering import method_plugs
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run
from embtie_widgets.training.logit_recorder import LogitRecorder
from embtie_widgets.training.presets import preset
from embtie_widgets.training.runs import start_of
from tests.bench.bench_training import in_turns

AGAIN, LOGGED, TENTH = "none, again", "none, logged", "none, logged every tenth"
METHODS = (*PARTS, "mu-centering+soft-cap+z-loss")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", default="nano-stablelm")
    parser.add_argument("--size", default="nano")
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="auto")
    given = parser.parse_args()
    recipe = TrainingConfig(
        model=preset(given.preset, given.vocabulary, given.length, given.size),
        steps=10**6,
        batch=given.batch,
        length=given.length,
        log_every=10**6,
        device=given.device,
        precision=given.precision,
    )
    shape = f"{given.size} {given.preset}, {given.vocabulary:,} tokens"
    tying = "tied" if given.tied else "untied"
    print(f"{shape}, {tying}, {given.batch} x {given.length}, {torch.get_num_threads()} threads")
    taken = in_turns(trainings(recipe, given.tied), given.steps, given.device)
    for name, seconds in taken.items():
        ratio = median(a / b for a, b in zip(seconds, taken[NONE], strict=True))
        print(f"{name:30} {1e3 * median(seconds):8.2f} ms a step {ratio:8.3f}")


def trainings(recipe: TrainingConfig, tied: bool) -> dict[str, Callable[[], Any]]:
    """By name, what does one step."""
    rows = int(recipe.model["vocab_size"])
    # As words are: few are frequent, many are rare.
    ids = np.random.default_rng(0).zipf(1.2, 200_000) % rows
    corpus = Corpus(ids.astype(np.int64))

    def run(recipe: TrainingConfig, *plugs: Any) -> Callable[[], Any]:
        return Run(recipe, start_of(recipe, tied), corpus, "run", plugs).advance

    return {
        NONE: run(recipe),
        AGAIN: run(recipe),
        **{name: run(recipe, *method_plugs(name)) for name in METHODS},
        LOGGED: run(replace(recipe, log_every=1), LogitRecorder()),
        TENTH: run(replace(recipe, log_every=10), LogitRecorder()),
    }


if __name__ == "__main__":
    main()
