"""How much of the logit gradient a head transmits: laws, and tables written out in float64."""

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.bottleneck import bottleneck
from embtie_widgets.measures.predicted import IGNORED
from embtie_widgets.sources.model_hash import state_hash
from tests.measures.lens_models import narrow_opt
from tests.measures.test_head_factor import projector
from tests.sources.models import llama, randomised
from tests.sources.tiny import tiny

IDS = torch.tensor([[3, 5, 7, 5, 9, 11], [4, 4, 4, 8, 30, 3]])
# A bias in the head, behind it, scales, caps, no attention, a projection, plain ones.
FAMILIES = ["gpt2", "gptj", "phi", "gemma2", "recurrent_gemma", "cohere", "granite", "bloom",
            "mamba", "opt", "llama"]  # fmt: skip
CAPS = {"gemma2": 3.0, "recurrent_gemma": 3.0}


def written(model: Any, ids: Tensor = IDS, cap: float | None = None) -> tuple[Tensor, Tensor]:
    """G (n, V) and the mean loss by the plain definition, from the model's own logits."""
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits[:, :-1].flatten(0, 1).double()
    targets = ids[:, 1:].flatten()
    G = logits.softmax(-1) - torch.nn.functional.one_hot(targets, logits.shape[1])
    loss = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
    return G if cap is None else G * (1 - (logits / cap).square()), loss


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", FAMILIES)
def test_the_parts_are_those_of_a_projector_in_float64(kind: str, tied: bool) -> None:
    model = tiny(kind, tied)
    found, (G, loss) = bottleneck(model, IDS), written(model, cap=CAPS.get(kind))
    P = projector(model.get_output_embeddings().weight.detach())
    lost = G - G @ P
    assert found.per_position == pytest.approx((lost.norm(dim=1) / G.norm(dim=1)).numpy(), abs=2e-4)
    assert found.destroyed == pytest.approx(float(lost.norm() / G.norm()), abs=1e-4)
    assert found.length == pytest.approx(G.norm(dim=1).numpy(), rel=2e-4)
    assert found.loss == pytest.approx(loss.numpy(), rel=1e-4, abs=1e-5)
    assert found.visible == pytest.approx(P.diagonal().numpy(), abs=1e-5)
    assert found.target_kept == pytest.approx(P.diagonal()[IDS[:, 1:].flatten()].numpy(), abs=1e-5)
    assert found.line == pytest.approx((1 - 16 / 32) ** 0.5)
    assert found.check < 1e-4


def test_a_narrow_projection_before_the_head_is_no_part_of_it() -> None:
    found = bottleneck(narrow_opt(), IDS)
    assert (found.width, found.rank, found.rows) == (4, 4, 32)
    G, _ = written(narrow_opt())
    P = projector(narrow_opt().get_output_embeddings().weight.detach())
    assert found.visible_cosine == pytest.approx(float((G @ P).norm() / G.norm()), abs=1e-5)


def test_both_ratios_square_to_one_and_the_positions_add_up_to_the_whole() -> None:
    found = bottleneck(tiny("llama", False), IDS)
    assert found.destroyed**2 + found.visible_cosine**2 == pytest.approx(1, abs=1e-12)
    assert found.kept_energy == pytest.approx(found.visible_cosine**2, abs=1e-12)
    squares = found.length**2
    whole = (found.per_position**2 * squares).sum() / squares.sum()
    assert found.destroyed == pytest.approx(whole**0.5, abs=1e-9)


def test_a_gradient_without_preference_gives_the_line() -> None:
    model = llama(vocab_size=2_000, hidden_size=64)
    found = bottleneck(model, IDS)
    assert found.line == pytest.approx((1 - 64 / 2_000) ** 0.5)
    assert found.random == pytest.approx(found.line, abs=2e-3)
    assert bottleneck(model, IDS, seed=1).random not in (found.random, found.line)
    # So does a target drawn at random: the mean of the leverages is d / V, whatever the head.
    assert found.visible.mean() == pytest.approx(64 / 2_000, rel=1e-5)


@pytest.mark.parametrize("width", [4, 30])
def test_so_it_does_for_a_small_head(width: int) -> None:
    found = bottleneck(llama(hidden_size=width, num_attention_heads=1, num_key_value_heads=1), IDS)
    assert found.random == pytest.approx((1 - width / 32) ** 0.5, abs=4e-3)


@pytest.mark.parametrize("width", [32, 48])
def test_a_head_as_wide_as_its_vocabulary_transmits_everything(width: int) -> None:
    found = bottleneck(llama(hidden_size=width), IDS, gram=10, steps_at=(1.0,))
    assert found.destroyed == found.random == found.line == 0
    assert not found.per_position.any()
    assert found.visible_cosine == 1
    assert found.rank == 32
    assert found.steps.losses[0, 0] == pytest.approx(found.steps.losses[0, 1])
    assert np.isnan(found.steps.losses[0, 2])


def test_a_tied_and_an_untied_model_with_one_matrix_are_alike() -> None:
    tied, untied = llama(True), llama(False)
    with torch.no_grad():
        for name, value in tied.state_dict().items():
            untied.state_dict()[name].copy_(value)
    one, other = bottleneck(tied, IDS), bottleneck(untied, IDS)
    assert np.array_equal(one.per_position, other.per_position)
    assert one.destroyed == other.destroyed


def test_tokens_in_another_order_change_nothing_but_their_places() -> None:
    model, order = llama(), torch.randperm(32, generator=torch.Generator().manual_seed(0))
    moved = copy.deepcopy(model)
    with torch.no_grad():
        for get in ("get_input_embeddings", "get_output_embeddings"):
            getattr(moved, get)().weight[order] = getattr(model, get)().weight.clone()
    one, other = bottleneck(model, IDS), bottleneck(moved, order[IDS])
    assert other.per_position == pytest.approx(one.per_position, abs=1e-5)
    assert other.visible[order] == pytest.approx(one.visible, abs=1e-6)
    assert np.array_equal(other.targets, order.numpy()[one.targets])


def test_of_a_factorised_head_the_line_of_its_rank_is_told() -> None:
    model, generator = llama(hidden_size=16), torch.Generator().manual_seed(0)
    with torch.no_grad():
        factors = (torch.randn(32, 3, generator=generator), torch.randn(3, 16, generator=generator))
        model.lm_head.weight.copy_(factors[0] @ factors[1])
    found, (G, _) = bottleneck(model, IDS), written(model)
    assert found.rank == 3
    assert found.line == pytest.approx((1 - 16 / 32) ** 0.5)
    assert found.random == pytest.approx((1 - 3 / 32) ** 0.5, abs=0.02)
    assert found.visible.sum() == pytest.approx(3, abs=1e-4)
    assert f"{(1 - 3 / 32) ** 0.5:.4f}" in " ".join(found.notes)
    P = projector(model.lm_head.weight.detach())
    assert found.visible_cosine == pytest.approx(float((G @ P).norm() / G.norm()), abs=1e-5)


def test_labels_say_what_is_predicted_and_where() -> None:
    model = tiny("gpt2", False)
    labels = torch.tensor([[9, IGNORED, 2, 3, IGNORED, 1], [IGNORED, 7, 7, 1, 0, IGNORED]])
    found, usual = bottleneck(model, IDS, labels), bottleneck(model, IDS)
    assert found.targets.tolist() == [2, 3, 1, 7, 7, 1, 0]
    assert found.piece.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert found.place.tolist() == [1, 2, 4, 0, 1, 2, 3]
    assert found.ids.tolist() == [5, 7, 9, 4, 4, 4, 8]
    assert usual.targets.tolist() == IDS[:, 1:].flatten().tolist()
    same = usual.to_frame().merge(found.to_frame(), on=["piece", "place"])
    assert len(same) == 7
    assert not np.allclose(same.destroyed_x, same.destroyed_y)


def test_rows_of_different_lengths_are_each_read_alone() -> None:
    model = tiny("llama", False)
    both = bottleneck(model, [[3, 5, 7, 5, 9], [4, 8]])
    parts = [bottleneck(model, [[3, 5, 7, 5, 9]]), bottleneck(model, [[4, 8]])]
    apart = np.concatenate([part.per_position for part in parts])
    assert both.per_position == pytest.approx(apart, abs=1e-5)


def test_where_the_model_is_all_but_certain_the_part_is_still_exact() -> None:
    model, generator = llama(), torch.Generator().manual_seed(0)
    U = torch.randn(32, 8, generator=generator)
    with torch.no_grad():
        model.lm_head.weight.copy_(40 * U)
        logits = model(input_ids=IDS, use_cache=False).logits[:, :-1].double()
    likely = torch.cat([IDS[:, :1], logits.argmax(-1)], 1)
    labels = torch.cat([torch.full((2, 1), IGNORED), likely[:, 1:]], 1)
    found = bottleneck(model, IDS, labels)
    flat, targets = logits.flatten(0, 1), likely[:, 1:].flatten()
    rest = flat.clone()
    rest[torch.arange(len(rest)), targets] = -torch.inf
    G = rest.softmax(-1)  # the gradient over 1 - p, which is lost in p itself
    G[torch.arange(len(G)), targets] = -1
    lost = G - G @ projector(40 * U)
    assert found.length.min() < 1e-9
    assert found.per_position == pytest.approx((lost.norm(dim=1) / G.norm(dim=1)).numpy(), rel=1e-3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_measured_with_the_head_as_it_is(dtype: torch.dtype) -> None:
    model = copy.deepcopy(tiny("llama", False)).to(dtype)
    found, (G, _) = bottleneck(model, IDS), written(model)
    P = projector(model.get_output_embeddings().weight.detach())
    assert found.destroyed == pytest.approx(float((G - G @ P).norm() / G.norm()), abs=0.02)
    assert found.visible == pytest.approx(P.diagonal().numpy(), abs=1e-5)
    assert found.settings["precision"] == str(dtype).removeprefix("torch.")


def test_the_spectrum_is_that_of_the_gradient_written_out() -> None:
    model = tiny("gemma2", False)
    G, _ = written(model, cap=CAPS["gemma2"])
    found = bottleneck(model, IDS, gram=8).spectrum
    assert found.positions.tolist() == [4, 8]
    for n, rank, components in zip(found.positions, found.rank, found.components, strict=True):
        sizes = torch.linalg.svdvals(G[:n])
        assert rank == int((sizes > 1e-5 * sizes[0]).sum())
        squares = sizes.square().cumsum(0) / sizes.square().sum()
        wanted = [int((squares < share).sum()) + 1 for share in found.shares]
        assert components.tolist() == wanted
    assert found.values == pytest.approx(torch.linalg.svdvals(G[:8]).numpy(), rel=1e-3, abs=1e-6)


def test_the_rank_of_repeated_positions_does_not_grow() -> None:
    found = bottleneck(tiny("gpt2", False), [[5, 7]] * 16, gram=16).spectrum
    assert found.rank.tolist() == [1, 1, 1]
    assert found.components[-1].tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_equal_steps_are_as_long_as_each_other_and_move_the_logits(kind: str) -> None:
    model, cap = tiny(kind, False), CAPS.get(kind)
    found = bottleneck(model, IDS, gram=10, steps_at=(0.25, 2.0)).steps
    G, loss = written(model, cap=cap)
    with torch.no_grad():
        logits = model(input_ids=IDS, use_cache=False).logits[:, :-1].flatten(0, 1).double()
    raw = logits if cap is None else cap * torch.atanh(logits / cap)
    P = projector(model.get_output_embeddings().weight.detach())
    targets = IDS[:, 1:].flatten()
    assert found.before == pytest.approx(float(loss.mean()), rel=1e-5)
    for size, losses in zip((0.25, 2.0), found.losses, strict=True):
        for way, got in zip((G, G @ P, G - G @ P), losses, strict=True):
            moved = raw - size * way * G.norm() / way.norm()
            moved = moved if cap is None else cap * torch.tanh(moved / cap)
            wanted = torch.nn.functional.cross_entropy(moved, targets)
            assert got == pytest.approx(float(wanted), rel=2e-3)


def test_along_the_whole_gradient_a_small_step_buys_the_most() -> None:
    found = bottleneck(llama(vocab_size=300), IDS, gram=10, steps_at=(1e-2,)).steps
    gained = found.before - found.losses[0]
    assert gained[0] > gained[2] > gained[1] > 0  # the transmitted part is the smaller one here
    slopes = gained / gained[0]
    one = bottleneck(llama(vocab_size=300), IDS)
    # To first order a unit step buys its cosine to the gradient.
    assert slopes[1] == pytest.approx(one.visible_cosine, rel=0.05)
    assert slopes[2] == pytest.approx(one.destroyed, rel=0.05)


def test_the_model_is_left_as_it_was() -> None:
    model = copy.deepcopy(tiny("gpt2", False)).train()
    model.transformer.h[0].eval()
    before, modes = state_hash(model), [module.training for module in model.modules()]
    again = bottleneck(model, IDS)
    assert state_hash(model) == before
    assert [module.training for module in model.modules()] == modes
    assert not model.lm_head._forward_pre_hooks
    assert dataclasses.asdict(again)["destroyed"] == bottleneck(model.eval(), IDS).destroyed


def test_numbers_that_are_not_finite_are_told() -> None:
    model = llama()
    with torch.no_grad():
        model.model.norm.weight[0] = float("nan")
    with pytest.raises(EmbtieError, match="not finite"):
        bottleneck(model, IDS)


def test_a_model_that_makes_its_logits_otherwise_is_refused() -> None:
    model = llama()
    own = model.forward

    def other(*args: Any, **named: Any) -> Any:
        made = own(*args, **named)
        if made.logits.shape[1] == 1:
            made.logits = made.logits + torch.arange(32) / 7
        return made

    model.forward = other
    with pytest.raises(EmbtieError, match="own logits"):
        bottleneck(model, IDS)


def test_words_and_names_go_in_and_settings_come_out() -> None:
    found = ew.bottleneck("nano-tied", "The house was old, and the rain fell upon it.", length=8)
    assert found.settings["model"] == "nano-tied"
    assert found.settings["tied"] is True
    assert set(found.hashes) == {"model", "text"}
    assert found.width == 128
    assert len(found.to_frame()) == len(found.per_position)
    assert 0.9 < found.destroyed < 1
    with pytest.raises(EmbtieError, match="without gram"):
        ew.bottleneck("nano-tied", "The house was old.", steps_at=(1.0,))
    with pytest.raises(EmbtieError, match="seed is 'a'"):
        ew.bottleneck("nano-tied", "The house was old.", seed="a")
    with pytest.raises(EmbtieError, match="labels were given for a text"):
        ew.bottleneck("nano-tied", "The house was old.", labels=[[1, 2]])


def test_a_model_drawn_anew_is_another_one() -> None:
    assert bottleneck(randomised(llama(), seed=1), IDS).destroyed != pytest.approx(
        bottleneck(llama(), IDS).destroyed, abs=1e-4
    )
