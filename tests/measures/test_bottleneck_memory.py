"""Neither a table of V x V nor one of positions x V is ever there."""

import os
import subprocess
import sys

import pytest

from tests.fresh import GIVING_BACK

# Peak memory in MiB above the loaded model and its factor, in a process of its own.
MEASURE = """
import resource, torch, transformers as hf
from embtie_widgets.measures.bottleneck import bottleneck
config = hf.LlamaConfig(vocab_size=60_000, hidden_size=16, intermediate_size=16,
                        num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1)
model = hf.LlamaForCausalLM(config).eval()
pieces = torch.randint(60_000, (12, 100))
bottleneck(model, pieces[:1, :8], gram=4, steps_at=(1.0,))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
bottleneck(model, pieces, gram=128, steps_at=(1.0,))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak as Linux counts it")
def test_the_gradient_is_held_some_rows_of_the_vocabulary_at_a_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE],
        env=os.environ | GIVING_BACK,
        capture_output=True,
        text=True,
        check=True,
    )
    whole = 1188 * 60_000 * 4 / 2**20  # 272 MiB, a table of all its positions in float32
    assert float(done.stdout) < whole / 3
