"""Toy models and their training against plain formulas."""

import math

import numpy as np
import pytest
import torch

from embtie_widgets.errors import Cancelled
from embtie_widgets.requests.staircase import MODELS, StaircaseRequest
from embtie_widgets.training.toy_loop import kept_epochs, train_toy
from embtie_widgets.training.toy_models import build_toy
from embtie_widgets.training.toy_tasks import open_task

SMALL = {
    "operation": "sum",
    "tokens": 5,
    "length": 2,
    "modulus": 0,
    "width": 8,
    "epochs": 20,
    "snapshots": 5,
}


def small(**fields):
    return StaircaseRequest(**SMALL | fields)


@pytest.mark.parametrize(
    ("activation", "function"),
    [
        ("relu", lambda z: np.maximum(z, 0)),
        ("gelu", lambda z: z * 0.5 * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))),
        ("tanh", np.tanh),
        ("linear", lambda z: z),
        ("power", lambda z: z**3),
    ],
)
def test_feed_forward_is_the_unembedding_of_the_activation_of_a_sum(activation, function):
    request = small(activation=activation, power=3, length=3)
    task = open_task(request)
    model = build_toy(request, task)
    embedding, unembedding = (m.detach().numpy() for m in (model.embedding, model.unembedding))
    expected = function(embedding[task.sequences].sum(1)) @ unembedding.T
    found = model(model.inputs(torch.from_numpy(task.sequences))).detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_every_matrix_begins_with_the_spread_that_gamma_says(model):
    built = build_toy(
        request := small(model=model, width=64, tokens=60, gamma=0.7), open_task(request)
    )
    for name, matrix in built.named_parameters():
        if matrix.ndim == 2 and (model, name) != ("fixed", "embedding"):
            assert float(matrix.detach().std()) == pytest.approx(
                matrix.shape[1] ** -0.7, rel=0.15
            ), name


def test_fixed_embeddings_are_a_projection_of_order_one_and_only_their_scale_moves():
    request = small(model="fixed", tokens=6, offset=1, modulus=6, epochs=30)
    task = open_task(request)
    begun = build_toy(request, task).rows.detach().numpy()
    run = train_toy(request, task)
    ratio = run.embedding[-1] / begun
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-4)
    assert ratio[0, 0] != pytest.approx(1, abs=1e-3)
    # Modular addition turns the order-1 signature of a token into that of the next by a shift, and
    # a projection of six rows has at most six directions.
    assert np.linalg.matrix_rank(begun) <= 6
    assert run.parameters == 1 + run.unembedding[0].size


def test_attention_is_causal_and_pays_everything_out():
    request = small(model="attention", length=4, layers=2, samples=30)
    model = build_toy(request, task := open_task(request))
    ids = torch.from_numpy(task.sequences)
    for weights in model.attended(ids):
        assert weights.shape == (30, 4)
        torch.testing.assert_close(weights.sum(1), torch.ones(30))
    seen = model.heads[0].weights(torch.randn(2, 4, 8))
    assert not seen.detach().triu(1).any()


@pytest.mark.parametrize("model", ["attention", "transformer"])
def test_attention_by_token_and_label_is_a_mean_over_its_places(model):
    request = small(model=model, length=3, layers=2, epochs=3)
    task = open_task(request)
    found = train_toy(request, task).attention[0]
    built = build_toy(request, task)
    weights = built.attended(torch.from_numpy(task.sequences))[1].detach().numpy()
    label = 4
    places = task.sequences == 2
    expected = (weights * places * (task.labels == label)[:, None]).sum() / places.sum()
    assert found.shape == (2, 5, len(task.answers))
    assert found[1, 2, label] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_training_lowers_the_loss_and_gives_the_same_bits_again(model):
    request = small(model=model, epochs=60, lr=1e-2, batch=10)
    one, again = (train_toy(request, open_task(request)) for _ in range(2))
    assert one.curves["loss"][-1] < 0.9 * one.curves["loss"][0]
    assert one.curves == again.curves
    np.testing.assert_array_equal(one.embedding[-1], again.embedding[-1])


def test_losses_and_accuracies_are_those_of_the_matrices_kept_beside_them():
    request = small(epochs=40, optimiser="sgd", lr=0.5)
    task = open_task(request)
    run = train_toy(request, task)
    for step, rows, out in zip(run.steps, run.embedding, run.unembedding, strict=True):
        logits = np.maximum(rows[task.sequences].sum(1), 0) @ out.T
        right = (logits.argmax(1) == task.labels).mean()
        losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(logits)), task.labels]
        at = run.curves["step"].index(step)
        assert run.curves["loss"][at] == pytest.approx(losses.mean(), rel=1e-4)
        assert run.curves["accuracy"][at] == right


def test_snapshots_spread_over_the_logarithm_of_the_epochs():
    kept = kept_epochs(1_000, 10)
    assert kept[0] == 0
    assert kept[-1] == 1_000
    ratios = np.diff(np.log(kept[3:]))
    assert ratios.std() < 0.1 * ratios.mean()


def test_a_run_that_diverges_keeps_its_last_finite_matrices_and_says_when():
    request = small(optimiser="sgd", lr=90.0, activation="power", power=8, gamma=0.1)
    run = train_toy(request, open_task(request))
    assert run.diverged is not None
    assert all(np.isfinite(rows).all() for rows in (*run.embedding, *run.unembedding))


def test_training_stops_where_it_is_called_off():
    def progress(stage, done, total):
        if done == 3:
            raise Cancelled

    seen = []
    with pytest.raises(Cancelled):
        train_toy(request := small(), open_task(request), progress, lambda run: seen.append(1))
    assert seen
