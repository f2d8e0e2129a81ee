"""Files and hubs that were made to harm: refused at once, in a sentence, in bounded memory."""

import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import embtie_widgets as ew
from embtie_widgets.errors import Interrupted
from embtie_widgets.sources import bounds, remote
from embtie_widgets.sources.tokenizing import tokenizer_of
from tests.hub_server import HubServer
from tests.sources.models import LLAMA, llama, saved

REF = "owner/model"
HUGE = 2**60
_MOST_MB = 1_500  # of memory that a kernel has beyond what it takes to begin
_READ = """
import itertools, resource, sys
import embtie_widgets as ew
from embtie_widgets.sources.tokenizing import tokenizer_of
ew.load("nano-tied")
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + {most} * 2**20,) * 2)
for path, read in itertools.product(sys.argv[1:], (ew.load, ew.parameters, tokenizer_of)):
    try:
        read(ew.ModelRef(path))
    except ew.EmbtieError as told:
        print(told.message)
    else:
        print("read")
"""


def apart(*folders: Path) -> list[str]:
    """What a kernel with little memory says of models: of the matrices of each, of its size, and of
    its tokenizer."""
    done = subprocess.run(
        [sys.executable, "-c", _READ.format(most=_MOST_MB), *map(str, folders)],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    assert str(folders[0].parent) not in done.stdout
    return done.stdout.splitlines()


def u64(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def u32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def text(value: str) -> bytes:
    return u64(len(value)) + value.encode()


def gguf(tensors: int, pairs: int, rest: bytes) -> bytes:
    return b"GGUF" + u32(3) + u64(tensors, pairs) + rest


_KEY = text("general.architecture") + u32(8) + text("llama")
GGUF = {
    "tensors without end": gguf(HUGE, 1, _KEY),
    "pairs without end": gguf(0, HUGE, _KEY),
    "a text without end": gguf(0, 1, text("a") + u32(8) + u64(HUGE)),
    "a key without end": gguf(0, 1, u64(HUGE)),
    "a list without end": gguf(0, 1, text("a") + u32(9) + u32(0) + u64(HUGE)),
    "a list of texts without end": gguf(0, 1, text("a") + u32(9) + u32(8) + u64(HUGE)),
    "lists in lists": gguf(0, 1, text("a") + u32(9) + (u32(9) + u64(1)) * 50_000 + u32(0)),
    "a shape without end": gguf(
        1, 1, _KEY + text("token_embd.weight") + u32(2) + u64(HUGE, HUGE) + u32(0) + u64(0)
    ),
    "dimensions without end": gguf(1, 1, _KEY + text("token_embd.weight") + u32(2**31)),
    "a place beyond the end": gguf(
        1, 1, _KEY + text("token_embd.weight") + u32(2) + u64(4, 4) + u32(0) + u64(HUGE)
    ),
    "an unknown kind": gguf(0, 1, text("a") + u32(99)),
}


@pytest.mark.parametrize("name", GGUF)
def test_a_gguf_file_of_absurd_counts_is_refused_at_once(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(GGUF[name] + bytes(64))
    for read in (ew.load, ew.parameters, lambda ref: tokenizer_of(ew.ModelRef(str(ref)))):
        with pytest.raises(ew.EmbtieError) as told:
            read(path)
        assert "m.gguf" in told.value.message
        assert str(tmp_path) not in str(told.value)


def brackets(path: Path, count: int) -> None:
    """JSON that is small on the disk and large in memory."""
    with path.open("w") as file:
        file.write('{"a":[')
        for _ in range(count // 1_000):
            file.write("[],[]," * 500)
        file.write("[]]}")


def test_small_files_that_are_none_are_refused_before_they_are_parsed(tmp_path: Path) -> None:
    names = ("config.json", "tokenizer.json", "model.safetensors.index.json")
    for name in names:
        brackets(saved(llama(), tmp_path / name) / name, 100_000_000)
    deep, long = saved(llama(), tmp_path / "deep"), saved(llama(), tmp_path / "long")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (deep / name).write_text('{"a":' * 300_000 + "1" + "}" * 300_000)
    with (long / "model.safetensors").open("wb") as file:
        file.write(u64(2**26))
        file.truncate(2**26 + 8)
    said = apart(*(tmp_path / name for name in names), deep, long)
    for name in names:
        assert any(f"{name} is larger than 64 MB" in words for words in said), name
    assert "config.json is no valid JSON." in said
    assert "model.safetensors is no safetensors file, or damaged." in said


def test_a_checkpoint_that_unpacks_to_gigabytes_is_refused_in_bounded_memory(
    tmp_path: Path,
) -> None:
    folder = saved(llama(), tmp_path / "model")
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bomb,
        bomb.open("archive/data.pkl", "w", force_zip64=True) as member,
    ):
        for _ in range(2_000):
            member.write(bytes(2**20))
    assert "pytorch_model.bin is cut short or no PyTorch checkpoint." in apart(folder)


@pytest.fixture
def server(hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    """A hub that never stops sending, once it is told so; nobody waits between two tries."""
    monkeypatch.setattr(remote, "_PAUSE", 0.0)
    monkeypatch.setattr(bounds, "_fetched", 0)
    hub.add(REF, saved(llama(**(LLAMA | {"vocab_size": 1_000})), tmp_path / "model"))
    return hub


def sent_until_refused(server: HubServer) -> tuple[int, str]:
    """Bytes that went out, and what was said."""
    with pytest.raises(ew.EmbtieError) as told:
        ew.load(REF)
    return server.sent(), told.value.message


def test_a_small_file_that_never_ends_is_broken_off(server: HubServer) -> None:
    server.faults.endless = True
    sent, message = sent_until_refused(server)
    assert "config.json of owner/model is longer than the hub lists" in message
    assert sent < 2**27


def test_weights_that_never_end_are_read_as_far_as_they_are_listed(
    server: HubServer, tmp_path: Path
) -> None:
    ew.load(REF)  # small files are here now
    for entry in (tmp_path / "cache").rglob("*.safetensors"):
        entry.unlink()
    server.faults.endless = True
    server.forget()
    assert ew.load(REF).input.ndim == 2
    assert server.sent() < 2**27


@pytest.fixture
def public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A public page that offers the model, to visitors who bring at most 20 kB."""
    (tmp_path / "mine.toml").write_text(f'[[model]]\nref = "{REF}"\n')
    monkeypatch.setenv("EMBTIE_CATALOGUE", str(tmp_path / "mine.toml"))
    monkeypatch.setenv("EMBTIE_PUBLIC", "1")
    monkeypatch.setattr(bounds, "FETCHED_BYTES", 20_000)


@pytest.mark.usefixtures("public")
def test_on_a_public_page_a_download_is_refused_before_a_byte_of_it_moves(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, message = sent_until_refused(server)
    assert "on a public page a visitor brings at most 20 kB" in message
    assert server.sent("model.safetensors") < 10_000
    monkeypatch.setattr(bounds, "FETCHED_BYTES", 10**9)
    ew.load(REF)
    monkeypatch.setattr(bounds, "FETCHED_BYTES", 1)
    ew.load(REF)  # what is here costs nothing


@pytest.mark.usefixtures("public", "server")
def test_on_a_public_page_a_whole_model_is_counted_as_well() -> None:
    from embtie_widgets.sources.models import open_model

    with pytest.raises(Interrupted, match="on a public page a visitor brings"):
        open_model(REF)
