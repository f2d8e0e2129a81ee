"""Probes of a signature's context, by laws that hold whatever the numbers are."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
import torch

from embtie_widgets.errors import Cancelled
from embtie_widgets.measures import probes
from embtie_widgets.measures.probes import fit_probe
from embtie_widgets.measures.signatures import cosines, gram, pairs, signature
from embtie_widgets.measures.tracks import Follower, track

RNG = np.random.default_rng(0)
ANCHORS, LABELS, CONTEXT = 14, 9, 6
VALUES = RNG.random((ANCHORS, LABELS, CONTEXT)) ** 4


def planted(values: np.ndarray, probe: np.ndarray) -> np.ndarray:
    return cosines(gram(values @ probe))


def test_a_planted_probe_is_found_also_for_pairs_not_seen() -> None:
    probe = RNG.standard_normal(CONTEXT)
    probe -= probe.mean()
    found = fit_probe(VALUES, planted(VALUES, probe), steps=600)
    assert found.in_sample[0] > 0.995
    assert found.held_out[0] > 0.98
    assert found.beyond[0] > 0.98
    assert abs(found.floor[0]) < 0.6


def test_all_ones_are_order_0_and_are_never_beaten_by_a_worse_probe() -> None:
    below = cosines(gram(VALUES.sum(-1)))
    noisy = below + 0.3 * RNG.standard_normal(below.shape)
    noisy = (noisy + noisy.T) / 2
    found = fit_probe(VALUES, np.stack([below, noisy]), steps=1)
    for target, at in ((below, 0), (noisy, 1)):
        assert found.in_sample[at] >= np.corrcoef(pairs(below), pairs(target))[0, 1] - 1e-6
    assert found.in_sample[0] == pytest.approx(1)
    assert found.held_out[0] == pytest.approx(1)


def test_what_order_0_explains_is_not_beyond_it() -> None:
    """A signature without interaction: every probe orthogonal to ones sees the same in all rows."""
    labels = RNG.random((ANCHORS, LABELS))
    labels /= labels.sum(1, keepdims=True)
    flat = labels[:, :, None] * np.ones(CONTEXT) / CONTEXT
    flat += 1e-3 * RNG.random(flat.shape)
    found = fit_probe(flat, cosines(gram(labels)), steps=100)
    assert found.held_out[0] > 0.99
    assert found.beyond[0] < 0.7


def test_random_similarity_is_fitted_and_not_held_out() -> None:
    """The mean over many draws: one alone wanders by about a tenth."""
    noise = RNG.standard_normal((30, ANCHORS, 8))
    found = fit_probe(VALUES, cosines(gram(noise)), steps=100)
    assert found.in_sample.mean() > 0.2
    for name in ("held_out", "beyond", "floor"):
        assert abs(getattr(found, name).mean()) < 0.1


def test_the_slope_is_that_of_automatic_differentiation() -> None:
    target = cosines(gram(RNG.standard_normal((2, ANCHORS, 3))))
    mask = np.triu(np.ones((ANCHORS, ANCHORS), bool), 1)
    fit = probes._Fit(VALUES, target, np.stack([mask, mask]), None)
    v = torch.from_numpy(RNG.standard_normal((2, CONTEXT))).float()
    scores, slope = fit._slope(v)
    v.requires_grad_()
    h = torch.einsum("alx,bx->bal", torch.from_numpy(VALUES).float(), v)
    s = torch.nn.functional.normalize(h, dim=2)
    s = (s @ s.transpose(1, 2))[:, torch.from_numpy(mask)]
    aims = torch.from_numpy(pairs(target)).float()
    right = torch.stack([torch.corrcoef(torch.stack(p))[0, 1] for p in zip(s, aims, strict=True)])
    right.sum().backward()
    torch.testing.assert_close(scores, right.detach(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(slope, v.grad, atol=1e-5, rtol=1e-3)


def test_a_step_that_comes_later_is_treated_as_if_it_had_come_with_the_others() -> None:
    targets = cosines(gram(RNG.standard_normal((3, ANCHORS, 4))))
    together = fit_probe(VALUES, targets, steps=20)
    later = fit_probe(VALUES, targets[2:], steps=20, first=2)
    for name in ("held_out", "in_sample", "beyond", "floor"):
        np.testing.assert_allclose(getattr(later, name), getattr(together, name)[2:], atol=1e-3)


def test_the_same_seed_gives_the_same_bits_in_blocks_of_any_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    targets = cosines(gram(RNG.standard_normal((4, ANCHORS, 4))))
    whole = fit_probe(VALUES, targets, steps=20)
    assert np.array_equal(fit_probe(VALUES, targets, steps=20).held_out, whole.held_out)
    monkeypatch.setattr(probes, "_AT_ONCE", 1)
    np.testing.assert_allclose(
        fit_probe(VALUES, targets, steps=20).held_out, whole.held_out, atol=1e-3
    )


def test_held_out_anchors_are_judged_among_themselves() -> None:
    for fitted, judged in probes._folds(11, 3, "anchors", np.random.default_rng(0)):
        seen = set(np.argwhere(fitted).ravel().tolist())
        out = set(np.argwhere(judged).ravel().tolist())
        assert seen | out == set(range(11))
        assert not seen & out
        assert judged.sum() == len(out) * (len(out) - 1) / 2


def test_every_pair_is_held_out_once() -> None:
    folds = probes._folds(9, 5, "pairs", np.random.default_rng(0))
    assert sum(judged for _, judged in folds).tolist() == np.triu(np.ones((9, 9), int), 1).tolist()
    assert not any((fitted & judged).any() for fitted, judged in folds)


def test_a_probe_of_order_2_sees_what_a_matrix_over_pairs_sees() -> None:
    sequences = list(product(range(5), repeat=3))
    two = signature(sequences, [(a * b + c) % 7 for a, b, c in sequences], 2).values
    matrix = RNG.standard_normal((5, 5))
    matrix += matrix.T
    values, _, _ = probes._flat(two)
    upper = matrix[np.triu_indices(5)]
    np.testing.assert_allclose(values @ upper, np.einsum("alxy,xy->al", two, matrix), atol=1e-12)


def test_beyond_order_1_no_sum_of_two_probes_of_order_1_is_left() -> None:
    _, within, _ = probes._flat(np.zeros((2, 2, 4, 4)))
    matrix = RNG.standard_normal((4, 4))
    matrix += matrix.T
    left = np.zeros((4, 4))
    upper = torch.from_numpy(matrix[np.triu_indices(4)])
    left[np.triu_indices(4)] = within(upper[None])[0].numpy()
    left = left + np.triu(left, 1).T
    np.testing.assert_allclose(left.sum(0), 0, atol=1e-12)
    single = RNG.standard_normal(4)
    additive = single[:, None] + single
    sums = torch.from_numpy(additive[np.triu_indices(4)])
    np.testing.assert_allclose(within(sums[None])[0].numpy(), 0, atol=1e-12)


def test_work_can_be_called_off_between_steps_of_a_fit() -> None:
    heard: list[int] = []

    def stop(_stage: str, done: int, total: int) -> None:
        heard.append(done)
        assert done <= total
        if len(heard) == 4:
            raise Cancelled

    with pytest.raises(Cancelled):
        fit_probe(VALUES, planted(VALUES, np.ones(CONTEXT)), progress=stop)
    assert heard == sorted(heard)


def test_tracks_that_grow_are_those_of_all_steps_at_once() -> None:
    sequences = list(product(range(8), repeat=2))
    labels = [sum(s) for s in sequences]
    orders = {f"order {o}": signature(sequences, labels, o) for o in (0, 1)}
    moving = RNG.random((4, 8, 5))
    rows = RNG.standard_normal((4, 8, 6))
    matrix, tracks = track("embedding", rows, {**orders, "moving": moving}, steps=10)
    follower = Follower("embedding", {**orders, "moving": moving}, steps=10)
    for at in range(4):
        follower.add(rows[at : at + 1])
    grown, others = follower.result()
    np.testing.assert_allclose(grown.points, matrix.points, atol=1e-5)
    assert matrix.similarity.shape == (4, 8, 8)
    np.testing.assert_allclose(matrix.norms, np.linalg.norm(rows, axis=2))
    for one, other in zip(tracks, others, strict=True):
        for name, values in one.by_step.items():
            np.testing.assert_allclose(other.by_step[name], values, atol=1e-3)
    by = {one.signature: one for one in tracks}
    assert [len(one.similarity) for one in by.values()] == [1, 4, 4]
    right = [
        np.corrcoef(*(pairs(cosines(gram(m[at]))) for m in (rows, moving)))[0, 1] for at in range(4)
    ]
    np.testing.assert_allclose(by["moving"].by_step["pearson"], right)
    assert set(by["order 1"].by_step) == {
        "pearson",
        "spearman",
        "fit",
        "held_out",
        "in_sample",
        "beyond",
        "floor",
    }


@pytest.mark.parametrize(("anchors", "smallest"), [(2, 1), (3, 1), (4, 3), (5, 3), (14, 18)])
def test_a_fold_of_pairs_holds_enough_of_them_to_correlate_or_one_that_cannot(
    anchors: int, smallest: int
) -> None:
    masks = probes._folds(anchors, 5, "pairs", np.random.default_rng(0))
    assert min(int(out.sum()) for _, out in masks) == smallest
    assert sum(int(out.sum()) for _, out in masks) == anchors * (anchors - 1) // 2


def test_with_too_few_pairs_nothing_is_held_out() -> None:
    values = VALUES[:3]
    found = fit_probe(values, planted(values, np.arange(1.0, 7.0)), steps=3)
    assert np.isnan(found.held_out).all()


def test_a_single_anchor_is_followed_without_pairs() -> None:
    rows = RNG.random((2, 1, 4))
    one = signature(np.full((3, 2), 5), np.arange(3), 1)
    matrix, tracks = track("embedding", rows, {"order 1": one}, steps=2)
    assert matrix.points.shape == (2, 1, 2)
    assert matrix.variance.shape == (2, 2)
    assert tracks[0].constant
    assert np.isnan(tracks[0].by_step["held_out"]).all()


def test_an_order_that_folds_can_judge_is_not_called_constant() -> None:
    """Of a modular sum all ones, the best probe on all pairs here, make all rows alike."""
    pairs_of_six = np.array(list(product(range(6), repeat=2)))
    one = signature(pairs_of_six, pairs_of_six.sum(1) % 6, 1)
    rows = np.random.default_rng(8).standard_normal((1, 6, 8))
    _, (followed,) = track("embedding", rows, {"order 1": one}, steps=1)
    assert np.isfinite(followed.by_step["held_out"]).any()
    assert not followed.constant


def test_order_2_of_many_tokens_needs_no_table_of_pairs_by_pairs() -> None:
    tracemalloc.start()
    values = RNG.random((4, 2, 120, 120))
    found = fit_probe(values + values.transpose(0, 1, 3, 2), np.eye(4)[None], steps=1, folds=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.numbers == 120 * 121 // 2
    assert peak < 60e6
