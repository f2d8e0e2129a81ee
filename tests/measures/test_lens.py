"""What the lens gives, against a forward pass of our own in float64, and laws it has to keep."""

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import embtie_widgets as ew
from embtie_widgets.measures.head import Head
from embtie_widgets.measures.lens import measure_lens
from tests.measures.lens_models import FAMILIES, PIECES, in_float64, narrow_opt
from tests.sources.models import llama
from tests.sources.tiny import tiny

LONG = np.random.default_rng(3).integers(0, 32, (40, 24))


class Affine:
    """Translators drawn at random, near to doing nothing."""

    def __init__(self, layers: int, width: int, size: float = 0.3) -> None:
        generator = torch.Generator().manual_seed(5)
        self.weights = size * torch.randn(layers, width, width, generator=generator)
        self.biases = size * torch.randn(layers, width, generator=generator)

    def __len__(self) -> int:
        return len(self.weights)

    def apply(self, layer: int, states: torch.Tensor) -> torch.Tensor:
        weight, bias = self.weights[layer].to(states), self.biases[layer].to(states)
        return states + states @ weight.T + bias


@pytest.fixture(scope="module")
def exact() -> Any:
    """A llama in float64: its states before the final norm, norm, matrix and final logits."""
    return in_float64(llama())


def by_hand(model: Any, piece: Any) -> tuple[list[torch.Tensor], torch.Tensor]:
    """States and final log-probabilities of a llama, block after block."""
    inner, ids = model.model, torch.tensor(piece)[None]
    state = inner.embed_tokens(ids)
    turns = inner.rotary_emb(state, torch.arange(len(piece))[None])
    hidden = torch.full((len(piece), len(piece)), -torch.inf, dtype=state.dtype).triu(1)
    states = [state]
    for block in inner.layers:
        states.append(
            block(states[-1], attention_mask=hidden[None, None], position_embeddings=turns)
        )
    return [s[0].detach() for s in states], read(model, states[-1][0]).detach()


def read(model: Any, state: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of the llama's own norm and matrix, written out."""
    norm = model.model.norm
    length = (state.square().mean(-1, keepdim=True) + norm.variance_epsilon).sqrt()
    return (state / length * norm.weight @ model.lm_head.weight.T).log_softmax(-1)


def bits(final: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
    return functional.kl_div(lens, final, log_target=True, reduction="none").sum(-1) / math.log(2)


def test_every_number_is_that_of_a_forward_pass_in_float64(exact: Any) -> None:
    lens = measure_lens(llama(), PIECES)
    for number, piece in enumerate(PIECES):
        here = lens.piece == number
        states, final = by_hand(exact, piece)
        assert lens.ids[here].tolist() == list(piece)
        assert lens.place[here].tolist() == list(range(len(piece)))
        for layer, state in enumerate(states):
            kl = bits(final, read(exact, state))
            assert np.allclose(lens.per_token[layer, here], kl.detach(), rtol=1e-4, atol=1e-5)
    assert np.allclose(lens.kl_bits, lens.per_token.mean(1))
    assert np.allclose(lens.drop_bits, -np.diff(lens.kl_bits))


def test_means_of_entropy_rank_and_agreement_are_those_in_float64(exact: Any) -> None:
    lens = measure_lens(llama(), PIECES)
    runs = [by_hand(exact, piece) for piece in PIECES]
    final = torch.cat([said for _, said in runs])
    top = final.argmax(-1, keepdim=True)
    for layer in range(3):
        q = read(exact, torch.cat([states[layer] for states, _ in runs])).detach()
        entropy = -(q.exp() * q).sum(-1).mean() / math.log(2)
        rank = 1 + (q > q.gather(1, top)).sum(-1)
        assert lens.entropy_bits[layer] == pytest.approx(float(entropy), rel=1e-4)
        assert lens.mean_rank[layer] == pytest.approx(float(rank.double().mean()))
        assert lens.agreement[layer] == pytest.approx(float((rank == 1).double().mean()))


def test_shares_and_lengths_of_what_is_written_are_those_in_float64(exact: Any) -> None:
    lens = measure_lens(llama(), PIECES)
    states = [torch.cat(one) for one in zip(*(by_hand(exact, p)[0] for p in PIECES), strict=True)]
    last = states[-1]
    parts = [states[0], states[1] - states[0], states[2] - states[1]]
    shares = [float(((p * last).sum(-1) / (last * last).sum(-1)).mean()) for p in parts]
    lengths = [float((parts[i].norm(dim=-1) / states[i].norm(dim=-1)).mean()) for i in (1, 2)]
    assert lens.share == pytest.approx(shares, rel=1e-4)
    assert lens.write == pytest.approx(lengths, rel=1e-4)
    assert lens.share.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_curve_ends_at_0_in_every_family(kind: str) -> None:
    model = tiny(kind, False)
    lens = measure_lens(model, PIECES)
    assert lens.last_layer_check < 1e-5
    assert lens.kl_bits[-1] < 1e-4
    assert lens.agreement[-1] == lens.mean_rank[-1] == 1
    assert lens.kl_bits[0] > 1e-3
    assert (lens.finite == 31).all()


def test_a_model_without_final_norm_and_with_a_narrow_head_is_read() -> None:
    model = narrow_opt()
    lens = measure_lens(model, PIECES)
    with torch.no_grad():
        said = model(torch.tensor(PIECES[0])[None], output_hidden_states=True)
        state = said.hidden_states[1][0]
        lens_1 = model.lm_head(model.model.decoder.project_out(state)).log_softmax(-1)
        kl = bits(said.logits[0].log_softmax(-1), lens_1)
    assert np.allclose(lens.per_token[1, lens.piece == 0], kl, rtol=1e-3, atol=1e-5)
    assert lens.kl_bits[-1] < 1e-5


def test_translator_l_reads_state_l_and_the_last_state_has_none(exact: Any) -> None:
    translators = Affine(2, 8)
    lens = measure_lens(llama(), PIECES[:1], translators=translators)
    states, final = by_hand(exact, PIECES[0])
    for layer in (0, 1):
        kl = bits(final, read(exact, translators.apply(layer, states[layer])))
        assert np.allclose(lens.per_token[layer], kl.detach(), rtol=1e-3, atol=1e-4)
    assert lens.kl_bits[2] < 1e-5
    assert lens.settings["lens"] == "tuned"


def test_paper_mode_shifts_the_translators_and_norms_the_last_state_twice(exact: Any) -> None:
    translators = Affine(2, 8)
    lens = measure_lens(llama(), PIECES[:1], translators=translators, mode="paper")
    states, final = by_hand(exact, PIECES[0])
    normed = exact.model.norm(states[2]).detach()
    shifted = [(0, states[0]), (0, states[1]), (1, normed)]
    for layer, (number, state) in enumerate(shifted):
        kl = bits(final, read(exact, translators.apply(number, state)))
        assert np.allclose(lens.per_token[layer], kl.detach(), rtol=1e-3, atol=1e-4)
    assert lens.last_layer_check < 1e-5


def test_paper_mode_of_the_logit_lens_is_the_second_norm_alone() -> None:
    paper, corrected = (measure_lens(llama(), PIECES, mode=m) for m in ("paper", "corrected"))
    assert np.array_equal(paper.kl_bits[:2], corrected.kl_bits[:2])
    assert paper.kl_bits[2] > 0.01 > corrected.kl_bits[2]


def test_neither_order_nor_company_of_the_pieces_changes_a_position() -> None:
    lens, turned = (measure_lens(llama(), pieces) for pieces in (PIECES, PIECES[::-1]))
    alone = measure_lens(llama(), PIECES[1:2])
    at = lens.piece == 1
    assert np.allclose(lens.per_token[:, at], turned.per_token[:, turned.piece == 2], atol=1e-5)
    assert np.allclose(lens.per_token[:, at], alone.per_token, atol=1e-5)
    assert np.allclose(lens.kl_bits, turned.kl_bits, atol=1e-5)


def test_a_translator_for_another_number_of_blocks_is_refused() -> None:
    with pytest.raises(ew.EmbtieError, match="3 translators; the model has 2 blocks"):
        measure_lens(llama(), PIECES, translators=Affine(3, 8))


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ew.EmbtieError, match="'corrected' or 'paper'"):
        measure_lens(llama(), PIECES, mode="fixed")


@pytest.mark.parametrize("off", [1.001, 0.5])
def test_the_check_at_the_last_layer_fails_for_a_wrong_norm(
    monkeypatch: pytest.MonkeyPatch, off: float
) -> None:
    right = Head.of(llama())
    wrong = copy.deepcopy(right.norm)
    wrong.weight.data *= off
    monkeypatch.setattr(Head, "of", lambda _model: replace(right, norm=wrong))
    with pytest.raises(ew.EmbtieError, match="last-layer check failed"):
        measure_lens(llama(), PIECES)


def test_the_check_fails_where_a_state_is_changed_behind_the_last_block() -> None:
    model = llama()
    model.model.norm.register_forward_pre_hook(lambda _m, args: (args[0].roll(1, -1),))
    with pytest.raises(ew.EmbtieError, match="last-layer check failed") as caught:
        measure_lens(model, PIECES)
    assert "register_family" in caught.value.hint


def test_readings_are_the_likeliest_tokens_of_each_layer(exact: Any) -> None:
    vocabulary = [bytes([65 + i]) for i in range(20)]
    lens = measure_lens(llama(), PIECES, readings=5, vocabulary=vocabulary)
    found = lens.readings
    states, _ = by_hand(exact, PIECES[0])
    assert found.places.tolist() == [0, 1, 2, 3, 4]
    for layer, state in enumerate(states):
        shares, tokens = read(exact, state[:5]).exp().topk(10)
        assert (found.ids[found.top[layer]] == tokens.numpy()).all()
        assert np.allclose(found.shares[layer], shares.detach(), atol=1e-5)
    known = dict(zip(found.ids.tolist(), found.tokens, strict=True))
    assert known[int(found.ids[0])] == vocabulary[int(found.ids[0])]
    assert all((key is None) == (row >= 20) for row, key in known.items())
    assert lens.tokens[:3] == (b"D", b"E", b"F")


def test_tokens_are_unknown_without_a_vocabulary() -> None:
    lens = measure_lens(llama(), PIECES, readings=2)
    assert set(lens.tokens) == set(lens.readings.tokens) == {None}
    assert measure_lens(llama(), PIECES).readings is None


def test_the_floor_is_not_above_the_lens_at_the_embedding() -> None:
    lens = measure_lens(llama(), LONG, floor=True)
    assert lens.floor.sees == "token"
    assert 0 < lens.floor.bits <= lens.floor.lens_bits
    assert lens.floor.positions + lens.floor.left_out == LONG.size


def test_where_no_floor_is_found_a_sentence_says_why() -> None:
    lens = measure_lens(llama(), PIECES, floor=True)
    assert lens.floor is None
    assert "No information floor" in lens.notes[0]


def test_intervals_hold_the_mean_and_say_what_is_drawn() -> None:
    few, many = measure_lens(llama(), PIECES), measure_lens(llama(), LONG)
    for lens in (few, many):
        assert (lens.intervals[:, 0] <= lens.kl_bits).all()
        assert (lens.kl_bits <= lens.intervals[:, 1]).all()
    assert "positions" in few.settings["interval"]
    assert "pieces" in many.settings["interval"]


def test_results_repeat_bit_for_bit_and_can_be_cancelled() -> None:
    first, second = measure_lens(llama(), PIECES), measure_lens(llama(), PIECES)
    assert np.array_equal(first.per_token, second.per_token)
    assert np.array_equal(first.intervals, second.intervals)

    def stop(_stage: str, done: int, _total: int) -> None:
        if done > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_lens(llama(), PIECES, progress=stop)


def test_frames_carry_every_point_and_position() -> None:
    lens = measure_lens(llama(), PIECES)
    assert lens.to_frame()["kl_bits"].tolist() == lens.kl_bits.tolist()
    assert lens.token_frame().shape == (31, 7)
