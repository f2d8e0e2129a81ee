"""Alignment against its peers, in one run on one machine, as ratios.

    python -m tests.bench.bench_alignment [--rows 50304] [--width 2048] [--repeat 3]

Every time is the best of `--repeat` runs, taken in turn, so that a busy machine hits all alike.
"""

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import torch

import embtie_widgets as ew
from tests.measures.oracle import cosines

Array = np.ndarray[Any, np.dtype[Any]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_304)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    print(f"{given.rows:,} x {given.width:,} float32, {torch.get_num_threads()} threads\n")
    e, u, w = _matrices(given.rows, given.width, condition=100.0)
    _orthogonal(e, u, w, given.repeat)
    _linear(*_matrices(given.rows, given.width, condition=1e3)[:2], given.repeat)


def _orthogonal(e: torch.Tensor, u: torch.Tensor, w: torch.Tensor, repeat: int) -> None:
    def align() -> Any:
        return ew.align(e, u, "orthogonal", holdout=0, floor=False)

    def single_calls() -> None:
        for x, y in ((e, u), (u, w), (e, w)):
            ew.align(x, y, "orthogonal", holdout=0, floor=False)

    times = _best(
        repeat,
        ours=align,
        peer=lambda: _peer(e.numpy(), u.numpy(), "orthogonal"),
        products=lambda: _products(e, u, 2),
        three=single_calls,
        pair=lambda: ew.align_pair(e, u, w, "orthogonal", holdout=0, floor=False),
    )
    print("orthogonal map + cosines")
    _row("scipy.linalg.orthogonal_procrustes / ours", times["peer"] / times["ours"], ">= 1")
    _row("ours / the two products", times["ours"] / times["products"], "<= 1.6")
    _row("three calls / the three together", times["three"] / times["pair"], ">= 1.3")
    _row("three peer calls / the three together", 3 * times["peer"] / times["pair"], "")
    _accuracy(align().cosine, e, u, "orthogonal")


def _linear(x: torch.Tensor, y: torch.Tensor, repeat: int) -> None:
    def align() -> Any:
        return ew.align(x, y, "linear", holdout=0, floor=False)

    times = _best(repeat, ours=align, products=lambda: _products(x, y, 3))
    times |= _best(1, peer=lambda: _peer(x.numpy(), y.numpy(), "linear"))
    found = align()
    print(f"\nlinear map + cosines, condition number {found.description['condition']:.0f}")
    _row("numpy.linalg.lstsq / ours", times["peer"] / times["ours"], ">= 4")
    _row("ours / the three products", times["ours"] / times["products"], "<= 1.5")
    _accuracy(found.cosine, x, y, "linear")


def _matrices(rows: int, width: int, condition: float) -> list[torch.Tensor]:
    """Three related matrices with spectra that fall as far as the condition number."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    scales = torch.logspace(0, -float(np.log10(condition)), width)
    base = normal(rows, width)

    def related(share: float) -> torch.Tensor:
        mixed = share * base + (1 - share) * normal(rows, width)
        return mixed @ (scales[:, None] * torch.linalg.qr(normal(width, width))[0]) + 0.1

    return [related(0.4), related(0.6), related(0.6)]


def _peer(x: Array, y: Array, kind: str) -> Array:
    xc, yc = x - x.mean(0), y - y.mean(0)
    if kind == "orthogonal":
        mapping = scipy.linalg.orthogonal_procrustes(xc, yc)[0]
    else:
        mapping = np.linalg.lstsq(xc, yc, rcond=None)[0]
    mapped = xc @ mapping
    lengths = np.linalg.norm(mapped, axis=1) * np.linalg.norm(yc, axis=1)
    return np.asarray((mapped * yc).sum(1) / lengths)


def _products(x: torch.Tensor, y: torch.Tensor, number: int) -> None:
    square = x.T @ y
    if number == 3:
        x.T @ x
    x @ square


def _best(repeat: int, **calls: Callable[[], Any]) -> dict[str, float]:
    times = dict.fromkeys(calls, float("inf"))
    for _ in range(repeat):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            times[name] = min(times[name], time.perf_counter() - started)
    print({name: f"{seconds:.2f} s" for name, seconds in times.items()})
    return times


def _accuracy(found: Array, x: torch.Tensor, y: torch.Tensor, kind: str) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    error = np.abs(found - cosines(x.double(), y.double(), kind)).max()
    _row("largest cosine error against float64", float(error), "<= 1e-5")
    print(f"  peak memory of the process before that check {peak:.1f} GiB")


def _row(name: str, value: float, reach: str) -> None:
    print(f"  {name:<46} {value:>10.3g}   {reach}")


if __name__ == "__main__":
    main()
