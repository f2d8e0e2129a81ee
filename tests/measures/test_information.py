"""The information floor against planted laws and against float64 with all distributions at hand."""

import copy

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

from embtie_widgets.measures import information
from embtie_widgets.measures.head import Head
from embtie_widgets.measures.information import information_floor, no_floor, seen_at_input
from embtie_widgets.measures.lens import measure_lens
from embtie_widgets.measures.states import states_of
from embtie_widgets.requests import CorpusRef, ModelRef
from embtie_widgets.sources.passages import read_pieces
from embtie_widgets.sources.readout import Readout
from embtie_widgets.sources.tokenizing import tokenizer_of
from tests.sources.tiny import tiny

BITS = float(np.log(2))


def plain_head(weight: Tensor) -> Head:
    """Logits are state @ U.T, and nothing else."""
    return Head(None, None, weight, None, Readout(None), torch.float32)


def saying(shares: Tensor) -> tuple[Tensor, Head]:
    """States, one per row of `shares`, at which the head says just these distributions."""
    return shares.clamp_min(1e-30).log().float(), plain_head(torch.eye(shares.shape[1]))


def floor_of(shares: Tensor, ids, places=None, lens_kl=None, same_state=True, **options):
    states, head = saying(shares)
    places = np.zeros(len(ids), int) if places is None else np.asarray(places)
    lens_kl = np.zeros(len(ids)) if lens_kl is None else np.asarray(lens_kl)
    return information_floor(
        states, head, np.asarray(ids), places, lens_kl, same_state=same_state, **options
    )


def drawn(n: int, rows: int, sharpness: float = 3.0, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    logits = sharpness * torch.randn(n, rows, generator=generator, dtype=torch.float64)
    return logits.softmax(-1)


def divergence_bits(shares: Tensor) -> float:
    """Mean KL to the mean, from its definition."""
    mean = shares.mean(0)
    return float((shares * (shares / mean).log()).sum(-1).mean()) / BITS


def test_where_the_token_alone_decides_the_floor_is_zero():
    ids = np.tile(np.arange(5), 20)
    floor = floor_of(drawn(5, 30)[torch.from_numpy(ids)], ids)
    assert floor.bits == pytest.approx(0, abs=1e-12)
    assert floor.estimate == pytest.approx(0, abs=1e-9)
    assert (floor.positions, floor.left_out, floor.tokens) == (100, 0, 5)


def test_two_equally_likely_continuations_leave_one_bit():
    coin = torch.arange(512) % 2
    floor = floor_of(torch.nn.functional.one_hot(coin, 4).double(), np.zeros(512, int))
    assert floor.bits == pytest.approx(1, abs=1e-6)
    assert floor.estimate == pytest.approx(1, abs=2e-3)


def lacking_bits(shares: Tensor) -> float:
    """What so few distributions hide: n - 1 times what one more of them would have added."""
    rest = [torch.arange(len(shares)) != i for i in range(len(shares))]
    without = np.mean([divergence_bits(shares[kept]) for kept in rest])
    return (len(shares) - 1) * (divergence_bits(shares) - without)


def test_it_is_the_mean_divergence_of_all_distributions_of_a_token():
    """Each position counts once, so that a token counts as often as it occurs."""
    ids = np.repeat(np.arange(4), [20, 30, 40, 60])
    shares = drawn(150, 50, sharpness=1.0)
    parts = [shares[torch.from_numpy(ids == token)] for token in range(4)]
    expected = sum(len(part) * divergence_bits(part) for part in parts) / 150
    lacking = sum(len(part) * lacking_bits(part) for part in parts) / 150
    floor = floor_of(shares, ids)
    assert floor.bits == pytest.approx(expected, abs=1e-6)
    assert floor.estimate == pytest.approx(expected + lacking, abs=1e-5)


def test_of_many_occurrences_neighbours_are_left_out_together():
    shares = drawn(192, 30, sharpness=1.0)
    rest = [torch.arange(192) // 3 != part for part in range(64)]
    without = np.mean([divergence_bits(shares[kept]) for kept in rest])
    bits = divergence_bits(shares)
    floor = floor_of(shares, np.zeros(192, int))
    assert floor.estimate == pytest.approx(bits + 63 * (bits - without), abs=1e-5)


def test_large_groups_are_met_in_parts(monkeypatch):
    ids = np.random.default_rng(1).integers(0, 4, 200)
    whole = floor_of(drawn(200, 50), ids)
    monkeypatch.setattr(information, "_NUMBERS", 7 * 50)
    parts = floor_of(drawn(200, 50), ids)
    assert parts.bits == pytest.approx(whole.bits, abs=1e-12)
    assert parts.estimate == pytest.approx(whole.estimate, abs=1e-12)
    assert parts.tokens == whole.tokens == 4


def test_no_distribution_by_token_comes_nearer():
    """The best there is, found by descent on these very positions, ends at the floor."""
    ids = torch.arange(90) % 3
    shares = drawn(90, 12)
    floor = floor_of(shares, ids.numpy())
    logits = torch.zeros(3, 12, dtype=torch.float64, requires_grad=True)
    for _ in range(600):
        said = logits.log_softmax(-1)[ids]
        mean_kl = (shares * (shares.log() - said)).sum(-1).mean() / BITS
        (slope,) = torch.autograd.grad(mean_kl, logits)
        logits = (logits - 6 * slope).detach().requires_grad_()
    assert floor.bits == pytest.approx(float(mean_kl.detach()), abs=1e-4)
    assert floor.bits <= float(mean_kl.detach()) + 1e-7


def test_order_of_the_positions_changes_nothing():
    ids = np.random.default_rng(2).integers(0, 6, 300)
    order = np.random.default_rng(3).permutation(300)
    shares, lens_kl = drawn(300, 40), np.random.default_rng(4).random(300)
    one = floor_of(shares, ids, lens_kl=lens_kl)
    other = floor_of(shares[torch.from_numpy(order)], ids[order], lens_kl=lens_kl[order])
    assert other.bits == pytest.approx(one.bits, abs=1e-12)
    assert other.interval == pytest.approx(one.interval, abs=1e-12)
    assert other.lens_bits == pytest.approx(one.lens_bits, abs=1e-12)


@pytest.mark.parametrize("n", [8, 16])
def test_the_estimate_lacks_less_than_the_bound(n):
    """Of draws from a law with a known divergence, on average over many texts."""
    endless = drawn(4000, 20, sharpness=1.0, seed=9)
    truth = divergence_bits(endless)
    dice = np.random.default_rng(n)
    texts = [endless[torch.from_numpy(dice.integers(0, 4000, 40 * n))] for _ in range(5)]
    floors = [floor_of(text, np.repeat(np.arange(40), n)) for text in texts]
    bits, estimate = (np.mean([getattr(f, name) for f in floors]) for name in ("bits", "estimate"))
    assert bits < truth
    assert abs(estimate - truth) < 0.3 * (truth - bits)


def test_there_is_no_estimate_where_the_answers_of_a_token_share_nothing():
    floor = floor_of(torch.eye(64, dtype=torch.float64), np.zeros(64, int))
    assert floor.bits == pytest.approx(6, abs=1e-4)
    assert floor.estimate is None


def test_rare_tokens_are_left_out_and_counted():
    ids = np.array([7] * 10 + [8] * 8 + [9] * 7 + [1, 2])
    lens_kl = np.where(ids == 9, 100.0, 2.0)
    floor = floor_of(drawn(27, 10), ids, lens_kl=lens_kl)
    assert (floor.positions, floor.left_out) == (18, 9)
    assert (floor.tokens, floor.tokens_left_out, floor.least) == (2, 3, 8)
    assert floor.lens_bits == 2


def test_what_is_not_finite_takes_no_part():
    ids, lens_kl = np.zeros(20, int), np.zeros(20)
    lens_kl[3] = np.nan
    shares = drawn(20, 10)
    states, head = saying(shares)
    states[5] = torch.inf
    floor = information_floor(states, head, ids, ids, lens_kl, same_state=True)
    kept = [i for i in range(20) if i not in (3, 5)]
    assert (floor.positions, floor.left_out) == (18, 2)
    assert floor.bits == pytest.approx(divergence_bits(shares[kept]), abs=1e-5)


def test_a_lens_that_sees_the_place_is_measured_by_token_and_place():
    """The place tells the continuation, so a lens that sees it can know everything."""
    places = np.tile([0, 1], 40)
    shares = torch.nn.functional.one_hot(torch.from_numpy(places), 4).double()
    alone = floor_of(shares, np.zeros(80, int), places)
    placed = floor_of(shares, np.zeros(80, int), places, same_state=False)
    assert alone.bits == pytest.approx(1, abs=1e-6)
    assert placed.bits == pytest.approx(0, abs=1e-9)
    assert (alone.sees, placed.sees) == ("token", "token and position")
    assert (alone.tokens, placed.tokens) == (1, 2)


def test_there_is_no_floor_where_hardly_any_token_comes_again():
    assert floor_of(drawn(30, 10), np.arange(30)) is None
    mostly_once = np.concatenate([np.zeros(8, int), np.arange(1, 200)])
    assert floor_of(drawn(207, 10), mostly_once) is None
    assert "8 times" in no_floor("token")
    assert "context" in no_floor("context")


def test_the_interval_is_of_the_tokens_and_unknown_for_one_alone():
    ids = np.repeat(np.arange(30), 10)
    floor = floor_of(drawn(300, 10), ids)
    assert floor.interval[0] < floor.bits < floor.interval[1]
    assert floor.interval == floor_of(drawn(300, 10), ids).interval
    assert np.isnan(floor_of(drawn(20, 10), np.zeros(20, int)).interval).all()


def test_progress_is_told_and_may_stop_the_work(monkeypatch):
    monkeypatch.setattr(information, "_NUMBERS", 100)
    told = []
    floor_of(drawn(40, 10), np.zeros(40, int), progress=lambda *said: told.append(said[1:]))
    assert told == [(0, 40), (10, 40), (20, 40), (30, 40), (40, 40)]

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        floor_of(drawn(40, 10), np.zeros(40, int), progress=stop)


def test_what_a_lens_sees_at_the_input_is_measured():
    ids, places = np.tile(np.arange(4), 6), np.repeat(np.arange(3), 8)
    tokens, positions = torch.randn(4, 8), torch.randn(3, 8)
    by_token = tokens[torch.from_numpy(ids)]
    by_both = by_token + positions[torch.from_numpy(places)]
    assert seen_at_input(by_token, ids, places) == "token"
    assert seen_at_input(by_both, ids, places) == "token and position"
    assert seen_at_input(by_both + 0.01 * torch.randn(24, 8), ids, places) == "context"


def test_a_state_that_is_not_finite_does_not_say_that_places_differ():
    states = torch.ones(16, 4)
    states[3] = torch.nan
    assert seen_at_input(states, np.zeros(16, int), np.arange(16)) == "token"


@pytest.mark.parametrize(
    ("kind", "sees"),
    [
        ("gpt2", "token and position"),
        ("opt", "token and position"),
        ("bloom", "token"),
        ("llama", "token"),
        ("gemma", "token"),
        ("gpt_neox", "token"),
    ],
)
def test_models_show_what_a_lens_sees_of_them(kind, sees):
    """Learned positions show, a norm or a factor after the table makes no difference."""
    pieces = np.random.default_rng(0).integers(3, 9, (6, 12))
    blocks = list(states_of(tiny(kind, False), list(pieces), tokens_at_once=24))
    states = torch.cat([block.states[0] for block in blocks])
    ids, places = (np.concatenate([getattr(b, key) for b in blocks]) for key in ("ids", "place"))
    assert seen_at_input(states, ids, places) == sees


def test_on_the_bundled_pair_it_is_what_float64_finds_and_the_lens_is_not_below():
    name = "nano-untied"
    folder = information.__file__.replace("measures/information.py", f"data/nano/{name}")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = tokenizer_of(ModelRef(name))
    text = {"length": 64, "tokens": 640, "train_tokens": 0}
    pieces, _ = read_pieces(CorpusRef(), "", tokenizer, **text)
    lens = measure_lens(model, pieces.ids, floor=True)
    with torch.no_grad():
        exact = copy.deepcopy(model).double()
        logits = [exact(input_ids=torch.from_numpy(ids)[None]).logits[0] for ids in pieces.ids]
    shares, ids = torch.cat(logits).softmax(-1), np.concatenate(pieces.ids)
    tokens, counts = np.unique(ids, return_counts=True)
    parts = [shares[torch.from_numpy(ids == token)] for token in tokens[counts >= 8]]
    expected = sum(len(part) * divergence_bits(part) for part in parts) / sum(map(len, parts))
    assert lens.floor.bits == pytest.approx(expected, abs=1e-5)
    assert lens.floor.positions == sum(map(len, parts))
    assert lens.floor.bits < lens.floor.lens_bits
