"""The logit lens against the `tuned-lens` package, on the families that it knows."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from embtie_widgets.measures.lens import measure_lens
from tests.measures.lens_models import PIECES
from tests.sources.tiny import tiny

lenses = pytest.importorskip("tuned_lens.nn.lenses", reason="tuned-lens is not installed")


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neo", "gpt_neox", "gptj", "llama", "opt", "bloom"])
def test_kl_at_every_layer_is_that_of_the_package(kind: str) -> None:
    model = tiny(kind, False)
    mine, package = measure_lens(model, PIECES), lenses.LogitLens.from_model(model)
    for number, piece in enumerate(PIECES):
        with torch.no_grad():
            said = model(torch.tensor(piece)[None], output_hidden_states=True, use_cache=False)
            final = said.logits[0].log_softmax(-1)
            # The library hands out the last state normed, so the package is asked up to there.
            for layer, state in enumerate(said.hidden_states[:-1]):
                read = package(state[0], layer).log_softmax(-1)
                kl = functional.kl_div(read, final, log_target=True, reduction="none").sum(-1)
                own = mine.per_token[layer, mine.piece == number]
                assert np.allclose(own, kl / math.log(2), rtol=1e-4, atol=1e-5)
