"""What `RunRecorder` costs a training, against the same training without it, as a ratio.

    python -m tests.bench.bench_recorder [--preset nano] [--every 10] [--blocks 20] [--untied]

Two copies of one model are trained in turns of `every` steps, one of them recorded; a turn holds
one recorded step with everything that belongs to it, and every checkpoint of E and U that falls
due.  Ratios are of the sums of all turns but the first: of seconds on the clock, and of seconds of
the processors, which say more on a machine that is busy with other things.
"""

import argparse
import copy
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from embtie_widgets.training.recorder import RunRecorder

Times = tuple[float, float]
SIZES = {
    "nano": ({"vocab_size": 4096, "n_embd": 128, "n_layer": 2, "n_head": 4}, 8, 128),
    "small": ({"vocab_size": 50257, "n_embd": 256, "n_layer": 4, "n_head": 4}, 4, 128),
    "wide": ({"vocab_size": 50257, "n_embd": 768, "n_layer": 2, "n_head": 12}, 2, 256),
}


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", choices=SIZES, default="nano")
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=20, help="turns of each, one more to warm up")
    parser.add_argument("--untied", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        recorded, plain = measured(given, Path(folder))
    wall, processor = (
        sum(a[kind] for a in recorded[1:]) / sum(b[kind] for b in plain[1:]) for kind in (0, 1)
    )
    step = statistics.median(b[0] for b in plain[1:]) / given.every * 1e3
    print(
        f"{given.preset}{', untied' if given.untied else ''}, every {given.every}, "
        f"{torch.get_num_threads()} threads: {wall:.3f}x on the clock, {processor:.3f}x of the "
        f"processors; a step takes {step:.0f} ms"
    )


def measured(given: argparse.Namespace, folder: Path) -> tuple[list[Times], list[Times]]:
    """Seconds of each turn, on the clock and of the processors, recorded and not."""
    fields, rows, length = SIZES[given.preset]
    config = AutoConfig.for_model("gpt2", **fields, tie_word_embeddings=not given.untied)
    torch.manual_seed(0)
    models = [AutoModelForCausalLM.from_config(config)]
    models.append(copy.deepcopy(models[0]))
    ids = torch.randint(0, fields["vocab_size"], (rows, length))
    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-4) for model in models]
    recorder = RunRecorder(folder / "run", every=given.every).attach(models[0], optimizers[0])
    times: tuple[list[Times], list[Times]] = ([], [])
    for _ in range(given.blocks + 1):
        for model, optimizer, record, found in zip(
            models, optimizers, (recorder, None), times, strict=True
        ):
            started = time.perf_counter(), time.process_time()
            for _ in range(given.every):
                _step(model, optimizer, ids, record)
            found.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    recorder.detach()
    return times


def _step(model: Any, optimizer: Any, ids: torch.Tensor, recorder: Any) -> None:
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    if recorder is not None:
        recorder.observe(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


if __name__ == "__main__":
    main()
