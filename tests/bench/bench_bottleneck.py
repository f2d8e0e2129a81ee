"""What it costs to say how much of the logit gradient a head transmits, against the plain way.

    python -m tests.bench.bench_bottleneck [--rows 50304] [--widths 512 1024 2048]
                                           [--positions 1024]

The plain way: all logits, autograd to them, an orthonormal basis of U by QR, and the products with
it.  Both give the ratio at each position and the leverage of each token, on the same numbers, in a
process of its own each, in turns.  Printed are seconds, peak memory above the inputs, how far the
ratios are from each other, and the quotients.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import torch
from torch import Tensor

from embtie_widgets.measures.head import Head
from embtie_widgets.measures.head_factor import HeadFactor, ratios
from embtie_widgets.measures.logit_gradients import gradient_rows
from embtie_widgets.sources.readout import Readout

WAYS = ("embtie", "plain")


def ours(U: Tensor, hidden: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The ratio at each position and the leverage of each token."""
    head = Head(None, None, U, None, Readout(None), torch.float32)
    factor = HeadFactor.of(U)
    found = gradient_rows(head, hidden, targets)
    kept = factor.transmitted(found.at_hidden, found.squared)
    return ratios(kept, found.squared)[0], factor.visible(U)


def plain(U: Tensor, hidden: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The same by what the definition says."""
    logits = (hidden @ U.T).requires_grad_()
    torch.nn.functional.cross_entropy(logits, targets, reduction="sum").backward()
    basis, _ = torch.linalg.qr(U)
    G = logits.grad
    lost = G - (G @ basis) @ basis.T
    return lost.norm(dim=1) / G.norm(dim=1), basis.square().sum(1)


def once(way: str, rows: int, width: int, positions: int) -> dict[str, Any]:
    """Seconds, MiB at the peak above the inputs, and some of the ratios."""
    generator = torch.Generator().manual_seed(0)
    U = torch.randn(rows, width, generator=generator)
    hidden = torch.randn(positions, width, generator=generator) * 3 / width**0.5
    targets = torch.randint(rows, (positions,), generator=generator)
    known = {"embtie": ours, "plain": plain}[way]
    known(U[:2_000, :16].clone(), hidden[:8, :16].clone(), targets[:8] % 2_000)  # warm
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    ratio, leverage = known(U, hidden, targets)
    seconds = time.perf_counter() - started
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"seconds": seconds, "MiB": peak, "ratio": ratio[:64].tolist(),
            "leverage": leverage[:64].tolist()}  # fmt: skip


def apart(way: str, rows: int, width: int, positions: int) -> dict[str, Any]:
    """The same in a process of its own."""
    code = (
        "import json; from tests.bench.bench_bottleneck import once;"
        f"print(json.dumps(once({way!r}, {rows}, {width}, {positions})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=50_304)
    parser.add_argument("--widths", type=int, nargs="+", default=[512, 1_024, 2_048])
    parser.add_argument("--positions", type=int, default=1_024)
    given = parser.parse_args()
    print(f"{given.positions:,} positions, V = {given.rows:,}, {torch.get_num_threads()} threads")
    for width in given.widths:
        found = {way: apart(way, given.rows, width, given.positions) for way in WAYS}
        one, other = (found[way] for way in WAYS)
        off = max(
            abs(a - b)
            for name in ("ratio", "leverage")
            for a, b in zip(one[name], other[name], strict=True)
        )
        said = ", ".join(f"{w} {f['seconds']:.1f} s {f['MiB']:.0f} MiB" for w, f in found.items())
        print(
            f"d = {width:,}: {said}; {other['seconds'] / one['seconds']:.2f} x as fast, "
            f"{one['MiB'] / other['MiB']:.2f} of the memory; largest difference {off:.1e}"
        )


if __name__ == "__main__":
    main()
