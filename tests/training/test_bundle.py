import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from embtie_widgets.errors import EmbtieError
from embtie_widgets.training.corpus import (
    END_OF_TEXT,
    corpus_from_documents,
    read_text,
    split_documents,
)
from embtie_widgets.training.engine import held_out_loss
from embtie_widgets.training.nano import BUNDLED, HELD_OUT, SAMPLE, NanoText, train_nano
from embtie_widgets.training.store import read_checkpoints

PROVENANCE = json.loads((BUNDLED / "provenance.json").read_text(encoding="utf-8"))
Matrix = np.ndarray[Any, np.dtype[np.float64]]


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return {
        name: AutoModelForCausalLM.from_pretrained(BUNDLED / f"nano-{name}", dtype=torch.float32)
        for name in ("tied", "untied")
    }


@pytest.fixture(scope="module")
def matrices(models: dict[str, Any]) -> dict[str, Matrix]:
    found = {
        "in": models["untied"].get_input_embeddings(),
        "out": models["untied"].get_output_embeddings(),
        "tied": models["tied"].get_input_embeddings(),
    }
    return {name: module.weight.detach().double().numpy() for name, module in found.items()}


def shipped() -> dict[str, Path]:
    return {
        path.relative_to(BUNDLED).as_posix(): path
        for path in BUNDLED.rglob("*")
        if path.is_file() and path.name != "provenance.json"
    }


def test_every_shipped_file_is_the_one_that_the_provenance_names() -> None:
    found = {name: hashlib.sha256(p.read_bytes()).hexdigest() for name, p in shipped().items()}
    assert found == PROVENANCE["files"]


def test_the_bundle_stays_below_24_megabytes() -> None:
    assert sum(path.stat().st_size for path in shipped().values()) < 24e6


def test_the_provenance_says_how_to_make_the_pair_again() -> None:
    assert PROVENANCE["command"].startswith("embtie train-nano --corpus ")
    assert PROVENANCE["settings"]["seed"] == PROVENANCE["seed"]
    assert not PROVENANCE["settings"]["share_start"]
    assert {"python", "torch", "transformers", "tokenizers"} <= set(PROVENANCE["versions"])
    curve = PROVENANCE["loss_curve"]
    assert len(curve["step"]) == len(curve["tied"]) == len(curve["untied"]) > 20


def test_the_tied_model_is_tied_and_the_untied_one_is_not(models: dict[str, Any]) -> None:
    for name, model in models.items():
        shared = model.get_input_embeddings().weight is model.get_output_embeddings().weight
        assert shared == (name == "tied") == model.config.tie_word_embeddings
    stored = {name: set(load_file(BUNDLED / f"nano-{name}/model.safetensors")) for name in models}
    assert stored["untied"] - stored["tied"] == {"lm_head.weight"}


def test_both_carry_the_same_tokenizer_and_it_loses_no_byte() -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        pair = [(BUNDLED / f"nano-{kind}" / name).read_bytes() for kind in ("tied", "untied")]
        assert pair[0] == pair[1]
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED / "nano-tied")
    text = "To be, or not to be: naïve 測試\n\tends."
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    assert tokenizer.eos_token == END_OF_TEXT
    assert len(tokenizer) == 4096


@pytest.mark.parametrize("name", ["tied", "untied"])
def test_the_shipped_model_has_the_held_out_loss_of_the_provenance(
    models: dict[str, Any], name: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED / f"nano-{name}").backend_tokenizer
    documents = split_documents(read_text(BUNDLED / HELD_OUT))
    corpus = corpus_from_documents(documents, tokenizer, "held out")
    loss = held_out_loss(models[name].eval(), corpus, batch=16, length=128)
    assert loss == pytest.approx(PROVENANCE["held_out_loss"][name], abs=1e-3)
    assert PROVENANCE["held_out_loss"][name] < PROVENANCE["uniform_loss"] - 3


def test_counts_are_those_of_the_training_text() -> None:
    counts = np.load(BUNDLED / "token_counts.npy")
    assert counts.dtype == np.int64
    assert counts.shape == (4096,)
    assert counts.sum() == PROVENANCE["corpus"]["training_tokens"]
    assert counts[0] == PROVENANCE["corpus"]["training_documents"]


def test_nothing_of_the_held_out_text_is_in_the_sample() -> None:
    sample = read_text(BUNDLED / SAMPLE)
    held_out = [line for line in read_text(BUNDLED / HELD_OUT).splitlines() if len(line) > 60]
    assert len(held_out) > 500
    assert sum(line in sample for line in held_out) < 0.01 * len(held_out)


def test_checkpoints_begin_at_the_start_and_end_before_the_final_weights() -> None:
    stored = read_checkpoints(BUNDLED / "checkpoints")
    steps = PROVENANCE["settings"]["steps"]
    assert list(stored) == [step for step in PROVENANCE["settings"]["checkpoints"] if step < steps]
    for kept in stored.values():
        assert {name: tuple(m.shape) for name, m in kept.items()} == dict.fromkeys(
            ("input", "output", "tied"), (4096, 128)
        )
        assert all(m.dtype == torch.float16 for m in kept.values())


def test_the_three_matrices_start_unrelated() -> None:
    start = {k: m.double().numpy() for k, m in read_checkpoints(BUNDLED / "checkpoints")[0].items()}
    chance = 8 / (3 * np.pi) * np.sqrt(128 / 4096)
    for a, b in (("input", "output"), ("output", "tied"), ("input", "tied")):
        assert abs(np.corrcoef(start[a].ravel(), start[b].ravel())[0, 1]) < 0.01
        assert alignment(start[a], start[b], "orthogonal") == pytest.approx(chance, abs=0.01)


def alignment(x: Matrix, y: Matrix, kind: str) -> float:
    """The mean cosine after centring and the best map, in plain numpy."""
    x, y = x - x.mean(0), y - y.mean(0)
    if kind == "orthogonal":
        left, _, right = np.linalg.svd(x.T @ y)
        mapped = x @ left @ right
    else:
        mapped = x @ np.linalg.lstsq(x, y, rcond=None)[0]
    lengths = np.linalg.norm(mapped, axis=1) * np.linalg.norm(y, axis=1)
    return float(((mapped * y).sum(1) / lengths).mean())


@pytest.mark.parametrize("kind", ["orthogonal", "linear"])
def test_the_tied_matrix_is_nearer_the_output_than_the_input_and_both_beat_chance(
    matrices: dict[str, Matrix], kind: str
) -> None:
    out, into = (alignment(matrices[role], matrices["tied"], kind) for role in ("out", "in"))
    shuffled = matrices["tied"][np.random.default_rng(0).permutation(4096)]
    floor = alignment(matrices["in"], shuffled, kind)
    assert out > into + 0.2
    assert into > floor + 0.05


def test_the_command_makes_such_a_bundle_from_the_bundled_sample(tmp_path: Path) -> None:
    stages: list[str] = []
    folder = train_nano(tmp_path / "pair", 2, progress=lambda stage, *_: stages.append(stage))
    made = json.loads((folder / "provenance.json").read_text())
    later = ("checkpoints/", "lens-")  # the lenses are trained on the pair, afterwards
    expected = {name for name in PROVENANCE["files"] if not name.startswith(later)}
    assert set(made["files"]) == expected | {"checkpoints/step-000000.safetensors"}
    assert made["corpus"]["name"] == SAMPLE
    assert str(tmp_path) not in (folder / "provenance.json").read_text()
    assert list(dict.fromkeys(stages)) == [
        "reading the text",
        "training the tokenizer",
        "cutting the text into tokens",
        "training untied",
        "training tied",
        "measuring the loss on text held out",
    ]


def test_each_document_is_either_trained_on_or_held_out() -> None:
    text = NanoText.read(BUNDLED / SAMPLE)
    whole = split_documents(read_text(BUNDLED / SAMPLE))
    assert not set(text.training) & set(text.held_out)
    assert sorted([*text.training, *text.held_out]) == sorted(whole)
    assert 0 < len(text.held_out) < 0.1 * len(whole)


def test_a_text_too_short_to_hold_any_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("Too short.")
    with pytest.raises(EmbtieError, match=r"short\.txt"):
        train_nano(tmp_path / "pair", 2, tmp_path / "short.txt")
