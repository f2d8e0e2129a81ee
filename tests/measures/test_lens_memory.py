"""The logits of all layers are never there at once."""

import os
import subprocess
import sys

import pytest

from tests.fresh import GIVING_BACK

# Peak memory in MiB above the loaded model, in a process of its own.
MEASURE = """
import resource, torch, transformers as hf
from embtie_widgets.measures.lens import measure_lens
config = hf.LlamaConfig(vocab_size=100_000, hidden_size=16, intermediate_size=16,
                        num_hidden_layers=16, num_attention_heads=1, num_key_value_heads=1)
model = hf.LlamaForCausalLM(config).eval()
pieces = torch.randint(100_000, (12, 100))
measure_lens(model, pieces[:1, :8])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
measure_lens(model, pieces, readings=64)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak as Linux counts it")
def test_logits_are_held_for_a_few_pieces_of_one_layer() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE],
        env=os.environ | GIVING_BACK,
        capture_output=True,
        text=True,
        check=True,
    )
    of_a_layer = 1200 * 100_000 * 4 / 2**20  # 458 MiB; of all 17 points it is 7.6 GiB
    assert float(done.stdout) < 1.5 * of_a_layer
