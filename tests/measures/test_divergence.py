"""A lens against the final distribution, read a few rows of U at a time."""

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from embtie_widgets.measures import divergence
from embtie_widgets.measures.divergence import BITS, Apart, Final, Point, compare, furthest, highest
from embtie_widgets.measures.head import Head
from embtie_widgets.sources.readout import Readout

ROWS, WIDTH, PLACES = 1000, 16, 300


def head_of(weight: torch.Tensor, bias: torch.Tensor | None = None, **more: float) -> Head:
    return Head(None, None, weight, bias, Readout(None, **more), torch.float32)


@pytest.fixture
def drawn(normal: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda *shape: normal(*shape).float()


@pytest.fixture(params=["all at once", "in parts"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "in parts":
        monkeypatch.setattr(divergence, "_CACHED", 1)
        monkeypatch.setattr(divergence, "_POSITIONS", 7)


def plainly(logits: torch.Tensor, own: torch.Tensor) -> Point:
    """The same by torch's own functions in float64, the whole vocabulary at once."""
    q, p = logits.double().log_softmax(-1), own.double().log_softmax(-1)
    top = p.argmax(-1, keepdim=True)
    kl = functional.kl_div(q, p, log_target=True, reduction="none").sum(-1)
    entropy = torch.distributions.Categorical(logits=q).entropy()
    rank = 1 + (q > q.gather(1, top)).sum(-1)
    shares, likeliest = q.exp().topk(10)
    return Point(kl * BITS, entropy * BITS, rank, rank == 1, likeliest, shares)


def assert_same(found: Point, wanted: Point) -> None:
    for mine, theirs in zip(found[:4], wanted[:4], strict=True):
        assert torch.allclose(mine.double(), theirs.double(), rtol=1e-5, atol=1e-5)
    assert torch.equal(found.likeliest, wanted.likeliest)
    assert torch.allclose(found.shares.double(), wanted.shares, rtol=1e-4, atol=1e-7)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    "more", [{}, {"hidden": 0.25}, {"logits": 0.0625}, {"cap": 3.0}, {"logits": 0.5, "cap": 5.0}]
)
@pytest.mark.parametrize("biased", [False, True])
def test_every_number_is_torchs_own_in_float64(drawn, more, biased) -> None:
    weight, states, own = drawn(ROWS, WIDTH), drawn(PLACES, WIDTH), 2 * drawn(PLACES, ROWS)
    bias = drawn(ROWS) if biased else None
    z = more.get("hidden", 1) * states.double() @ weight.double().T + (bias if biased else 0)
    z = more.get("logits", 1) * z
    z = z if "cap" not in more else more["cap"] * torch.tanh(z / more["cap"])
    head = head_of(weight, bias, **more)
    assert torch.allclose(head.logits(states).double(), z, atol=1e-4)
    assert_same(compare(head, states, Final.of(own.clone()), likeliest=10), plainly(z, own))


@pytest.mark.usefixtures("parts")
def test_logits_of_ten_thousand_are_no_trouble(drawn) -> None:
    """C035."""
    weight, states = drawn(ROWS, WIDTH), drawn(PLACES, WIDTH)
    own = (1e4 * drawn(PLACES, ROWS).clamp(-1, 1)).half().float()
    z = 1e3 * states @ weight.T
    point = compare(head_of(weight, logits=1e3), states, Final.of(own.clone()))
    wanted = plainly(z, own)
    assert torch.allclose(point.kl.double(), wanted.kl, rtol=1e-3)
    assert torch.allclose(point.entropy.double(), wanted.entropy, atol=1e-2)


def test_a_lens_that_says_the_same_has_no_divergence(drawn) -> None:
    head, states = head_of(drawn(ROWS, WIDTH)), drawn(PLACES, WIDTH)
    point = compare(head, states, Final.of(head.logits(states)))
    assert point.kl.max() < 1e-5
    assert point.agrees.all()
    assert (point.rank == 1).all()


@pytest.mark.usefixtures("parts")
def test_rows_that_are_equal_share_a_rank(drawn) -> None:
    weight, states = drawn(ROWS, WIDTH), drawn(PLACES, WIDTH)
    doubled = torch.cat([weight, weight])
    own = torch.cat([2 * drawn(PLACES, ROWS), torch.full((PLACES, ROWS), -50.0)], dim=1)
    final = Final.of(own.clone())
    once = compare(head_of(weight), states, Final.of(own[:, :ROWS].clone()))
    twice = compare(head_of(doubled), states, final)
    assert torch.equal(twice.rank, 2 * once.rank - 1)


def test_a_state_that_is_not_finite_has_no_divergence_and_spoils_no_other(drawn) -> None:
    head, states = head_of(drawn(ROWS, WIDTH)), drawn(PLACES, WIDTH)
    own = 2 * drawn(PLACES, ROWS)
    whole = compare(head, states, Final.of(own.clone()))
    states[3], own[5] = torch.nan, torch.inf
    point = compare(head, states, Final.of(own))
    left = torch.isfinite(point.kl)
    assert left.logical_not().nonzero().flatten().tolist() == [3, 5]
    assert torch.equal(point.kl[left], whole.kl[left])
    assert torch.isfinite(point.entropy).logical_not().nonzero().flatten().tolist() == [3]


def test_the_furthest_logit_is_found_wherever_it_is(drawn) -> None:
    head, states = head_of(drawn(ROWS, WIDTH)), drawn(PLACES, WIDTH)
    own = head.logits(states)
    found = furthest(head, states, own)
    assert found.apart == pytest.approx((0, 0), abs=1e-4)
    assert found.whole == pytest.approx((float(own.abs().max()), float(own.square().mean() ** 0.5)))
    own[-1, -1] += 0.5
    own[0] = torch.nan
    assert furthest(head, states, own).apart.largest == pytest.approx(0.5, abs=1e-3)
    assert furthest(head, torch.full_like(states, torch.inf), own) == Apart()


def test_differences_are_taken_beside_what_all_logits_of_a_position_share(drawn) -> None:
    head, states = head_of(drawn(ROWS, WIDTH)), drawn(PLACES, WIDTH)
    own = head.logits(states)
    off = 0.1 * drawn(PLACES, ROWS)
    shifted = own + off + 50 * drawn(PLACES, 1)
    found = furthest(head, states, shifted)
    apart = off - off.mean(-1, keepdim=True)
    left = shifted - shifted.mean(-1, keepdim=True)
    for size, values in zip(found, (apart, left, shifted), strict=True):
        assert size.largest == pytest.approx(float(values.abs().max()), rel=1e-3)
        assert size.typical == pytest.approx(float(values.square().mean().sqrt()), rel=1e-3)


@pytest.mark.parametrize("columns", [10, 640, 2048, 2050])
def test_the_highest_are_those_that_sorting_finds(drawn, columns) -> None:
    values = drawn(20, columns)
    found, at = highest(values, 10)
    wanted = values.sort(descending=True)
    assert torch.equal(found, wanted.values[:, :10])
    assert torch.equal(at, wanted.indices[:, :10])
