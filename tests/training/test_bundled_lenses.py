import json
from pathlib import Path
from typing import Any

import pytest
import torch

from embtie_widgets.measures.lens import measure_lens
from embtie_widgets.requests import CorpusRef
from embtie_widgets.sources.models import open_model
from embtie_widgets.sources.passages import read_pieces
from embtie_widgets.training import bundled_lenses
from embtie_widgets.training.bundled_lenses import train_bundled, write_bundled
from embtie_widgets.training.nano import BUNDLED
from embtie_widgets.training.translators import Translators, load_lens

KINDS = ["tied", "untied"]


def opened(kind: str) -> Any:
    return open_model(f"nano-{kind}", device="cpu", precision="float32")


def shipped(kind: str) -> Translators:
    return load_lens(BUNDLED / f"lens-{kind}.safetensors", opened(kind).model)


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_lens_is_small_and_says_how_it_was_made(kind: str) -> None:
    lens = shipped(kind)
    assert (BUNDLED / f"lens-{kind}.safetensors").stat().st_size < 300_000
    settings = lens.settings
    assert settings["command"].startswith("python -m embtie_widgets.training.bundled_lenses")
    assert settings["seed"] == 0
    assert settings["held_text"] != settings["text"]
    assert len(settings["held_kl_bits"]) == len(lens) == 2
    assert {"unembedding", "model", "text", "held_text"} <= set(lens.hashes)
    assert lens.hashes["model"] == opened(kind).hashes["model"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_lens_has_the_kl_that_it_says_on_text_that_nobody_learned_from(
    kind: str,
) -> None:
    model, lens = opened(kind), shipped(kind)
    held, _ = read_pieces(
        CorpusRef(""), "", model.tokenizer, length=128, tokens=2_000, train_tokens=0
    )
    assert held.sha256 == lens.hashes["held_text"]
    few = held.ids[: lens.settings["held_positions"] // 128]
    found = measure_lens(model.model, few, translators=lens)
    assert found.kl_bits[:-1] == pytest.approx(lens.settings["held_kl_bits"], abs=1e-3)
    plain = measure_lens(model.model, few)
    assert (found.kl_bits[:-1] < 0.5 * plain.kl_bits[:-1]).all()


def test_the_lens_of_the_one_does_not_fit_the_other() -> None:
    assert "another output matrix" in str(shipped("tied").fits(opened("untied").model))


def test_the_command_makes_such_a_lens_and_notes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = lambda kind, progress: train_bundled(kind, 2, 2_000, progress)  # noqa: E731
    monkeypatch.setattr(bundled_lenses, "train_bundled", short)
    (tmp_path / "provenance.json").write_text('{"files": {"z": "0"}}')
    write_bundled(tmp_path, ["tied"])
    made, known = load_lens(tmp_path / "lens-tied.safetensors"), shipped("tied")
    assert set(made.settings) == set(known.settings)
    assert torch.isfinite(made.weights).all()
    record = json.loads((tmp_path / "provenance.json").read_text())
    assert list(record["files"]) == ["lens-tied.safetensors", "z"]
    assert record["lenses"]["command"] == made.settings["command"]
