"""Factors around the matrices, by the fields that configurations have."""

import math
from itertools import product
from typing import Any

import pytest

from embtie_widgets.sources import configuration
from embtie_widgets.sources.families import exception
from embtie_widgets.sources.scales import RULES, Scales, read_scales


def scales_of(config: dict[str, Any]) -> Scales:
    kinds = configuration.families_of(config)
    return read_scales(list(configuration.levels(config)), exception(*kinds).scales)


def test_a_model_without_such_fields_has_no_factors() -> None:
    assert scales_of({"model_type": "llama", "hidden_size": 64}) == Scales()


def test_factors_of_the_language_model_are_found_however_deep() -> None:
    inner = {"model_type": "granite", "hidden_size": 8, "logits_scaling": 8.0}
    assert scales_of({"model_type": "outer", "text_config": inner}).logits == 0.125


def test_a_wrapped_model_may_leave_out_what_the_inner_one_has() -> None:
    inner = {"model_type": "cohere2", "logit_scale": 0.0625}
    assert scales_of(inner).logits == 0.0625
    assert scales_of({"model_type": "aya_vision", "text_config": inner}).logits == 1.0


def test_gemma_multiplies_by_the_root_of_its_width() -> None:
    assert scales_of({"model_type": "gemma", "hidden_size": 48}).embedding == math.sqrt(48)


JUNK = [None, 0, "8", [8.0], {}, math.nan, math.inf, -math.inf, 10**400, -3, True, False]


@pytest.mark.parametrize("field", [rule.field for rule in RULES] + ["hidden_size"])
def test_junk_is_never_a_crash(field: str) -> None:
    for junk, width in product(JUNK, (8, 0, -8, None, "8")):
        found = scales_of({"model_type": "gemma", "hidden_size": width, field: junk})
        assert all(math.isfinite(one) for one in (found.embedding, found.hidden, found.logits))
        assert found.cap is None or math.isfinite(found.cap)
