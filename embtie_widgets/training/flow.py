"""The plug-in that writes down who writes into the shared matrix, step by step."""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.gradient import (
    Products,
    band_numbers,
    flow_numbers,
    moment,
    row_numbers,
    row_products,
    scatter_rows,
    update_products,
    wide,
)
from embtie_widgets.results.groups import BANDS, band_places
from embtie_widgets.training.interventions import Intervention, Parts, Step, registered

# How far a part may be from products made another way, by the type of the gradients these are of.
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-3}
_ROUGH = 0.05
_UPDATE = {
    "update_input_norm": "input_norm",
    "update_output_norm": "output_norm",
    "update_share": "output_share",
    "update_norm_share": "norm_share",
}
Adam = Mapping[str, Any]


@registered("flow")
class FlowRecorder(Intervention):
    """Adds the curves of `results.gradient` to the rows of a run, and changes nothing.

    counts  (V,) of the run's own text, for the curves by band of frequency; None for no bands

    For an untied model the parts are the gradients of its two matrices.  At every logged step each
    part is checked against products that are made another way; an EmbtieError names the step at
    which one fails.
    """

    splits = True

    def __init__(self, counts: Any = None) -> None:
        self._bands = None if counts is None else torch.from_numpy(band_places(np.asarray(counts)))
        self._forget()

    def to_dict(self) -> dict[str, Any]:
        """Its kind alone: counts are those of the text, which a run names beside its plug-ins."""
        return {"kind": self.kind}

    def on_build(self, model: Any, run: str) -> None:
        """Begin anew."""
        self._forget()

    def _forget(self) -> None:
        self._sum: Products | None = None
        self._times: Tensor | None = None
        self._steps = 0
        self._moment: Tensor | None = None

    def on_gradients(self, step: Step) -> None:
        """Norms, angle and shares of the step's gradient."""
        if step.parts is None or not step.logged:
            return
        products, proxy = row_products(*step.parts), None
        if step.embedding_gradient is not None:
            proxy = torch.linalg.vector_norm(wide(step.embedding_gradient))
        step.metrics |= flow_numbers(products, proxy) | {"check": checked(step, step.parts)}
        if self._bands is not None:
            found = band_numbers(products, self._bands, len(BANDS))
            step.metrics["by_band"] = {name: values.tolist() for name, values in found.items()}
        here = torch.bincount(step.input_ids.flatten(), minlength=len(step.parts.input)).cpu() > 0
        self._times = here.long() if self._times is None else self._times + here
        self._sum = products if self._sum is None else self._sum + products
        self._steps += 1

    def after_step(self, step: Step) -> None:
        """The same of Adam's update, its first moment kept apart by the way that it came."""
        found = None if step.parts is None else _adam_of(step)
        if step.parts is None or found is None:
            return
        (group, state), (other_group, other) = found
        m_in, m_out = state["exp_avg"], other["exp_avg"]
        if state is other:
            m_in = self._kept(step.parts, step.clip, group["betas"][0], m_out)
        if step.logged:
            m_out = m_out - m_in if state is other else m_out
            adams = _moments(state, group), _moments(other, other_group)
            numbers = flow_numbers(update_products(m_in, m_out, adams))
            step.metrics |= {name: numbers[of] for name, of in _UPDATE.items()}

    def _kept(self, parts: Parts, clip: Any, beta: float, like: Tensor) -> Tensor:
        """The first moment of what comes by the input; that of the output is the rest."""
        kept = torch.zeros_like(like) if self._moment is None else self._moment.to(like)
        self._moment = moment(kept, parts.input, beta, clip)
        return self._moment

    def row_values(self) -> Mapping[str, Any]:
        """`results.gradient.ROW_VALUES` over the steps logged so far, each (V,)."""
        if self._sum is None or self._times is None:
            return {}
        return row_numbers(self._sum, self._steps, self._times)

    def state_dict(self) -> dict[str, Any]:
        """Sums over steps, and the first moment."""
        if self._times is None or self._sum is None:
            return {}
        sums = [getattr(self._sum, each.name) for each in fields(Products)]
        return {
            "steps": self._steps,
            "times": self._times,
            "products": sums,
            "moment": self._moment,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with them."""
        self._forget()
        if state:
            self._steps, self._times = int(state["steps"]), state["times"]
            self._sum = Products(*state["products"])
            self._moment = state["moment"]


def checked(step: Step, parts: Parts) -> float:
    """How far the parts are from products made another way, as a share of these; NaN for unknown.

    Each part is taken along one random direction v: G_in v is the sum of g_t v over the tokens,
    G_out v that of the logits' gradients times h_t v.
    """
    probe = torch.randn(parts.input.shape[1], generator=torch.Generator().manual_seed(0))
    probe, found, rough = probe.to(parts.input), [], False
    embedding, grads = step.model.get_input_embeddings(), step.embedding_gradient
    factor = _factor_of(embedding, step.input_ids[0, :8])
    if grads is not None and factor is not None:
        along = (wide(grads) @ probe * factor)[..., None]
        product = scatter_rows(step.input_ids, along, len(parts.input))[:, 0]
        if embedding.padding_idx is not None:
            product[embedding.padding_idx] = 0
        found.append(_apart(parts.input @ probe, product))
    if step.logit_gradient is not None and step.hidden is not None:
        logits, hidden = step.logit_gradient.flatten(0, -2), wide(step.hidden).flatten(0, -2)
        rough = logits.dtype not in _TOLERANCE
        product = logits.T @ (hidden @ probe.to(hidden)).to(logits)
        found.append(_apart(parts.output @ probe, product.to(parts.output)))
    check = max(found, default=math.nan)
    allowed = _ROUGH if rough else _TOLERANCE.get(parts.output.dtype, _ROUGH)
    if check > allowed:
        raise EmbtieError(
            f"At step {step.number:,} the parts of the gradient are off by {check:.2g} of their "
            "size from products that were made another way.",
            "Its split is not to be trusted: look for a plug-in that changes it, or another use "
            "of the matrix.",
        )
    return check


def _apart(part: Tensor, product: Tensor) -> float:
    size, left = (float(torch.linalg.vector_norm(x)) for x in (product, part - product))
    return left / size if size else left


def _factor_of(embedding: Any, ids: Tensor) -> float | None:
    """What the module multiplies its rows by; None where that is no one number."""
    with torch.no_grad():
        rows, made = embedding.weight[ids], embedding(ids)
        factor = float((made * rows).sum() / rows.square().sum())
        return factor if torch.allclose(made, factor * rows, rtol=1e-4) else None


def _moments(state: Adam, group: Adam) -> tuple[Tensor, int, Adam]:
    return state["exp_avg_sq"], int(state["step"]), group


def _adam_of(step: Step) -> list[tuple[Adam, Adam]] | None:
    """Group and state of the input and the output matrix; None where the optimiser is no Adam."""
    groups = {p: group for group in step.optimiser.param_groups for p in group["params"]}
    ends = step.model.get_input_embeddings().weight, step.model.get_output_embeddings().weight
    found = [(groups.get(end, {}), step.optimiser.state.get(end, {})) for end in ends]
    known = all("betas" in group and "exp_avg_sq" in state for group, state in found)
    return found if known else None
