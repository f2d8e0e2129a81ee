"""Neighbours and spectra against their peers, in one run on one machine, as ratios.

    python -m tests.bench.bench_geometry knn [--rows 50304] [--width 2048] [--repeat 1]
    python -m tests.bench.bench_geometry knn-growth
    python -m tests.bench.bench_geometry knn-sample
    python -m tests.bench.bench_geometry spectra [--rows 50304] [--width 2048] [--repeat 1]
    python -m tests.bench.bench_geometry spectra-growth
    python -m tests.bench.bench_geometry spectral [--rows 50304] [--width 2048]
    python -m tests.bench.bench_geometry spectral-growth
    python -m tests.bench.bench_geometry spectral-memory

Every time is the best of `--repeat` runs, taken in turn, so that a busy machine hits all alike.

How cost grows, measured on two cores: an overlap takes 1.0, 2.4 and 7.3 s at 6,288, 12,576 and
25,152 rows of width 512, so near V^2 once the products outweigh the choosing, and 2.4, 4.8 and
9.3 s at 12,576 rows of width 512, 1,024 and 2,048, so as d.  All numbers of one matrix take 1.0 s
at 25,000 x 512, 1.5 s at twice the rows and 2.7 s at twice the width: V d^2 and d^3.

What a GPU would change (calculated, not measured): the neighbours of one matrix need V^2 d
floating-point operations, 5.3e12 at 50,304 x 2,048.  At the 50e12 a second that a current data
centre GPU reaches in float32 without TF32 that is about 0.1 s, so that reading the rows, moving
them and the exact look at the candidates on the processor, some seconds, become the whole cost.
The eigenvectors of two graphs of 3.4 million edges take some 4,000 products with the omnibus
matrix.  Each reads 4 x 3.4 million values, 2.2e11 bytes in all, and keeping the basis orthogonal
takes 8.8e11 operations: at 3e12 bytes and 50e12 operations a second 0.1 s together, so that the
small factorisations on the processor, some seconds, become the whole cost here too.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import eigsh

import embtie_widgets as ew
from embtie_widgets.measures.geometry import matrix_geometry
from embtie_widgets.measures.neighbours import neighbour_lists
from embtie_widgets.measures.omnibus import omnibus_distance


def main() -> None:
    """Print the table that was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=sorted(TABLES))
    parser.add_argument("--rows", type=int, default=50_304)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument(
        "--share", type=int, default=1, help="let faiss answer each so-many-th row, times so many"
    )
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
        f"{made}\n{small}\n"
        # As Linux counts it for this process alone; getrusage would count its parent's too.
        "peak = lambda: int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
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
    share = given.share
    times, found = best(
        given.repeat,
        ours=lambda: ew.knn_overlap(x, y),
        faiss=lambda: _faiss_overlap(x, y, 10, share),
    )
    print(f"KNN@10 overlap, {given.rows:,} x {given.width:,} float32: {found['ours']}")
    if share > 1:
        print(f"  faiss answered each {share}th row; its time is taken {share} times")
    row("two faiss flat searches / ours", share * times["faiss"] / times["ours"], ">= 1.5")
    ours = found["ours"].per_token[::share]
    row("tokens whose overlap differs from float32 faiss", np.mean(ours != found["faiss"]))
    memory = peak_above_inputs(
        "import torch, embtie_widgets as ew\nfrom tests.bench.bench_geometry import related\n"
        f"x, y = related({given.rows}, {given.width})",
        "ew.knn_overlap(x[:500], y[:500])",
        "ew.knn_overlap(x, y)",
    )
    row("peak memory above the inputs, GB", memory, "< 1.5")


def _faiss_overlap(x: torch.Tensor, y: torch.Tensor, k: int, share: int) -> Any:
    lists = [_faiss_lists(matrix, k, share) for matrix in (x, y)]
    common = [len(set(a) & set(b)) for a, b in zip(*lists, strict=True)]
    return np.array(common) / k


def _faiss_lists(x: torch.Tensor, k: int, share: int = 1) -> list[list[int]]:
    """The k nearest of each `share`-th row by cosine, without the row itself."""
    import faiss

    faiss.omp_set_num_threads(torch.get_num_threads())
    unit = torch.nn.functional.normalize(x, dim=1).numpy()
    index = faiss.IndexFlatIP(x.shape[1])
    index.add(unit)
    _, found = index.search(unit[::share], k + 1)
    return [[j for j in line if j != share * i][:k] for i, line in enumerate(found.tolist())]


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


def spectral(given: argparse.Namespace) -> None:
    """The spectral distance against faiss graphs and eigsh, and the eigenvectors alone."""
    x, y = related(given.rows, given.width)
    lists = [neighbour_lists(matrix, 64).rows for matrix in (x, y)]
    times, found = best(
        given.repeat,
        ours=lambda: ew.spectral_distance(x, y, floor=False),
        eigenvectors=lambda: omnibus_distance(*lists, floor=False),
        faiss=lambda: [_faiss_lists(matrix, 64) for matrix in (x, y)],
    )
    graphs = [np.array(one) for one in found["faiss"]]
    peer, answer = best(given.repeat, eigsh=lambda: _eigsh_distance(*graphs, 128))
    ours, alone = found["ours"], found["eigenvectors"]
    print(f"spectral distance, {given.rows:,} x {given.width:,} float32: {ours}")
    row("faiss graphs and eigsh / ours", (times["faiss"] + peer["eigsh"]) / times["ours"], ">= 1.5")
    row("eigsh / ours, the same graphs given", peer["eigsh"] / times["eigenvectors"], "> 1")
    row("difference of the distances", abs(ours.distance - answer["eigsh"]), "<= 1e-3")
    row("vectors multiplied", alone.settings["products"])
    row("largest relative residual", alone.settings["residual"])


def _eigsh_distance(first: Any, second: Any, components: int) -> float:
    """The distance from the omnibus matrix written out."""
    n, k = first.shape
    whose = np.repeat(np.arange(n), k)
    a, b = (sp.csr_matrix((np.ones(n * k), (whose, g.ravel())), (n, n)) for g in (first, second))
    a, b = (a + a.T) / 2, (b + b.T) / 2
    both = (a + b) / 2
    values, vectors = eigsh(sp.bmat([[a, both], [both, b]], format="csr"), k=components, which="LM")
    one, two = np.split(vectors * np.sqrt(abs(values)), 2)
    smaller = min(np.linalg.norm(one, 2), np.linalg.norm(two, 2))
    return float(np.linalg.norm(one - two, 2) / smaller)


def spectral_growth(given: argparse.Namespace) -> None:
    """How the time of the eigenvectors grows with V, k and the number of components."""
    for rows, k, components in (
        (6_288, 64, 128),
        (12_576, 64, 128),
        (25_152, 64, 128),
        (12_576, 16, 128),
        (12_576, 32, 128),
        (12_576, 64, 32),
    ):
        lists = [neighbour_lists(matrix, k).rows for matrix in related(rows, 256)]
        times, found = best(
            given.repeat, ours=partial(omnibus_distance, *lists, components, floor=False)
        )
        products = found["ours"].settings["products"]
        name = f"{rows:,} rows, k {k}, {components} components"
        row(f"{name}: vectors multiplied", products)
        row(f"{name}: ms a vector", 1e3 * times["ours"] / products)


def spectral_memory(given: argparse.Namespace) -> None:
    """What the eigenvectors of two graphs of 151,936 rows take above the neighbour lists."""
    draw = "draw = lambda n: np.random.default_rng(0).integers(1, n, (2, n, 64))"
    shift = "lists = lambda n: (draw(n) + np.arange(n)[:, None]) % n"
    memory = peak_above_inputs(
        "import numpy as np\nfrom embtie_widgets.measures.omnibus import omnibus_distance\n"
        f"{draw}\n{shift}\nbig = lists(151_936)",
        "omnibus_distance(*lists(500), 16, floor=False)",
        "omnibus_distance(*big, floor=False)",
    )
    row("151,936 rows, k 64: peak above the lists, GB", memory)


def spectra(given: argparse.Namespace) -> None:
    """Spectrum and CKA against numpy, and all numbers of three matrices together."""
    x, y = related(given.rows, given.width)
    times, found = best(
        given.repeat,
        spectrum=lambda: ew.spectrum(x).singular_values,
        numpy_svd=lambda: np.linalg.svd(x.numpy(), compute_uv=False),
        cka=lambda: ew.cka(x, y).value,
        numpy_cka=lambda: _numpy_cka(x.numpy(), y.numpy()),
    )
    row("numpy.linalg.svd, float32 / spectrum, float64", times["numpy_svd"] / times["spectrum"])
    row("numpy CKA (d x d), float32 / ours", times["numpy_cka"] / times["cka"])
    sigma = found["spectrum"]
    row(
        "largest difference / largest value",
        float(np.abs(found["numpy_svd"] - sigma).max() / sigma[0]),
    )
    row("difference of the two CKAs", abs(found["cka"] - found["numpy_cka"]))
    made = (
        "import torch\nfrom embtie_widgets.measures.geometry import pair_geometry\n"
        "names = ('In', 'Out', 'Tied')\npairs = [names[:2], names[1:], names[::2]]\n"
        f"large = {{n: torch.randn({given.rows}, {given.width}) for n in names}}"
    )
    small = "pair_geometry({n: x[:600] for n, x in large.items()}, pairs)"
    started = time.perf_counter()
    peak = peak_above_inputs(made, small, "pair_geometry(large, pairs)")
    row("three matrices and comparisons, with start: s", time.perf_counter() - started)
    row("their peak memory above the inputs, GB", peak, "< 1.5")


def spectra_growth(given: argparse.Namespace) -> None:
    """All numbers of one matrix: V d^2 for the products, d^3 for the eigenvectors."""
    for rows, width in ((12_500, 512), (25_000, 512), (50_000, 512), (25_000, 1024)):
        x, _ = related(rows, width)
        times, _ = best(given.repeat, all=partial(matrix_geometry, x))
        row(f"{rows:,} x {width:,}: s", times["all"])


def _numpy_cka(x: Any, y: Any) -> float:
    x, y = x - x.mean(0), y - y.mean(0)
    own = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    return float(np.linalg.norm(x.T @ y) ** 2 / own)


TABLES: dict[str, Callable[[argparse.Namespace], None]] = {
    "knn": knn,
    "knn-growth": knn_growth,
    "knn-sample": knn_sample,
    "spectra": spectra,
    "spectra-growth": spectra_growth,
    "spectral": spectral,
    "spectral-growth": spectral_growth,
    "spectral-memory": spectral_memory,
}

if __name__ == "__main__":
    main()
