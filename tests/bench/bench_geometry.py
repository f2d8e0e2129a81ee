"""Neighbours and spectra against their peers, in one run on one machine, as ratios.

    python -m tests.bench.bench_geometry knn [--rows 50304] [--width 2048] [--repeat 1]
    python -m tests.bench.bench_geometry knn-growth
    python -m tests.bench.bench_geometry knn-sample

Every time is the best of `--repeat` runs, taken in turn, so that a busy machine hits all alike.

What a GPU would change (calculated, not measured): the neighbours of one matrix need V^2 d
floating-point operations, 5.3e12 at 50,304 x 2,048.  At the 50e12 a second that a current data
centre GPU reaches in float32 without TF32 that is about 0.1 s, so that reading the rows, moving
them and the exact look at the candidates on the processor, some seconds, become the whole cost.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import embtie_widgets as ew


def main() -> None:
    """Print the table that was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=sorted(TABLES))
    parser.add_argument("--rows", type=int, default=50_304)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--repeat", type=int, default=1)
    given = parser.parse_args()
    print(f"{given.table}, {torch.get_num_threads()} threads")
    TABLES[given.table](given)


def best(repeat: int, **calls: Callable[[], Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """The shortest time of each call in seconds, and what each gave; printed as they come."""
    times, given = dict.fromkeys(calls, float("inf")), {}
    for _ in range(repeat):
        for name, call in calls.items():
            started = time.perf_counter()
            given[name] = call()
            seconds = time.perf_counter() - started
            times[name] = min(times[name], seconds)
            print(f"  {name}: {seconds:.2f} s", flush=True)
    return times, given


def row(name: str, value: float, reach: str = "") -> None:
    """One line of a table."""
    print(f"  {name:<52} {value:>10.4g}   {reach}", flush=True)


def peak_above_inputs(made: str, small: str, work: str) -> float:
    """GB that `work` takes at its peak above what `made` takes, in a process of its own; the code
    `small` runs before, so that libraries are loaded."""
    code = (
        "import resource\n"
        f"{made}\n{small}\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"before = peak()\n{work}\nprint((peak() - before) * 1024 / 1e9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def related(rows: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Two matrices with a part in common, and with a mean, as embeddings have."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, width, generator=generator)
    y = torch.randn(rows, width, generator=generator).add_(x).add_(0.2)
    return x, y


def knn(given: argparse.Namespace) -> None:
    """KNN@10 overlap against two exact searches by faiss."""
    x, y = related(given.rows, given.width)
    times, found = best(
        given.repeat, ours=lambda: ew.knn_overlap(x, y), faiss=lambda: _faiss_overlap(x, y, 10)
    )
    print(f"KNN@10 overlap, {given.rows:,} x {given.width:,} float32: {found['ours']}")
    row("two faiss flat searches / ours", times["faiss"] / times["ours"], ">= 1.5")
    differing = np.abs(found["ours"].per_token - found["faiss"]) > 1e-9
    row("tokens whose overlap differs from float32 faiss", float(differing.mean()))
    row("difference of the means", abs(found["ours"].mean - float(found["faiss"].mean())))
    memory = peak_above_inputs(
        "import torch, embtie_widgets as ew\nfrom tests.bench.bench_geometry import related\n"
        f"x, y = related({given.rows}, {given.width})",
        "ew.knn_overlap(x[:500], y[:500])",
        "ew.knn_overlap(x, y)",
    )
    row("peak memory above the inputs, GB", memory, "< 1.5")


def _faiss_overlap(x: torch.Tensor, y: torch.Tensor, k: int) -> Any:
    lists = [_faiss_lists(matrix, k) for matrix in (x, y)]
    common = [len(set(a) & set(b)) for a, b in zip(*lists, strict=True)]
    return np.array(common) / k


def _faiss_lists(x: torch.Tensor, k: int) -> list[list[int]]:
    """The k nearest of each row by cosine, without the row itself."""
    import faiss

    faiss.omp_set_num_threads(torch.get_num_threads())
    unit = torch.nn.functional.normalize(x, dim=1).numpy()
    index = faiss.IndexFlatIP(x.shape[1])
    index.add(unit)
    _, found = index.search(unit, k + 1)
    return [[j for j in line if j != i][:k] for i, line in enumerate(found.tolist())]


def knn_growth(given: argparse.Namespace) -> None:
    """How the time of one overlap grows with V and d."""
    for rows, width in ((6_288, 512), (12_576, 512), (25_152, 512), (12_576, 1024), (12_576, 2048)):
        x, y = related(rows, width)
        times, _ = best(given.repeat, ours=partial(ew.knn_overlap, x, y))
        rate = 2 * rows**2 * width / times["ours"] / 1e9
        row(f"{rows:,} x {width:,}: V^2 d operations a matrix, in 1e9 / s", rate)


def knn_sample(given: argparse.Namespace) -> None:
    """2,000 tokens of a vocabulary of 151,936 asked, all of them candidates."""
    x, y = related(151_936, 1024)
    times, found = best(given.repeat, ours=lambda: ew.knn_overlap(x, y, sample=2000))
    print(f"151,936 x 1,024 float32: {found['ours']}")
    row("seconds for 2,000 tokens", times["ours"])


TABLES: dict[str, Callable[[argparse.Namespace], None]] = {
    "knn": knn,
    "knn-growth": knn_growth,
    "knn-sample": knn_sample,
}

if __name__ == "__main__":
    main()
