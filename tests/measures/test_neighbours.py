"""Nearest rows: the row itself out, duplicates in, ties in the order of rows."""

import numpy as np
import pytest
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.neighbours import nearest


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_they_are_those_of_a_full_table(normal, metric, center):
    x = normal(3000, 7).float() + 1
    found = nearest(x, 5, 12, metric, center)
    y = x.double().numpy() - (x.double().numpy().mean(0) if center else 0)
    if metric == "cosine":
        y = y / np.linalg.norm(y, axis=1, keepdims=True)
        values = y @ y[5]
        order = np.argsort(-values)
    else:
        values = np.linalg.norm(y - y[5], axis=1)
        order = np.argsort(values)
    order = order[order != 5][:12]
    assert found.rows.tolist() == order.tolist()
    np.testing.assert_allclose(found.values, values[order], atol=1e-12)


def test_only_the_row_itself_is_left_out_and_ties_go_to_the_lower_row(normal):
    x = normal(20, 4)
    x[9], x[3] = x[6], x[6]
    found = nearest(x, 6, 3)
    assert found.rows.tolist()[:2] == [3, 9]
    np.testing.assert_allclose(found.values[:2], 1.0)


def test_rows_without_a_value_are_no_neighbours(normal):
    x = normal(12, 3)
    x[2], x[4, 1] = 0, torch.nan
    for metric, expected in (("cosine", 9), ("euclidean", 10)):
        found = nearest(x, 0, 50, metric)
        assert len(found.rows) == expected
        assert 4 not in found.rows
        assert 0 not in found.rows
    assert len(nearest(x, 2, 5).rows) == 0


def test_a_row_that_is_not_there_is_refused(normal):
    for row in (-1, 12):
        with pytest.raises(EmbtieError, match="has 12"):
            nearest(normal(12, 3), row)
    with pytest.raises(EmbtieError, match="'cosine' or 'euclidean'"):
        nearest(normal(12, 3), 0, metric="cityblock")
