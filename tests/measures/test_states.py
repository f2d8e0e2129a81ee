"""States by hooks: each position of each piece once, whatever stands beside it in the batch."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import embtie_widgets as ew
from embtie_widgets.measures.states import batches, states_of
from embtie_widgets.progress import silent
from tests.measures.lens_models import FAMILIES, PIECES, alone
from tests.sources.models import LLAMA, llama, randomised
from tests.sources.tiny import tiny


def gathered(model: Any, pieces: Sequence[Any], **more: Any) -> dict[tuple[int, int], Any]:
    """(layers + 1, d) states, own logits (V,) and token, by piece and place."""
    found = {}
    for block in states_of(model, pieces, **more):
        states = torch.stack(block.states, dim=1)
        places = zip(block.piece, block.place, strict=True)
        for row, where in enumerate(places):
            assert where not in found
            found[where] = (states[row], block.own[row], block.ids[row])
    return found


@pytest.mark.parametrize("kind", FAMILIES)
def test_padding_and_neighbours_change_nothing(kind: str) -> None:
    model = tiny(kind, False)
    together, single = gathered(model, PIECES), gathered(model, PIECES, tokens_at_once=1)
    assert together.keys() == single.keys()
    for where, (states, own, token) in together.items():
        assert token == PIECES[where[0]][where[1]] == single[where][2]
        assert_near(states, single[where][0])
        assert_near(own, single[where][1])


def assert_near(found: torch.Tensor, alone: torch.Tensor) -> None:
    """Equal up to rounding, which is of the size of the largest numbers of each state."""
    size = alone.abs().amax(-1, keepdim=True).clamp(min=0.1)
    assert ((found - alone).abs() <= 1e-4 * size).all()


def test_own_logits_are_those_of_the_piece_alone() -> None:
    model = llama()
    found = gathered(model, PIECES)
    for number, piece in enumerate(PIECES):
        own = torch.stack([found[number, place][1] for place in range(len(piece))])
        assert torch.allclose(own, alone(model, piece), atol=1e-4)


def test_the_order_of_the_pieces_changes_nothing() -> None:
    model = llama()
    found, turned = gathered(model, PIECES), gathered(model, PIECES[::-1])
    for (piece, place), (states, *_) in found.items():
        assert torch.allclose(states, turned[len(PIECES) - 1 - piece, place][0], atol=1e-5)


@pytest.mark.parametrize(("kind", "factor"), [("gemma", 4.0), ("granite", 12.0), ("llama", 1.0)])
def test_the_first_state_is_the_row_times_the_models_factor(kind: str, factor: float) -> None:
    ratios = ratios_to_rows(tiny(kind, True))
    assert torch.allclose(ratios, torch.full_like(ratios, factor), rtol=1e-3)


@pytest.mark.parametrize("kind", ["bloom", "gpt2"])
def test_the_first_state_is_more_than_the_row_where_the_model_adds_to_it(kind: str) -> None:
    assert ratios_to_rows(tiny(kind, True)).std() > 0.1


def test_gemma_rounds_its_factor_in_bfloat16() -> None:
    config = hf.GemmaConfig(**{**LLAMA, "hidden_size": 48, "head_dim": 8})
    ratios = ratios_to_rows(randomised(hf.GemmaForCausalLM(config)).to(torch.bfloat16))
    assert ratios.median() == pytest.approx(6.9375, rel=4e-3)


def ratios_to_rows(model: Any) -> torch.Tensor:
    block = next(states_of(model, PIECES))
    rows = model.get_input_embeddings().weight.float()[torch.from_numpy(block.ids)]
    assert len(block.states) == 3
    return block.states[0] / rows.detach()


def test_the_last_state_is_taken_before_the_final_norm() -> None:
    model = llama()
    ids = torch.tensor(PIECES[0])[None]
    with torch.no_grad():
        normed = model(ids, output_hidden_states=True).hidden_states[-1][0]
    block = next(states_of(model, PIECES[:1]))
    assert torch.allclose(model.model.norm(block.states[-1]), normed, atol=1e-5)
    assert not torch.allclose(block.states[-1], normed, atol=1e-2)


def test_states_keep_their_values_where_blocks_work_in_place() -> None:
    plain, inplace = llama(), llama()
    second = inplace.model.layers[1]
    second.register_forward_pre_hook(lambda _module, args: (args[0].mul_(3),))
    kept = next(states_of(inplace, PIECES[:1])).states
    assert torch.equal(kept[1], next(states_of(plain, PIECES[:1])).states[1])


def test_the_model_is_left_as_it_was() -> None:
    model = llama().train()
    list(states_of(model, PIECES))
    assert model.training
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_a_broken_off_run_leaves_no_hooks() -> None:
    model = llama()

    def stop(_stage: str, done: int, _total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(states_of(model, PIECES, tokens_at_once=1, progress=stop))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_progress_counts_positions_up_to_all() -> None:
    heard: list[tuple[int, int]] = []
    list(states_of(llama(), PIECES, progress=lambda _s, done, total: heard.append((done, total))))
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert heard[-1] == (31, 31)
    assert silent("", 0, 0) is None


def test_batches_hold_no_more_than_they_may_and_every_piece_once() -> None:
    lengths = [5, 0, 3, 9, 3, 3, 20, 5]
    made = batches(lengths, 10)
    assert sorted(i for batch in made for i in batch) == [0, 2, 3, 4, 5, 6, 7]
    sizes = [len(batch) * max(lengths[i] for i in batch) for batch in made]
    assert all(size <= 10 or len(batch) == 1 for size, batch in zip(sizes, made, strict=True))
    assert len(made) < 7


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ([], "no token"),
        ([[]], "no token"),
        ([[1, 32]], "rows 0 to 31"),
        ([[1, -1]], "rows 0 to 31"),
        ([np.ones(33, int)], "at most 32"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(pieces: Any, words: str) -> None:
    with pytest.raises(ew.EmbtieError, match=words):
        list(states_of(llama(), pieces))


def test_another_thread_may_read_the_same_model_meanwhile() -> None:
    model, others = llama(), [PIECES[2]]
    right, met = gathered(model, PIECES), []

    def meanwhile() -> None:
        met.append(gathered(model, others))

    thread = threading.Thread(target=meanwhile)

    def in_the_middle(*_: Any) -> None:
        if thread.ident is None:
            thread.start()
            thread.join(0.3)

    with removed(model.model.layers[0].register_forward_hook(in_the_middle)):
        found = gathered(model, PIECES)
    thread.join()
    for where, (states, _, _) in found.items():
        assert torch.equal(states, right[where][0])
    for (_, place), (states, _, _) in met[0].items():
        assert torch.allclose(states, right[2, place][0], rtol=1e-3, atol=1e-4)


@contextmanager
def removed(handle: Any) -> Iterator[None]:
    """The hook is taken away again."""
    yield
    handle.remove()
