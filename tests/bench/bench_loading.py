"""E and U of a sharded checkpoint against loading the model, on the same files, as ratios.

    python -m tests.bench.bench_loading [--rows 50304] [--width 2048] [--layers 16] [--folder DIR]

An untied model of OLMo-1B's size, float32, in four shards, E in the first and U in the last, is
read from the disk and from a hub on this machine.  Each reading runs in a process of its own, which
has read a small model by the same way before, so that its libraries are warm.  Both sides map what
they read; so beside the time of the call stands the time until one number of each page of both
matrices was touched.  "Cold" files have left the system's memory before.

Memory is the peak of resident memory above that of the process before; pages of mapped files count
in it, though other kernels share them.  Bytes read are the pages of the weights files that the
process brought into its memory, or the bytes of body that the hub sent.  (Linux only.)
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.hub_server import HubServer

REF, WARM = "allenai/OLMo-1B-shaped", "allenai/small"

Measured = dict[str, Any]

MEASURED = """
import json, sys, time
from pathlib import Path
import embtie_widgets as ew
import torch

def ours(ref):
    loaded = ew.load(ref)
    return loaded.input, loaded.output

def peer(ref):
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(ref, dtype=torch.float32)
    peer.kept = model
    return model.get_input_embeddings().weight, model.get_output_embeddings().weight

def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(name))) * 1024

def mapped():
    total, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ")[0]:
            inside = "/model/" in line or "/blobs/" in line
        elif inside and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total

read = {"ours": ours, "peer": peer}[sys.argv[1]]
read(sys.argv[3])
before, mapped_before = memory("VmRSS"), mapped()
Path("/proc/self/clear_refs").write_text("5")
start = time.perf_counter()
matrices = read(sys.argv[2])
call = time.perf_counter() - start
touched = [float(matrix.detach().view(-1)[:: 256].sum()) for matrix in matrices]
seconds = time.perf_counter() - start
found = {"call": call, "touched": seconds, "sums": touched, "mapped": mapped() - mapped_before}
print(json.dumps(found | {"memory": memory("VmHWM") - before}))
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_304)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--folder", help="where the files are made; a temporary one otherwise")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as scratch:
        _run(Path(scratch), given.rows, given.width, given.layers)


def _run(scratch: Path, rows: int, width: int, layers: int) -> None:
    folder, warm = files(scratch, rows, width, layers)
    matrices = 2 * rows * width * 4
    whole = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{rows:,} x {width:,} float32, {layers} layers, {whole / 1e9:.1f} GB in 4 shards\n")
    print("from the disk")
    _table(*(_from_disk(who, folder, warm, scratch) for who in ("ours", "peer")), matrices)
    with HubServer() as hub:
        hub.add(REF, folder)
        hub.add(WARM, warm)
        print("\nfrom the hub, nothing kept before")
        _table(*(_from_hub(who, hub, scratch) for who in ("ours", "peer")), matrices)
        print("\nfrom the hub, a second kernel: both ask it what is new")
        again = (_from_hub(who, hub, scratch) for who in ("ours", "peer"))
        _table(*again, matrices, reach="")


def files(scratch: Path, rows: int, width: int, layers: int) -> tuple[Path, Path]:
    from transformers import OlmoConfig

    from tests.sparse import sparse_checkpoint

    def config(rows: int, width: int, layers: int) -> Any:
        return OlmoConfig(
            vocab_size=rows,
            hidden_size=width,
            intermediate_size=4 * width,
            num_hidden_layers=layers,
            num_attention_heads=16,
            num_key_value_heads=16,
            tie_word_embeddings=False,
        )

    folder = sparse_checkpoint(scratch / "model", config(rows, width, layers))
    return folder, sparse_checkpoint(scratch / "warm", config(256, 32, 1))


def _from_disk(who: str, folder: Path, warm: Path, scratch: Path) -> Measured:
    for path in folder.glob("*.safetensors"):
        _drop(path)
    here = {"HF_HOME": str(scratch / "home")}
    cold = measured(who, str(folder), str(warm), here)
    again = measured(who, str(folder), str(warm), here)
    return again | {"bytes": again["mapped"], "cold": cold["touched"]}


def _from_hub(who: str, hub: HubServer, scratch: Path) -> Measured:
    hub.forget()
    environment = hub.environment(scratch / f"home-{who}")
    environment["EMBTIE_CACHE"] = str(scratch / "cache")
    found = measured(who, REF, WARM, environment)
    return found | {"bytes": sum(r.sent for r in hub.requests if f"/{REF}/" in r.path)}


def measured(who: str, ref: str, warm: str, more: dict[str, str]) -> Measured:
    environment = {**os.environ, **more, "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    command = [sys.executable, "-c", MEASURED, who, ref, warm]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _drop(path: Path) -> None:
    """Let the system forget the file's pages."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _table(ours: Measured, peer: Measured, matrices: int, reach: str = ">= 10") -> None:
    if ours["sums"] != peer["sums"]:
        sys.exit("the two did not read the same matrices")
    _row("time of the call, from_pretrained / ours", peer["call"] / ours["call"], reach)
    _row("... and until all pages are touched", peer["touched"] / ours["touched"], "")
    if "cold" in ours:
        _row("... of cold files", peer["cold"] / ours["cold"], "")
    _row("bytes read, ours / the two matrices", ours["bytes"] / matrices, "<= 1.02")
    _row("bytes read, from_pretrained / the two matrices", peer["bytes"] / matrices, "")
    _row("peak memory, ours / the two matrices", ours["memory"] / matrices, "<= 1.2")
    _row("peak memory, from_pretrained / the two matrices", peer["memory"] / matrices, "")
    print(f"  the calls took {ours['call']:.3f} s and {peer['call']:.3f} s")


def _row(name: str, value: float, reach: str) -> None:
    print(f"  {name:<52} {value:>8.3g}   {reach}")


if __name__ == "__main__":
    main()
