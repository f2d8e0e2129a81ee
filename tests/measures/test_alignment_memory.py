"""Memory stays bounded whatever the vocabulary, and other devices give the same numbers."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from tests.fresh import GIVING_BACK

# Peak memory above the inputs, in MiB, of an alignment in a process of its own.
MEASURE = """
import resource, sys, torch
import embtie_widgets as ew
rows, width = 150_000, 200
x, y = torch.randn(rows, width), torch.randn(rows, width)
ew.align(x[:500], y[:500], sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ew.align(x, y, sys.argv[1])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak as Linux counts it")
@pytest.mark.parametrize("kind", ["orthogonal", "linear"])
def test_no_second_copy_of_a_matrix_is_made(kind):
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, kind],
        env=os.environ | GIVING_BACK,
        capture_output=True,
        text=True,
        check=True,
    )
    one_matrix = 150_000 * 200 * 4 / 2**20
    assert float(done.stdout) < 0.8 * one_matrix


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["identity", "orthogonal", "linear"])
@pytest.mark.parametrize("center", [True, False])
def test_another_device_gives_the_numbers_of_the_processor(kind, center):
    x, y = torch.randn(5000, 256), torch.randn(5000, 256)
    here = ew.align(x, y, kind, center, device="cpu")
    there = ew.align(x, y, kind, center, device="auto")
    assert there.settings["device"] != "cpu"
    np.testing.assert_allclose(there.cosine, here.cosine, atol=1e-5)
