"""Damaged headers and index files, by the thousand: a clear error or the right matrix.

Each damage is tried on the file route, which the safetensors library maps, and on the hub's, which
reads headers by itself; neither may crash or hand out a matrix that the file does not hold.
"""

import json
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

import embtie_widgets as ew
from embtie_widgets.hashing import tensor_hash
from embtie_widgets.sources import remote
from embtie_widgets.sources.files import FolderFiles
from embtie_widgets.sources.folder import read_checkpoint
from embtie_widgets.sources.header import PREFIX, parse_header
from embtie_widgets.sources.hub_files import HubFiles
from embtie_widgets.sources.listing import Fact, Listing
from embtie_widgets.sources.remote import RemoteFile
from embtie_widgets.sources.sourced import finish
from tests.sources.models import LLAMA, llama, saved

EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"
REF = "owner/model"

often = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

numbers = st.one_of(
    st.integers(-5, 600),
    st.sampled_from([-1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**30]),
)
junk = st.one_of(
    st.none(), st.booleans(), st.text(max_size=5), st.floats(), numbers, st.lists(numbers)
)
dtypes = st.sampled_from(["F32", "F16", "BF16", "F64", "I64", "U8", "F4", "F8_E8M0", "X9", "", 7])


def tensors() -> dict[str, torch.Tensor]:
    """Two matrices, a vector and an odd one out, each with values of its own."""
    generator = torch.Generator().manual_seed(0)
    shapes = {EMBED: (16, 4), HEAD: (16, 4), "model.norm.weight": (4,), "model.empty": (0, 4)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


class Unplugged(HubFiles):
    """A hub model whose bytes come from a folder: all of the hub's route but the wire."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        facts = {path.name: Fact(path.stat().st_size) for path in folder.iterdir()}
        super().__init__(Listing(REF, None, "commit", facts))

    def path(self, name: str) -> Path:
        return FolderFiles(self.folder).path(name)

    def tensors(self, name: str) -> Any:
        if name.endswith(".safetensors"):
            return super().tensors(name)
        return FolderFiles(self.folder).tensors(name)

    def _cached(self, name: str) -> None:
        return None


@pytest.fixture
def unplug(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], dict[str, str]]:
    """Read a folder by the route of the hub; the hashes of its matrices."""
    folders: list[Path] = []

    def chunks(self: RemoteFile, start: int, end: int) -> Iterator[bytes]:
        data = (folders[-1] / self.name).read_bytes()[start:end]
        yield data[:10]
        yield data[10:]

    def read(folder: Path) -> dict[str, str]:
        folders.append(folder)
        return dict(finish(read_checkpoint(Unplugged(folder), "hub")).hashes)

    monkeypatch.setattr(RemoteFile, "_chunks", chunks)
    monkeypatch.setattr(remote, "_PAUSE", 0.0)
    return read


class Pair:
    """A file that is damaged again and again, and what may come out of it."""

    def __init__(self, folder: Path, unplug: Callable[[Path], dict[str, str]]) -> None:
        self.folder, self.unplug = folder, unplug
        self.path = folder / "model.safetensors"
        (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
        save_file(tensors(), self.path)
        self.good = self.path.read_bytes()

    def check(self, data: bytes) -> dict[str, str] | None:
        """Neither route crashes, both agree, and what they read is what the file holds."""
        self.path.write_bytes(data)
        by_file = told(lambda: dict(ew.load(self.folder).hashes))
        by_hub = told(lambda: self.unplug(self.folder))
        assert by_file == by_hub
        if by_file is not None:
            assert by_file in self._possible()
        return by_file

    def _possible(self) -> list[dict[str, str]]:
        """What the file holds by the library that wrote it."""
        stored = {name: tensor_hash(tensor) for name, tensor in load_file(self.path).items()}
        E, U = stored.get(EMBED, ""), stored.get(HEAD, "")
        return [{"input": E, "output": U}, {"input": E}]


def told(read: Callable[[], dict[str, str]]) -> dict[str, str] | None:
    try:
        return read()
    except ew.EmbtieError as error:
        fault = error
    assert fault.message
    assert "/tmp" not in str(fault)
    return None


@pytest.fixture
def pair(unplug: Callable[[Path], dict[str, str]], tmp_path: Path) -> Pair:
    folder = tmp_path / "model"
    folder.mkdir()
    return Pair(folder, unplug)


def packed(header: Any, data: bytes, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def parts(good: bytes) -> tuple[dict[str, Any], bytes]:
    length = struct.unpack("<Q", good[:PREFIX])[0]
    return json.loads(good[PREFIX : PREFIX + length]), good[PREFIX + length :]


def test_the_sound_file_is_read_by_both_routes(pair: Pair) -> None:
    right = {"input": tensor_hash(tensors()[EMBED]), "output": tensor_hash(tensors()[HEAD])}
    assert ew.load(pair.folder).hashes == pair.unplug(pair.folder) == right


@often
@given(cut=st.integers(0, 1000))
def test_a_cut_file_is_refused(pair: Pair, cut: int) -> None:
    pair.check(pair.good[: cut % len(pair.good)])


@often
@given(at=st.integers(0, 10**4), value=st.binary(min_size=1, max_size=9))
def test_bytes_overwritten_anywhere_never_crash(pair: Pair, at: int, value: bytes) -> None:
    at %= len(pair.good)
    pair.check(pair.good[:at] + value + pair.good[at + len(value) :])


@often
@given(data=st.binary(max_size=300))
def test_random_bytes_are_refused(pair: Pair, data: bytes) -> None:
    pair.check(data)


@often
@given(length=st.one_of(st.integers(0, 2000), st.integers(0, 2**64 - 1)))
def test_a_wrong_length_of_the_header_is_refused(pair: Pair, length: int) -> None:
    header, data = parts(pair.good)
    pair.check(packed(header, data, length))


@often
@given(
    name=st.sampled_from([EMBED, HEAD, "model.norm.weight"]),
    offsets=st.one_of(st.tuples(numbers, numbers).map(list), junk),
)
def test_wrong_overlapping_and_giant_offsets_are_refused(
    pair: Pair, name: str, offsets: Any
) -> None:
    header, data = parts(pair.good)
    header[name]["data_offsets"] = offsets
    pair.check(packed(header, data))


@often
@given(name=st.sampled_from([EMBED, HEAD]), shape=st.one_of(st.lists(numbers, max_size=4), junk))
def test_wrong_and_negative_shapes_are_refused(pair: Pair, name: str, shape: Any) -> None:
    header, data = parts(pair.good)
    header[name]["shape"] = shape
    pair.check(packed(header, data))


@often
@given(name=st.sampled_from([EMBED, HEAD]), dtype=st.one_of(dtypes, junk))
def test_a_wrong_dtype_is_refused_or_not_taken_for_a_matrix(
    pair: Pair, name: str, dtype: Any
) -> None:
    header, data = parts(pair.good)
    header[name]["dtype"] = dtype
    pair.check(packed(header, data))


@often
@given(value=junk, name=st.sampled_from([EMBED, "__metadata__", "more", ""]))
def test_entries_of_another_kind_are_refused(pair: Pair, name: str, value: Any) -> None:
    header, data = parts(pair.good)
    header[name] = value
    pair.check(packed(header, data))


@often
@given(
    moves=st.dictionaries(st.sampled_from([EMBED, HEAD]), st.integers(-600, 600), min_size=1),
    onto=st.sampled_from([None, EMBED, HEAD]),
)
def test_tensors_that_moved_or_lie_on_each_other_are_refused(
    pair: Pair, moves: dict[str, int], onto: str | None
) -> None:
    header, data = parts(pair.good)
    slots = {name: header[onto or name]["data_offsets"] for name in moves}
    for name, by in moves.items():
        header[name]["data_offsets"] = [end + by * (onto is None) for end in slots[name]]
    pair.check(packed(header, data))


@pytest.mark.parametrize("crossed", [True, False])
def test_two_entries_of_one_name_are_refused(pair: Pair, crossed: bool) -> None:
    header, data = parts(pair.good)
    other = {EMBED: HEAD, HEAD: EMBED} if crossed else {EMBED: EMBED, HEAD: HEAD}
    again = json.dumps({name: header[other[name]] for name in (EMBED, HEAD)})
    text = json.dumps(header)[:-1] + ", " + again[1:]
    assert pair.check(packed(text.encode(), data)) is None


@pytest.mark.parametrize("text", [b"\xff\xfe{}", b'{"\xff": 1}', b'{"\\ud800": {}}', b" {}", b"[]"])
def test_headers_that_are_no_text_or_no_object_are_refused(pair: Pair, text: bytes) -> None:
    pair.check(packed(text, b""))


def test_a_deep_header_is_refused(pair: Pair) -> None:
    pair.check(packed(b'{"a":' + b"[" * 100_000, b""))


INDEX = "model.safetensors.index.json"


@dataclass
class Sharded:
    """A checkpoint in shards whose index is damaged again and again."""

    folder: Path
    unplug: Callable[[Path], dict[str, str]]

    def __post_init__(self) -> None:
        self.good = (self.folder / INDEX).read_bytes()
        self.right = {
            name: tensor_hash(tensor)
            for path in self.folder.glob("*.safetensors")
            for name, tensor in load_file(path).items()
        }

    def check(self, content: bytes) -> None:
        (self.folder / INDEX).write_bytes(content)
        for read in (lambda: ew.load(self.folder).hashes, lambda: self.unplug(self.folder)):
            found = told(read)
            if found is not None:
                assert found["input"] == self.right[EMBED]
                assert found.get("output", self.right[HEAD]) == self.right[HEAD]


@pytest.fixture
def sharded(tmp_path: Path, unplug: Callable[[Path], dict[str, str]]) -> Sharded:
    model = llama(**(LLAMA | {"vocab_size": 64, "hidden_size": 16}))
    return Sharded(saved(model, tmp_path / "sharded", max_shard_size="5KB"), unplug)


@often
@given(cut=st.integers(0, 5000), more=st.binary(max_size=4))
def test_a_damaged_index_never_crashes(sharded: Sharded, cut: int, more: bytes) -> None:
    at = cut % len(sharded.good)
    sharded.check(sharded.good[:at] + more)
    sharded.check(sharded.good[:at] + more + sharded.good[at + len(more) :])


PLACES = ["../secret", "/etc/passwd", "", "..", "config.json", "no.safetensors", INDEX]


@often
@given(
    file=st.one_of(st.sampled_from(PLACES), junk),
    name=st.sampled_from([EMBED, HEAD, "model.norm.weight", "lm_head.bias"]),
)
def test_an_index_that_points_elsewhere_never_gives_another_matrix(
    sharded: Sharded, file: Any, name: str
) -> None:
    index = json.loads(sharded.good)
    index["weight_map"][name] = file
    sharded.check(json.dumps(index).encode())


@often
@given(content=st.one_of(junk, st.dictionaries(st.just("weight_map"), junk)))
def test_an_index_of_another_kind_is_refused(sharded: Sharded, content: Any) -> None:
    sharded.check(json.dumps(content).encode())


@often
@given(header=st.binary(max_size=200), size=st.one_of(st.none(), st.integers(0, 500)))
def test_the_parser_alone_knows_no_other_error(header: bytes, size: int | None) -> None:
    with suppress(ew.EmbtieError):
        parse_header(header, "x.safetensors", size)
