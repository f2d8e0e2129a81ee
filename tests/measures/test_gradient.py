"""Numbers of two parts of a gradient: by hand, and as laws."""

import math

import numpy as np
import pytest
import torch

from embtie_widgets.measures.gradient import (
    band_numbers,
    flow_numbers,
    moment,
    row_numbers,
    row_products,
    scatter_rows,
    update_products,
)

PARTS = ("input_norm", "output_norm", "total_norm")


def random_parts(seed: int = 0, rows: int = 50, width: int = 6) -> tuple[torch.Tensor, ...]:
    drawn = torch.randn(2, rows, width, generator=torch.Generator().manual_seed(seed))
    return drawn[0].double(), drawn[1].double()


def test_two_rows_worked_by_hand() -> None:
    g_in, g_out = torch.tensor([[3.0, 0], [0, 0]]), torch.tensor([[0.0, 4], [0, 12]])
    found = flow_numbers(row_products(g_in, g_out), proxy=5.0)
    assert found["input_norm"] == 3
    assert found["output_norm"] == pytest.approx(160**0.5)
    assert found["total_norm"] == 13
    assert found["cosine"] == 0
    assert found["output_share"] == pytest.approx(160 / 169)
    assert found["norm_share"] == pytest.approx(160**0.5 / (3 + 160**0.5))
    assert found["proxy_norm"] == 5
    assert found["proxy_share"] == pytest.approx(160**0.5 / (5 + 160**0.5))


def test_the_numbers_are_those_of_the_definitions() -> None:
    g_in, g_out = random_parts()
    found, total = flow_numbers(row_products(g_in, g_out)), g_in + g_out
    assert found["total_norm"] == pytest.approx(float(total.norm()))
    assert found["output_share"] == pytest.approx(float((g_out * total).sum() / total.norm() ** 2))
    cosine = float((g_in * g_out).sum() / g_in.norm() / g_out.norm())
    assert found["cosine"] == pytest.approx(cosine)


def test_the_shares_of_both_ways_are_one_together() -> None:
    g_in, g_out = random_parts(1)
    one, other = (flow_numbers(row_products(a, b)) for a, b in ((g_in, g_out), (g_out, g_in)))
    for share in ("output_share", "norm_share"):
        assert one[share] + other[share] == pytest.approx(1)
    assert one["cosine"] == pytest.approx(other["cosine"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_narrower_types_are_added_up_widely(dtype: torch.dtype) -> None:
    g_in, g_out = (part.to(dtype) for part in random_parts(2, rows=400))
    narrow = flow_numbers(row_products(g_in, g_out))
    wide = flow_numbers(row_products(g_in.double(), g_out.double()))
    assert narrow == pytest.approx(wide, rel=1e-6)


def test_parts_that_nearly_cancel_keep_their_sum() -> None:
    g_in, _ = random_parts(3)
    small = 1e-6 * random_parts(4)[0]
    found = flow_numbers(row_products(g_in, small - g_in))
    assert found["total_norm"] == pytest.approx(float(small.norm()), rel=1e-6)


def test_a_share_of_nothing_is_no_number() -> None:
    zero, some = torch.zeros(2, 3), torch.ones(2, 3)
    nothing = flow_numbers(row_products(zero, zero))
    assert all(nothing[name] == 0 for name in PARTS)
    assert all(math.isnan(nothing[name]) for name in ("cosine", "output_share", "norm_share"))
    output_only = flow_numbers(row_products(zero, some))
    assert (output_only["output_share"], output_only["norm_share"]) == (1, 1)
    assert math.isnan(output_only["cosine"])
    input_only = flow_numbers(row_products(some, zero))
    assert (input_only["output_share"], input_only["norm_share"]) == (0, 0)


def test_bands_are_the_numbers_of_their_rows_alone() -> None:
    g_in, g_out = random_parts(5)
    band = torch.arange(50) % 4 - 1
    found = band_numbers(row_products(g_in, g_out), band, 4)
    for number in range(3):
        alone = flow_numbers(row_products(g_in[band == number], g_out[band == number]))
        assert {name: values[number] for name, values in found.items()} == pytest.approx(
            {name: alone[name] for name in found}
        )
    assert np.isnan(found["output_share"][3])
    assert found["input_norm"][3] == 0


def test_squares_of_bands_sum_to_the_square_of_all() -> None:
    products = row_products(*random_parts(6))
    found = band_numbers(products, torch.arange(50) % 3, 3)
    for name in ("input_norm", "output_norm"):
        assert (found[name] ** 2).sum() == pytest.approx(flow_numbers(products)[name] ** 2)


def test_rows_over_steps_are_root_mean_squares() -> None:
    steps = [random_parts(seed) for seed in (7, 8, 9)]
    products = [row_products(*parts) for parts in steps]
    found = row_numbers(products[0] + products[1] + products[2], 3, torch.full((50,), 2))
    squares = torch.stack([g_in.square().sum(1) for g_in, _ in steps]).mean(0)
    assert np.allclose(found["input"], squares.sqrt())
    dots = sum((g_out * (g_in + g_out)).sum(1) for g_in, g_out in steps)
    totals = sum((g_in + g_out).square().sum(1) for g_in, g_out in steps)
    assert np.allclose(found["output_share"], dots / totals)
    assert found["times"].tolist() == [2] * 50


def test_rows_without_an_input_part_belong_to_the_output_alone() -> None:
    _, g_out = random_parts(10)
    g_in = torch.zeros_like(g_out)
    found = row_numbers(row_products(g_in, g_out), 1, torch.zeros(50))
    assert (found["output_share"] == 1).all()
    assert (found["norm_share"] == 1).all()


def test_scattering_sums_repeats_and_leaves_absent_rows_at_nothing() -> None:
    ids = torch.tensor([[3, 1, 3], [0, 3, 1]])
    grads = torch.randn(2, 3, 4, dtype=torch.float64)
    found = scatter_rows(ids, grads, 6)
    one_hot = torch.nn.functional.one_hot(ids.flatten(), 6).double()
    assert torch.allclose(found, one_hot.T @ grads.reshape(-1, 4), atol=1e-15)
    assert not found[[2, 4, 5]].any()
    scatter_rows(ids, grads, 6, into=found)
    assert torch.allclose(found, 2 * one_hot.T @ grads.reshape(-1, 4), atol=1e-15)


def test_many_repeats_in_half_precision_are_added_up_in_float32() -> None:
    grads = torch.full((5_000, 2), 0.01).bfloat16()
    found = scatter_rows(torch.zeros(5_000, dtype=torch.long), grads, 2)
    assert found.dtype == torch.float32
    assert found[0, 0] == pytest.approx(5_000 * float(grads[0, 0]), rel=1e-5)


def test_the_parts_of_an_update_are_those_of_adams_own_steps() -> None:
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(7, 3, dtype=torch.float64))
    optimiser = torch.optim.AdamW([weight], lr=0.03, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.1)
    m_in, m_out = torch.zeros(2, 7, 3, dtype=torch.float64)
    for step in (1, 2, 3):
        g_in, g_out, clip = torch.randn(7, 3), torch.randn(7, 3), 0.7
        weight.grad = (g_in + g_out).double() * clip
        before = weight.detach().clone()
        optimiser.step()
        moment(m_in, g_in, 0.8, clip)
        moment(m_out, g_out, 0.8, torch.tensor(clip))
        state, group = optimiser.state[weight], optimiser.param_groups[0]
        assert torch.allclose(m_in + m_out, state["exp_avg"], atol=1e-8)
        adam = state["exp_avg_sq"], step, group
        found = update_products(m_in, m_out, (adam, adam))
        moved = weight.detach() - before * (1 - 0.03 * 0.1)
        assert torch.allclose(found.total, moved.square().sum(1), rtol=1e-6)
        root = (state["exp_avg_sq"] / (1 - 0.9**step)).sqrt() + 1e-6
        update = -0.03 * m_out / (1 - 0.8**step) / root
        assert torch.allclose(found.output, update.square().sum(1), rtol=1e-9)
        assert torch.allclose(found.cross, (update * moved).sum(1), rtol=1e-6, atol=1e-9)


def test_each_matrix_of_an_untied_model_has_an_adam_of_its_own() -> None:
    firsts, seconds = torch.randn(2, 5, 3).double(), torch.rand(2, 5, 3).double()
    group = {"lr": 1.0, "betas": (0.0, 0.0), "eps": 0.0}
    adams = (seconds[0], 1, group), (seconds[1], 4, group | {"lr": 2.0})
    found = update_products(firsts[0], firsts[1], adams)
    assert torch.allclose(found.input, (firsts[0] ** 2 / seconds[0]).sum(1))
    assert torch.allclose(found.output, (4 * firsts[1] ** 2 / seconds[1]).sum(1))


def test_blocks_of_a_matrix_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = random_parts(11)
    whole = row_products(*parts)
    monkeypatch.setattr("embtie_widgets.measures.gradient._AT_ONCE", 20)
    for one, other in zip(whole._all(), row_products(*parts)._all(), strict=True):
        assert torch.equal(one, other)
