"""Counting parameters: arithmetic on shapes, whoever tells them."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.results import Parameters

Shape = tuple[int, ...]

ONE, TWO = "one", "two"

# Tables that some releases store although they are made from the configuration.
_NOT_TRAINED = re.compile(
    r"(rotary_emb\.inv_freq|masked_bias|position_ids|token_type_ids|final_logits_bias)$"
)
_MASK = re.compile(r"(\.attn|\.attention)\.bias$")
_PACKED = re.compile(
    r"(\.(qweight|qzeros|weight_packed|SCB|absmax|weight_scale\w*)|quant_state\.\w+"
    r"|_proj_(blocks|scales))$"
)


@dataclass(frozen=True)
class Sized:
    """What a source knows of a model's size without its weights.

    stored  number of parameters that are there, shared ones once
    input   (V, d) of the input matrix, or of the one that is there
    output  (V', d) of an output matrix of its own, None where there is none
    """

    stored: int
    input: Shape
    output: Shape | None = None
    status: str = ""
    notes: tuple[str, ...] = ()
    model: dict[str, Any] = field(default_factory=dict)


def count(sized: Sized) -> Parameters:
    """The five numbers, exact.

    An untied form has one matrix more than a tied one, of the input's size.  A head of another
    height counts as it is stored: there the untied form is the model itself.
    """
    if 0 in sized.input:
        raise EmbtieError(
            f"The input matrix is empty: its shape is {' x '.join(map(str, sized.input))}.",
            "Choose the checkpoint of a language model.",
        )
    one = math.prod(sized.input)
    head = None if sized.output is None else math.prod(sized.output)
    body = sized.stored - one - (head or 0)
    if body < 0:
        raise EmbtieError(
            "The matrices are larger than the model that they were found in.",
            "The checkpoint's headers contradict each other; download it again.",
        )
    both = one + (one if head is None else head)
    rows, width = sized.input
    settings = {
        "model": dict(sized.model),
        "rows": rows,
        "width": width,
        "stored": sized.stored,
        "matrices": ONE if head is None else TWO,
        "status": sized.status,
    }
    if sized.output is not None and sized.output[0] != rows:
        settings["output_rows"] = sized.output[0]
    return Parameters(
        untied=body + both,
        tied=body + one,
        saved=both - one,
        embedding=both,
        share=both / (body + both),
        notes=sized.notes,
        settings=settings,
    )


def trained(shapes: Mapping[str, Shape | None]) -> dict[str, Shape]:
    """The tensors that are parameters, each once.

    Left out are tables that follow from the configuration, and the second names under which some
    files of encoder-decoder models hold the one shared matrix again.
    """
    known = {name: shape for name, shape in shapes.items() if shape is not None}
    shared = {shape for name, shape in known.items() if re.search(r"(^|\.)shared\.weight$", name)}
    return {
        name: shape
        for name, shape in known.items()
        if not _made(name, shape) and not (_second_name(name) and shape in shared)
    }


def packed(names: Iterable[str]) -> bool:
    """Whether the names are those of a quantised model, whose shapes are not the weights'."""
    return any(_PACKED.search(name) for name in names)


def _made(name: str, shape: Shape) -> bool:
    # A mask has four axes; a bias of the same name, one.
    return bool(_NOT_TRAINED.search(name) or (_MASK.search(name) and len(shape) > 1))


def _second_name(name: str) -> bool:
    return re.search(r"(^|\.)(encoder|decoder)\.embed_tokens\.weight$", name) is not None
