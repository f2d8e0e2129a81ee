"""E and U of a sharded checkpoint against loading the model, on the same files, as ratios.

    python -m tests.bench.bench_loading [--rows 50304] [--width 2048] [--layers 16] [--folder DIR]

An untied model of OLMo-1B's size, float32, in four shards, E in the first and U in the last, is
read from the disk and from a hub on this machine.  Each reading runs in a process of its own, its
libraries warm, the files' pages dropped from the system's cache before.  The clock stops when every
byte of both matrices was touched.  Memory is the peak of resident memory above that of the idle
process; pages of mapped files count in it, though other kernels share them.  Bytes read are pages
brought in from the disk (Linux), or bytes of body that the hub sent.
"""

import argparse
import ctypes
import json
import mmap
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.hub_server import HubServer

REF = "allenai/OLMo-1B-shaped"

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

read = {"ours": ours, "peer": peer}[sys.argv[1]]
read(sys.argv[3])
before = memory("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
start = time.perf_counter()
touched = [float(matrix.detach().view(-1)[:: 256].sum()) for matrix in read(sys.argv[2])]
seconds = time.perf_counter() - start
found = {"seconds": seconds, "memory": memory("VmHWM") - before, "touched": touched}
print(json.dumps(found))
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
    folder, warm = _files(scratch, rows, width, layers)
    matrices = 2 * rows * width * 4
    whole = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{rows:,} x {width:,} float32, {layers} layers, {whole / 1e9:.1f} GB in 4 shards\n")
    print("from the disk")
    ours, peer = (_from_disk(who, folder, warm, scratch) for who in ("ours", "peer"))
    _table(ours, peer, matrices)
    with HubServer() as hub:
        hub.add(REF, folder)
        print("\nfrom the hub, nothing kept before")
        ours, peer = (_from_hub(who, hub, warm, scratch) for who in ("ours", "peer"))
        _table(ours, peer, matrices)
        print("\nfrom the hub, a second kernel")
        ours, peer = (_from_hub(who, hub, warm, scratch) for who in ("ours", "peer"))
        _table(ours, peer, matrices, again=True)


def _files(scratch: Path, rows: int, width: int, layers: int) -> tuple[Path, Path]:
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


def _from_disk(who: str, folder: Path, warm: Path, scratch: Path) -> dict[str, Any]:
    weights = sorted(folder.glob("*.safetensors"))
    for path in weights:
        _drop(path)
    found = _measured(who, str(folder), warm, {"HF_HOME": str(scratch / "home")})
    return found | {"bytes": sum(map(_resident, weights))}


def _from_hub(who: str, hub: HubServer, warm: Path, scratch: Path) -> dict[str, Any]:
    hub.forget()
    environment = hub.environment(scratch / f"home-{who}")
    environment["EMBTIE_CACHE"] = str(scratch / "cache")
    found = _measured(who, REF, warm, environment)
    return found | {"bytes": hub.sent()}


def _measured(who: str, ref: str, warm: Path, more: dict[str, str]) -> dict[str, Any]:
    environment = {**os.environ, **more, "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    command = [sys.executable, "-c", MEASURED, who, ref, str(warm)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _drop(path: Path) -> None:
    """Let the system forget the file's pages."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _resident(path: Path) -> int:
    """How many bytes of the file the system holds in memory."""
    size = path.stat().st_size
    pages = -(-size // mmap.PAGESIZE)
    known = (ctypes.c_ubyte * pages)()
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE) as mapped:
        start = ctypes.c_ubyte.from_buffer(mapped)
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.mincore(ctypes.byref(start), ctypes.c_size_t(size), known)
        del start
    if failed:
        sys.exit("the system does not tell which pages it holds")
    return sum(page & 1 for page in known) * mmap.PAGESIZE


def _table(ours: dict[str, Any], peer: dict[str, Any], matrices: int, again: bool = False) -> None:
    assert ours["touched"] == peer["touched"], "the two did not read the same matrices"
    read = "bytes moved" if again else "bytes read"
    _row("time, from_pretrained / ours", peer["seconds"] / ours["seconds"], ">= 10")
    _row(f"{read}, ours / the two matrices", ours["bytes"] / matrices, "<= 1.02")
    _row(f"{read}, from_pretrained / the two matrices", peer["bytes"] / matrices, "")
    _row("peak memory, ours / the two matrices", ours["memory"] / matrices, "<= 1.2")
    _row("peak memory, from_pretrained / the two matrices", peer["memory"] / matrices, "")
    print(f"  {ours['seconds']:.2f} s and {peer['seconds']:.2f} s")


def _row(name: str, value: float, reach: str) -> None:
    print(f"  {name:<52} {value:>8.3g}   {reach}")


if __name__ == "__main__":
    main()
