"""Numbers of logits and of the mean row, as a run logs them."""

import math

import pytest
import torch

from embtie_widgets.measures import logits as logits_module
from embtie_widgets.measures.logits import (
    logit_numbers,
    logit_sums,
    matrix_means,
    numbers_of_sums,
)
from embtie_widgets.measures.means import mean_share


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logits_module, "AT_ONCE", 100)


def _drawn(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def test_each_position_is_taken_over_the_vocabulary_first() -> None:
    found = logit_numbers(torch.tensor([[1.0, 3.0], [-8.0, 0.0]]))
    assert found["logit_mean"] == -1.0  # of 2 and -4
    assert found["logit_mean_spread"] == 3.0
    assert found["logit_std"] == 2.5  # of 1 and 4
    assert found["logit_max"] == 5.5  # of 3 and 8
    assert found["common_fraction"] == pytest.approx(20 / 37)  # (4 + 16) / (4 + 16 + 1 + 16)


def test_blocks_and_batches_add_up(small_blocks: None) -> None:
    logits = _drawn(3, 7, 30) + 2
    flat = logits.reshape(-1, 30)
    found = logit_numbers(logits)
    assert found["logit_mean"] == pytest.approx(float(flat.mean()))
    assert found["logit_std"] == pytest.approx(float(flat.std(1, correction=0).mean()))
    assert found["logit_max"] == pytest.approx(float(flat.abs().amax(1).mean()))
    assert found["logit_mean_spread"] == pytest.approx(float(flat.mean(1).std(correction=0)))
    together = sum((logit_sums(part) for part in logits), start=torch.zeros(6))
    assert numbers_of_sums(together) == pytest.approx(found)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_shift_of_a_thousand_leaves_the_spread_over_the_vocabulary(kind: torch.dtype) -> None:
    shifted = (_drawn(4, 500) * 3 + 1000).to(kind)
    found, exact = logit_numbers(shifted), shifted.double()
    assert found["logit_std"] == pytest.approx(float(exact.std(1, correction=0).mean()), rel=1e-5)
    spread = float(exact.mean(1).std(correction=0))
    assert found["logit_mean_spread"] == pytest.approx(spread, rel=1e-3)
    assert found["common_fraction"] > 0.9999


def test_logits_without_common_part_have_none_and_no_rows_have_no_numbers() -> None:
    assert logit_numbers(torch.tensor([[-1.0, 1.0]]))["common_fraction"] == 0.0
    assert math.isnan(logit_numbers(torch.zeros(2, 3))["common_fraction"])
    assert logit_numbers(torch.zeros(0, 3)) == {}


def test_logits_that_have_overflowed_are_not_numbers() -> None:
    found = logit_numbers(torch.tensor([[math.inf, 0.0], [1.0, 0.0]]))
    assert all(not math.isfinite(value) for value in found.values())


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16])
def test_means_are_those_of_the_measure(kind: torch.dtype, small_blocks: None) -> None:
    matrix = (_drawn(50, 12) + 0.3).to(kind)
    matrix[40:] = 0
    found = matrix_means(matrix)
    for rows, name in (("tokens", "mu_output"), ("all", "mu_output_all")):
        assert found[name] == pytest.approx(mean_share(matrix, rows=rows).length, rel=1e-5)
    share = mean_share(matrix)
    assert found["row_norm_output"] == pytest.approx(share.length / share.value, rel=1e-5)
    assert found["bound_ratio"] == pytest.approx(share.bound_ratio, rel=1e-4)


def test_rows_of_tokens_may_be_counted_or_named() -> None:
    matrix = _drawn(20, 5) + 1
    matrix[15:] += 50
    of_tokens = mean_share(matrix[:15])
    named = torch.arange(20) < 15
    for tokens in (15, named, named.tolist()):
        found = matrix_means(matrix, tokens)
        assert found["mu_output"] == pytest.approx(of_tokens.length)
        assert found["bound_ratio"] == pytest.approx(of_tokens.bound_ratio)
        assert found["mu_output_all"] == pytest.approx(mean_share(matrix).length)


def test_a_centred_matrix_has_no_ratio_and_an_input_never() -> None:
    matrix = _drawn(64, 8, dtype=torch.float32)
    centred = matrix_means(matrix - matrix.mean(0))
    assert centred["mu_output"] < 1e-6
    assert math.isnan(centred["bound_ratio"])
    assert set(matrix_means(matrix, role="input")) == {"mu_input", "mu_input_all", "row_norm_input"}
    assert matrix_means(torch.zeros(4, 2))["mu_output"] == 0.0


def test_a_matrix_that_has_overflowed_has_no_mean() -> None:
    matrix = _drawn(8, 3)
    matrix[2, 1] = math.nan
    assert math.isnan(matrix_means(matrix)["mu_output"])
