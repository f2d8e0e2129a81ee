"""The alignment recipe again, independently: plain numpy and scipy in float64."""

import numpy as np
import scipy.linalg


def cosines(x, y, kind, center=True, fit_rows=None, score_rows=None):
    """Per-row cosines of the mapped rows, fitted on `fit_rows` and scored on `score_rows`."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    fit = np.arange(len(x)) if fit_rows is None else fit_rows
    score = fit if score_rows is None else score_rows
    mean_x = x[fit].mean(0) if center else 0.0
    mean_y = y[fit].mean(0) if center else 0.0
    mapping = _map(x[fit] - mean_x, y[fit] - mean_y, kind)
    mapped, target = (x[score] - mean_x) @ mapping, y[score] - mean_y
    lengths = np.linalg.norm(mapped, axis=1) * np.linalg.norm(target, axis=1)
    return (mapped * target).sum(1) / lengths


def _map(x, y, kind):
    if kind == "identity":
        return np.eye(x.shape[1])
    if kind == "orthogonal":
        return scipy.linalg.orthogonal_procrustes(x, y)[0]
    return np.linalg.lstsq(x, y, rcond=None)[0]
