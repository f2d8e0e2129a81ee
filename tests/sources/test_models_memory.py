"""Free memory decides where a model goes, and as what, before any weight is read."""

import gc
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.head import Head
from embtie_widgets.measures.states import states_of
from embtie_widgets.sources import models, placing, whole
from embtie_widgets.sources.models import let_go, needed_bytes, open_model
from tests.sources.models import LLAMA, llama, saved
from tests.sources.tiny import tiny

IDS = torch.tensor([[1, 5, 9, 3, 30, 7, 11, 2]])
SIZES = {**LLAMA, "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 6}
Disk = namedtuple("Disk", "total used free")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Any:
    """Each test opens for itself, with a cache of its own."""
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    let_go()
    yield tmp_path / "cache"
    let_go()


@pytest.fixture
def free(monkeypatch) -> Any:
    """Say how many bytes are free."""

    def say(size: float) -> None:
        monkeypatch.setattr(placing, "free_bytes", lambda _: {"this machine": int(size)})

    return say


def logits_of(model: Any) -> torch.Tensor:
    """(B, T, V)."""
    with torch.no_grad():
        return model(input_ids=IDS, use_cache=False).logits


def waiting(model: Any) -> set[str]:
    """The modules whose weights wait on disk."""
    return {path for path, place in getattr(model, "hf_device_map", {}).items() if place == "disk"}


def test_off_the_graphics_card_it_is_float32_where_that_fits_and_else_as_stored(tmp_path, free):
    folder = saved(llama(**SIZES).bfloat16(), tmp_path / "half")
    assert open_model(folder).precision == "float32"
    need = needed_bytes(folder, "float32")
    let_go()
    free(0.8 * need)
    assert open_model(folder).precision == "bfloat16"
    assert needed_bytes(folder) == need // 2


@pytest.mark.parametrize("tied", [True, False])
def test_blocks_that_do_not_fit_wait_on_disk_and_compute_the_same(tmp_path, cache, free, tied):
    model = llama(**SIZES, tied=tied)
    folder = saved(model, tmp_path / "large")
    free(0.6 * needed_bytes(folder))
    opened = open_model(folder)
    assert any("layers" in path for path in waiting(opened.model))
    assert list(cache.rglob("embtie-offload-*/*"))
    assert torch.equal(logits_of(opened.model), logits_of(model))
    assert "on disk" in opened.placement


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neox", "gemma2", "opt"])
def test_other_families_wait_on_disk_too(tmp_path, free, kind):
    model = tiny(kind, kind != "gpt_neox")
    folder = saved(model, tmp_path / kind)
    free(0.7 * needed_bytes(folder))
    opened = open_model(folder)
    assert waiting(opened.model)
    assert torch.equal(logits_of(opened.model), logits_of(model))


def test_states_and_head_of_a_model_that_waits_on_disk_are_those_of_the_plain_one(tmp_path, free):
    model = llama(**SIZES)
    folder = saved(model, tmp_path / "large")
    free(0.6 * needed_bytes(folder))
    opened = open_model(folder).model
    one, other = (next(iter(states_of(m, [IDS[0].numpy()]))) for m in (model, opened))
    for plain, waited in zip(one.states, other.states, strict=True):
        assert torch.equal(plain, waited)
    last = Head.of(opened).logits(other.states[-1])
    assert torch.allclose(last, Head.of(model).logits(one.states[-1]), atol=1e-5)


@pytest.mark.parametrize("tied", [True, False])
def test_a_model_in_memory_may_wait_on_disk(tmp_path, free, tied):
    folder = saved(llama(**SIZES, tied=tied), tmp_path / "large")
    plain = open_model(folder)
    let_go()
    free(0.3 * needed_bytes(folder))
    waited = open_model(folder).model
    handed = open_model(waited)
    assert handed.tied == plain.tied == ("tied" if tied else "untied")
    assert handed.hashes == open_model(plain.model).hashes
    assert torch.equal(logits_of(handed.model), logits_of(plain.model))


def test_what_waits_on_disk_goes_with_the_model(tmp_path, cache, free):
    folder = saved(llama(**SIZES), tmp_path / "large")
    free(0.6 * needed_bytes(folder))
    opened = open_model(folder)
    assert list(cache.rglob("embtie-offload-*"))
    let_go()
    del opened
    gc.collect()
    assert not list(cache.rglob("embtie-offload-*"))


def test_what_a_kernel_that_is_gone_left_on_disk_is_removed(tmp_path, cache, free):
    left = cache / "offload" / "embtie-offload-999999999-x"
    left.mkdir(parents=True)
    folder = saved(llama(**SIZES), tmp_path / "large")
    free(0.6 * needed_bytes(folder))
    open_model(folder)
    assert not left.exists()


def test_what_exceeds_everything_is_refused_with_sizes_before_it_is_loaded(
    tmp_path, free, monkeypatch
):
    folder = saved(llama(**SIZES), tmp_path / "large")
    free(30_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(10, 10, 1000))
    monkeypatch.setattr(whole, "from_pretrained", None)
    with pytest.raises(EmbtieError, match=r"needs \d+ kB as float32.*27 kB of this machine") as one:
        open_model(folder)
    assert "smaller" in one.value.hint


def test_a_kept_model_makes_room_for_the_next(tmp_path, monkeypatch):
    first, second = (saved(llama(**SIZES), tmp_path / name) for name in "ab")
    need = needed_bytes(first)

    def left(_: str) -> dict[str, int]:
        return {"this machine": int((1.5 if not models._open else 0.5) * need)}

    open_model(first)
    monkeypatch.setattr(placing, "free_bytes", left)
    opened = open_model(second)
    assert not waiting(opened.model)
    assert len(models._open) == 1


def test_a_model_that_fails_half_way_leaves_nothing_on_disk(tmp_path, cache, free, monkeypatch):
    folder = saved(llama(**SIZES), tmp_path / "large")
    free(0.6 * needed_bytes(folder))

    def stop(stage: str, done: int, total: int) -> None:
        if stage.startswith("opening") and done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_model(folder, progress=stop)
    assert not list(cache.rglob("embtie-offload-*"))


def test_a_gguf_file_that_does_not_fit_is_refused_since_it_cannot_wait_on_disk(smollm2, free):
    free(100_000_000)
    with pytest.raises(EmbtieError, match="needs 538 MB"):
        open_model(smollm2)


@pytest.mark.gpu
def test_on_a_graphics_card_it_is_as_stored_and_what_exceeds_it_goes_to_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    model = llama(**SIZES).bfloat16()
    folder = saved(model, tmp_path / "half")
    opened = open_model(folder)
    assert (opened.precision, opened.device.type) == ("bfloat16", "cuda")
    let_go()
    need = needed_bytes(folder, "float32", "cuda")
    rooms = {"this machine": 10**9, "the graphics card": int(0.7 * need)}
    monkeypatch.setattr(placing, "free_bytes", lambda _: rooms)
    split = open_model(folder, precision="float32")
    assert {str(place) for place in split.model.hf_device_map.values()} == {"0", "cpu"}
    with torch.no_grad():
        found = split.model(input_ids=IDS.cuda(), use_cache=False).logits.cpu()
    assert torch.allclose(found, logits_of(model.float()), rtol=1e-3, atol=1e-3)
