"""All numbers at once are those of each measure alone, within bounded memory."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.measures import axes, cka, isotropy
from embtie_widgets.measures.geometry import matrix_geometry, pair_geometry
from embtie_widgets.results.storage import from_bytes, to_bytes
from tests.fresh import GIVING_BACK

PAIRS = [("In", "Out"), ("Out", "Tied"), ("In", "Tied")]


@pytest.fixture
def matrices(spread):
    first = spread(6000, 14, 40.0) + 0.2
    second = first @ torch.diag(torch.linspace(1, 2, 14, dtype=torch.float64)) + spread(6000, 14, 9)
    third = torch.cat([second, spread(6000, 6, 9.0)], 1)
    return {"In": first.float(), "Out": second.float(), "Tied": third.float()}


@pytest.mark.parametrize("large", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_they_are_those_of_each_measure_alone(monkeypatch, matrices, center, large):
    each = [ew.spectrum(x, center).singular_values for x in matrices.values()]
    alone = {
        pair: [ew.cka(*(matrices[n] for n in pair), debiased).value for debiased in (False, True)]
        for pair in PAIRS
    }
    if large:
        monkeypatch.setattr(axes, "_DIRECT_UP_TO", 0)
        monkeypatch.setattr(cka, "_EXACT_UP_TO", 0)
        monkeypatch.setattr(isotropy, "_EXACT_UP_TO", 0)
    found, compared = pair_geometry(matrices, PAIRS, center, top=5, one_basis=PAIRS[:1])
    for (name, one), sigma in zip(found.items(), each, strict=True):
        np.testing.assert_allclose(one.spectrum.singular_values, sigma, rtol=1e-6)
        assert one.isotropy.value == pytest.approx(ew.isotropy(matrices[name]).value, rel=1e-5)
        assert one.mean.value == ew.mean_share(matrices[name]).value
    for pair, one in compared.items():
        x, y = (matrices[name] for name in pair)
        assert [one.cka.value, one.debiased_cka.value] == pytest.approx(alone[pair], abs=1e-7)
        wanted = ew.subspace_overlap(x, y, 5, center=center)
        np.testing.assert_allclose(one.tokens.correlations, wanted.correlations, atol=1e-6)
        np.testing.assert_allclose(one.tokens.chance, wanted.chance, atol=1e-5)
    width = ew.subspace_overlap(matrices["In"], matrices["Out"], 5, "width", center)
    found_width = compared[PAIRS[0]].width
    np.testing.assert_allclose(found_width.correlations, width.correlations, atol=1e-6)
    assert compared[PAIRS[1]].width is None


def test_a_row_that_one_cannot_use_takes_part_nowhere(matrices):
    matrices["Tied"][3], matrices["In"][8, 1] = 0, torch.nan
    keep = [i for i in range(6000) if i not in (3, 8)]
    clean, _ = pair_geometry({name: x[keep] for name, x in matrices.items()}, PAIRS)
    found, compared = pair_geometry(matrices, PAIRS)
    for name, one in found.items():
        np.testing.assert_allclose(
            one.spectrum.singular_values, clean[name].spectrum.singular_values, rtol=1e-10
        )
    left_out = compared[PAIRS[0]].cka.settings["rows_left_out"]
    assert left_out == {"not finite": 1, "zero": 1}


def test_one_matrix_alone_and_its_numbers(normal):
    x = normal(300, 8) + 1
    found = matrix_geometry(x, center=True)
    np.testing.assert_allclose(
        found.spectrum.singular_values, ew.spectrum(x, center=True).singular_values
    )
    row = found.to_frame().iloc[0]
    assert row["mean_share"] == found.mean.value
    assert row["isotropy"] == pytest.approx(ew.isotropy(x).value)
    assert row["bound_ratio"] == ew.bound_ratio(x)
    assert set(found.spectrum.hashes) == {"x"}


def test_results_are_stored_and_read_again(matrices):
    found, compared = pair_geometry(matrices, PAIRS, one_basis=PAIRS[:1])
    for result in (*found.values(), *compared.values()):
        again = from_bytes(to_bytes(result))
        assert again.to_frame().equals(result.to_frame())


@pytest.mark.parametrize("stage", ["reading", "multiplying", "measuring isotropy: Out"])
def test_it_stops_between_blocks(matrices, stage):
    def stop(now, done, total):
        if now == stage:
            raise Cancelled

    with pytest.raises(Cancelled):
        pair_geometry(matrices, PAIRS, progress=stop)


def test_what_has_no_meaning_is_refused_in_words(normal):
    two = {"a": normal(9, 3), "b": normal(9, 4)}
    with pytest.raises(EmbtieError, match="these are 3 and 4"):
        pair_geometry(two, [("a", "b")], one_basis=[("a", "b")])
    with pytest.raises(EmbtieError, match="k is 0"):
        pair_geometry(two, [("a", "b")], top=0)
    with pytest.raises(EmbtieError, match="a 9, b 8"):
        pair_geometry({"a": two["a"], "b": two["b"][:8]}, [("a", "b")])


# Peak memory above the inputs, in MiB, in a process of its own.
MEASURE = """
import resource, torch
from embtie_widgets.measures.geometry import pair_geometry
names = ("In", "Out", "Tied")
pairs = [("In", "Out"), ("Out", "Tied"), ("In", "Tied")]
large = {name: torch.randn(120_000, 200) for name in names}
pair_geometry({name: x[:500] for name, x in large.items()}, pairs, top=5)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
pair_geometry(large, pairs, top=5)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak as Linux counts it")
def test_no_second_copy_of_a_matrix_is_made():
    done = subprocess.run(
        [sys.executable, "-c", MEASURE],
        env=os.environ | GIVING_BACK,
        capture_output=True,
        text=True,
        check=True,
    )
    one_matrix = 120_000 * 200 * 4 / 2**20
    assert float(done.stdout) < one_matrix


@pytest.mark.gpu
def test_another_device_gives_the_numbers_of_the_processor(matrices):
    here, there = (pair_geometry(matrices, PAIRS, top=5, device=d) for d in ("cpu", "auto"))
    for pair in PAIRS:
        one, other = here[1][pair].to_frame(), there[1][pair].to_frame()
        assert there[1][pair].cka.settings["device"] != "cpu"
        np.testing.assert_allclose(one["value"], other["value"], atol=1e-5)
