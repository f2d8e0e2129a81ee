"""Paper tables from whole models and checkpoints on a hub: planted ones of the real names and
vocabularies at reduced width, against numbers computed here in float64."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import embtie_widgets as ew
from embtie_widgets.jobs import papers_lens
from embtie_widgets.jobs.packaged import packaged_counts
from embtie_widgets.requests import BottleneckRequest, LensRequest, ModelRef
from embtie_widgets.results.bottleneck_published import FAMILIES, SIZES
from embtie_widgets.results.tying_published import DRIFT, LENS
from tests.hub_server import HubServer, hub_of
from tests.jobs.test_papers_recorded import by_place, made
from tests.sources.models import saved

PYTHIA = "EleutherAI/pythia-1b"
ROWS, WIDTH = 50_304, 16
STEPS = (0, 1_000, 4_000, 5_000, 15_000)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A running hub without models, and empty caches."""
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    with hub_of(monkeypatch, tmp_path / "home") as running:
        yield running


def neox(seed: int, turned: float) -> Any:
    """A small GPT-NeoX of Pythia's rows, some of it drawn anew."""
    config = hf.GPTNeoXConfig(
        vocab_size=ROWS, hidden_size=WIDTH, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=64, tie_word_embeddings=False,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = hf.GPTNeoXForCausalLM(config)
    for number, matrix in enumerate((model.get_input_embeddings(), model.get_output_embeddings())):
        first, other = (
            torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(s))
            for s in (number, 10 * seed + number + 2)
        )
        matrix.weight.data = first + turned * (number + 1) * other
    return model


def checkpoints(hub: HubServer, folder: Path, steps: tuple[int, ...]) -> dict[int, Any]:
    """Publish them out of order, and `main`; the matrices in float64 by step."""
    found = {}
    for step in sorted(steps, key=lambda s: (s * 7) % 11):
        model = neox(step, step / 20_000)
        hub.add(PYTHIA, saved(model, folder / str(step), max_shard_size="2MB"), f"step{step}")
        found[step] = [
            m.weight.detach().double().numpy()
            for m in (model.get_input_embeddings(), model.get_output_embeddings())
        ]
    hub.add(PYTHIA, folder / str(steps[-1]))
    return found


def cosine(a: Any, b: Any) -> float:
    each = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    return float(each.mean())


def test_drift_is_that_of_the_hubs_checkpoints_and_gaps_are_told(
    hub: HubServer, tmp_path: Path
) -> None:
    """Step 14,000 is not there, so the change over the last interval is not known."""
    matrices = checkpoints(hub, tmp_path / "models", STEPS)
    assert {line.step for line in DRIFT["figure-9"].lines} == {1_000, 5_000, 15_000}
    item = made("figure-9", fetch=True, stand_in=False)
    found = by_place(item)
    for step in (1_000, 5_000, 15_000):
        for place, role in enumerate(("input", "output")):
            number = found[f"step {step:,}", f"{role}, to step 0"]
            expected = cosine(matrices[step][place], matrices[0][place])
            assert number.value == pytest.approx(expected, abs=2e-6)
            assert number.origin == "model"
            assert number.verdict == "differs"
    near = found["step 5,000", "output, to the one before"].value
    assert near == pytest.approx(cosine(matrices[5_000][1], matrices[4_000][1]), abs=2e-6)
    gap = found["step 15,000", "input, to the one before"]
    assert (gap.verdict, gap.value) == ("missing", None)
    assert "14,000" in gap.missing
    assert hub.sent(".safetensors") < 2.2 * len(STEPS) * ROWS * WIDTH * 4


def test_what_was_fetched_is_known_again_without_asking(hub: HubServer, tmp_path: Path) -> None:
    checkpoints(hub, tmp_path / "models", (0, 1_000))
    before = made("figure-9")
    assert hub.requests == []
    assert before.count("stand-in") == 8
    lack = before.numbers[0]
    assert PYTHIA in lack.missing
    assert "14,000" in lack.missing
    assert lack.missing_bytes == 6 * 2 * 2 * ROWS * 2_048
    fetched = made("figure-9", fetch=True)
    hub.forget()
    again = made("figure-9")
    assert hub.requests == []
    assert by_place(again)["step 1,000", "input, to step 0"].origin == "model"
    assert [n.value for n in again.numbers] == [n.value for n in fetched.numbers]


def test_a_hub_that_is_away_leaves_sizes_and_stand_ins(
    hub: HubServer, logged_faults: list[str]
) -> None:
    hub.faults.api = (503, "")
    item = made("figure-9", fetch=True)
    assert item.count("stand-in") == 8
    assert item.count("missing") == 4
    assert all(number.missing_bytes for number in item.numbers)


# Whole models.


def olmo(tied: bool, seed: int) -> Any:
    """A small OLMo with the paper's rows and layers."""
    config = hf.OlmoConfig(
        vocab_size=ROWS, hidden_size=WIDTH, intermediate_size=16, num_hidden_layers=16,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=512,
        tie_word_embeddings=tied, pad_token_id=1, bos_token_id=None, eos_token_id=0,
    )  # fmt: skip
    torch.manual_seed(seed)
    return hf.OlmoForCausalLM(config)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few positions and a closed form instead of a training, as the models are not trained."""

    def fewer(*models: ModelRef, **more: Any) -> LensRequest:
        return LensRequest(*models, **more, positions=60, steps=1, train_tokens=400)

    monkeypatch.setattr(papers_lens, "LensRequest", fewer)


def test_the_lens_reads_the_planted_pair_layer_by_layer(
    hub: HubServer, shared: Path, tmp_path: Path, quick: None
) -> None:
    known = LENS["figure-2"]
    for ref, tied in ((known.untied, False), (known.tied, True)):
        folder = saved(olmo(tied, int(tied)), tmp_path / ref.replace("/", "-"))
        shutil.copy(shared / "data" / "gpt_neox_tokenizer.json", folder / "tokenizer.json")
        hub.add(ref, folder)
    item = made("figure-2", fetch=True, stand_in=False)
    assert {number.origin for number in item.numbers} == {"model"}
    direct = ew.run(
        LensRequest(
            ModelRef(known.untied), ModelRef(known.tied), mode="paper", length=512, positions=60,
            steps=1, train_tokens=400, floor=False,
        )
    )  # fmt: skip
    found = by_place(item)
    for side, column in (("A", "untied"), ("B", "tied")):
        bits = direct.lenses[side].kl_bits
        assert len(bits) == 17
        rows = ["embedding", *(f"layer {i}" for i in range(1, 17))]
        values = [found[row, column].value for row in rows]
        assert values == pytest.approx(bits.tolist())
        assert found["embedding, in the text", column].value == values[0]
    assert found["layer 16", "tied"].value > 0
    assert "Without the two slips of the evaluation it is 0.00." in found["layer 16", "tied"].reason


def test_the_ratio_is_that_of_the_planted_gpt2(hub: HubServer, tmp_path: Path) -> None:
    """r by its definition: the gradient of the loss by the logits, and the kernel of U."""
    config = hf.GPT2Config(vocab_size=50_257, n_embd=WIDTH, n_layer=1, n_head=2, n_positions=128)
    torch.manual_seed(0)
    model = hf.GPT2LMHeadModel(config)
    folder = saved(model, tmp_path / "gpt2")
    write_bytes_tokenizer(folder)
    hub.add("openai-community/gpt2", folder)
    found = by_place(made("bottleneck-ratio", fetch=True, stand_in=False))
    request = BottleneckRequest(model="openai-community/gpt2", gram=2, steps_at=(1.0,))
    measured = ew.run(request).models
    (one,) = (known.bottleneck for known in measured.values())
    head = model.get_output_embeddings().weight.detach().double().numpy()
    basis, _ = np.linalg.qr(head)
    kept, whole, each = 0.0, 0.0, []
    for piece in np.unique(one.piece):
        here = one.piece == piece
        ids, targets = one.ids[here], one.targets[here]
        assert one.place[here].tolist() == list(range(here.sum()))
        with torch.no_grad():
            logits = model.eval()(torch.tensor(ids)[None]).logits[0].double()
        gradient = torch.softmax(logits, -1).numpy()
        gradient[np.arange(len(targets)), targets] -= 1
        visible = ((gradient @ basis) ** 2).sum(1)
        length = (gradient**2).sum(1)
        kept, whole = kept + visible.sum(), whole + length.sum()
        each += np.sqrt(1 - visible / length).tolist()
    family = found["GPT-2", "not transmitted, r"]
    assert family.value == pytest.approx(np.sqrt(1 - kept / whole), abs=1e-5)
    assert family.floor == pytest.approx(np.sqrt(1 - WIDTH / 50_257))
    assert found["GPT-2", "cosine with what is"].value == pytest.approx(
        np.sqrt(kept / whole), abs=1e-4
    )
    assert found["GPT-2, per token", "not transmitted, r"].value == pytest.approx(
        np.mean(each), abs=1e-5
    )
    assert found["GPT-2", "not transmitted, r"].origin == "model"
    other = found["Pythia", "not transmitted, r"]
    assert (other.verdict, other.value) == ("missing", None)
    assert other.floor == pytest.approx(np.sqrt(1 - 512 / 50_304))


def test_a_model_that_cannot_be_run_leaves_the_others(hub: HubServer, tmp_path: Path) -> None:
    """This one has no tokenizer, so no text can be cut for it."""
    config = hf.GPT2Config(vocab_size=50_257, n_embd=WIDTH, n_layer=1, n_head=2, n_positions=128)
    hub.add("openai-community/gpt2", saved(hf.GPT2LMHeadModel(config), tmp_path / "gpt2"))
    found = by_place(made("bottleneck-ratio", fetch=True, stand_in=False))
    number = found["GPT-2", "not transmitted, r"]
    assert (number.verdict, number.value, number.missing) == ("missing", None, "")
    assert "tokenizer" in number.reason
    assert "whole model" in found["Qwen3", "not transmitted, r"].missing


def write_bytes_tokenizer(folder: Path) -> None:
    """One whose tokens are bytes, so that any text can be cut."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(folder / "tokenizer.json"))


def test_what_whole_models_would_weigh_is_said(hub: HubServer) -> None:
    """Of facts that ship where the hub is not asked; nothing is asked."""
    item = made("figure-2", stand_in=False)
    assert hub.requests == []
    assert item.count("missing") == len(item.numbers)
    assert item.numbers[0].missing_bytes == pytest.approx(2 * (1.28e9 + 1.18e9), rel=0.02)
    families = by_place(made("bottleneck-ratio", stand_in=False))
    assert families["GPT-2", "not transmitted, r"].missing_bytes == 2 * 124_439_808
    olmo = families["OLMo 2", "not transmitted, r"]
    assert olmo.missing_bytes == 2 * 1_484_916_736
    assert olmo.floor == pytest.approx((1 - 2_048 / 100_352) ** 0.5)
    assert "taken as 16-bit numbers" in olmo.missing


def test_sizes_of_models_outside_the_catalogue_are_those_of_their_configuration() -> None:
    facts = {
        "model_type": "olmo2", "vocab_size": 100_352, "hidden_size": 2_048,
        "intermediate_size": 8_192, "num_hidden_layers": 16, "num_attention_heads": 16,
        "num_key_value_heads": 16, "tie_word_embeddings": False,
    }  # fmt: skip
    counted, known = ew.parameters(facts), SIZES["allenai/OLMo-2-0425-1B"]
    assert counted.untied == known.parameters
    assert (counted.settings["width"], counted.settings["rows"]) == (known.width, known.rows)
    first = {refs[0] for refs in FAMILIES.values()}
    assert first <= set(packaged_counts()) | set(SIZES)
