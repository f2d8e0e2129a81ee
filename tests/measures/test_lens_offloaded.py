"""Models whose weights wait elsewhere until a block is run: accelerate's device map."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import cpu_offload, disk_offload

from embtie_widgets.measures.gradient_split import gradient_split
from embtie_widgets.measures.head import Head
from embtie_widgets.measures.lens import measure_lens
from tests.measures.lens_models import PIECES
from tests.sources.tiny import tiny


@pytest.fixture(params=["cpu", "disk"])
def offload(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "cpu":
        return lambda model: cpu_offload(model, execution_device=torch.device("cpu"))
    return lambda model: disk_offload(model, tmp_path, execution_device=torch.device("cpu"))


@pytest.mark.parametrize("kind", ["llama", "gptj", "cohere"])
def test_the_lens_is_that_of_the_model_in_memory(kind: str, offload: Any) -> None:
    model = tiny(kind, False)
    wanted, placed = measure_lens(model, PIECES), offload(copy.deepcopy(model))
    head = placed.get_output_embeddings()
    assert head.weight.is_meta
    lens = measure_lens(placed, PIECES)
    assert np.allclose(lens.per_token, wanted.per_token, rtol=1e-5, atol=1e-6)
    assert lens.settings == wanted.settings
    assert head.weight.is_meta


def test_head_and_norm_keep_their_values_when_the_model_puts_them_away(offload: Any) -> None:
    model = tiny("phi", False)
    head, states = Head.of(offload(copy.deepcopy(model))), torch.randn(4, 16)
    assert torch.allclose(head.logits(states), Head.of(model).logits(states), atol=1e-5)


def test_the_gradient_is_that_of_the_model_in_memory(offload: Any) -> None:
    model = tiny("gptj", False)
    ids = np.array([[3, 5, 7, 5], [4, 4, 8, 30]])
    wanted, placed = gradient_split(model, ids), offload(copy.deepcopy(model))
    split = gradient_split(placed, ids)
    assert torch.allclose(split.input, wanted.input, rtol=1e-4, atol=1e-6)
    assert torch.allclose(split.output, wanted.output, rtol=1e-4, atol=1e-6)
    assert placed.get_input_embeddings().weight.is_meta
