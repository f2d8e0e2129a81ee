"""Memory stays bounded whatever the vocabulary, and other devices give the same neighbours."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import embtie_widgets as ew

# Peak memory above the inputs, in MiB, under a limit of 2 GiB above what Python has taken.
MEASURE = """
import resource, sys, psutil, torch
from embtie_widgets.measures.neighbours import neighbour_lists
x = torch.randn(60_000, 32)
neighbour_lists(x[:500])
taken = psutil.Process().memory_info().vms
resource.setrlimit(resource.RLIMIT_AS, (taken + 2**31, taken + 2**31))
peak = lambda: int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
before = peak()
asking = int(sys.argv[1])
assert len(neighbour_lists(x, queries=torch.arange(asking)).rows) == asking
print((peak() - before) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak as Linux counts it")
@pytest.mark.parametrize("asking", [60_000, 3000])
def test_a_large_vocabulary_takes_far_less_than_a_table_of_all_distances(asking):
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(asking)], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 200


@pytest.mark.gpu
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("sample", [0, 500])
def test_another_device_gives_the_neighbours_of_the_processor(metric, center, sample):
    x, y = torch.randn(20_000, 256), torch.randn(20_000, 128)
    y += x[:, :128]
    here = ew.knn_overlap(x, y, 10, metric, center, sample=sample, device="cpu")
    there = ew.knn_overlap(x, y, 10, metric, center, sample=sample, device="auto")
    assert there.settings["device"] != "cpu"
    np.testing.assert_array_equal(there.per_token, here.per_token)
