"""Log-likelihoods against a plain loop in float64, windows against what they promise."""

import math

import numpy as np
import pytest
import torch

from embtie_widgets.measures.likelihood import log_likelihoods, windows
from embtie_widgets.measures.scores import error_of, mean_and_error, perplexity, rate
from tests.sources.models import llama, randomised


def plainly(model, run, start):
    """Each token alone, from the softmax of the last position over what stands before it."""
    found, first = [], []
    for at in range(start, len(run)):
        logits = model(torch.tensor([run[:at]])).logits[0, -1].double()
        found.append(float(torch.log_softmax(logits, 0)[run[at]]))
        first.append(int(logits.argmax()) == run[at])
    return found, first


@pytest.mark.parametrize("tied", [True, False])
def test_they_are_those_of_a_plain_loop_whatever_goes_together(tied):
    model = randomised(llama(tied, vocab_size=50, hidden_size=16), 1).eval()
    draw = np.random.default_rng(0)
    runs = [draw.integers(0, 50, n) for n in (9, 2, 17, 9)]
    starts = [1, 1, 5, 8]
    with torch.no_grad():
        nats, top = log_likelihoods(model, runs, starts)
        for run, start, values, firsts in zip(runs, starts, nats, top, strict=True):
            known, likeliest = plainly(model, run.tolist(), start)
            np.testing.assert_allclose(values, known, atol=2e-5)
            assert firsts.tolist() == likeliest
            assert len(values) == len(run) - start


def test_the_work_can_be_called_off_between_small_parts():
    # A stopped panel is free at once; what is asked next waits for the part under way.
    sizes = {"vocab_size": 4096, "hidden_size": 128, "max_position_embeddings": 256}
    model = llama(True, num_hidden_layers=1, **sizes).eval()
    runs, done = [np.arange(256)] * 40, [0]
    log_likelihoods(model, runs, [1] * 40, progress=lambda _, now, __: done.append(now))
    assert max(np.diff(done)) * 4096 * 128 <= 2e9


def test_half_precision_gives_what_float32_gives_on_the_same_weights():
    model = randomised(llama(True, vocab_size=50, hidden_size=16), 2).eval()
    for parameter in model.parameters():
        parameter.data *= 0.3
    model = model.to(torch.bfloat16)
    run = np.arange(1, 12)
    ours, _ = log_likelihoods(model, [run], [1])
    again, _ = log_likelihoods(model.float(), [run], [1])
    np.testing.assert_allclose(ours[0], again[0], atol=0.1)
    assert ours[0].dtype == np.float64


@pytest.mark.parametrize(
    ("count", "length", "stride"), [(1, 8, 4), (2, 8, 8), (8, 8, 4), (9, 8, 4), (100, 16, 5)]
)
def test_windows_predict_every_token_but_the_first_once(count, length, stride):
    made = windows(count, length, stride)
    new = [at for begin, end, first in made for at in range(first, end)]
    assert new == list(range(1, count))
    for number, (begin, end, first) in enumerate(made):
        assert 0 <= begin < first or number == 0
        assert end - begin <= length
        if number:
            assert first - begin >= min(length - stride, first)


def test_a_perplexity_and_its_error_are_those_of_the_books():
    nats = -np.array([10.0, 30.0, 12.0, 25.0])
    words = np.array([5, 10, 6, 9])
    value, error, parts = perplexity(nats, words)
    assert value == pytest.approx(math.exp(77 / 30))
    # The jackknife is another way to the same error.
    left_out = [
        math.exp(-np.delete(nats, i).sum() / np.delete(words, i).sum()) for i in range(len(nats))
    ]
    jackknife = math.sqrt(3 / 4 * np.sum((left_out - np.mean(left_out)) ** 2))
    assert error == pytest.approx(jackknife, rel=0.1)
    assert parts.sum() == pytest.approx(0)
    assert rate(nats, words)[0] == pytest.approx(77 / 30)


def test_one_item_has_no_error_and_equal_ones_have_none_of_it():
    assert mean_and_error(np.array([1.0])) == (1.0, None)
    assert error_of(np.array([0.2])) is None
    mean, error = mean_and_error(np.array([0.0, 1.0, 1.0, 1.0]))
    assert (mean, error) == (0.75, pytest.approx(0.25))  # sqrt(a (1 - a) / (n - 1))
