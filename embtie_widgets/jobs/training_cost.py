"""What trainings will cost, and a split without one."""

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.requests import GradientFlowRequest, ModelRef
from embtie_widgets.requests.training import OWN_TOKENIZER, TRAIN_TOKENIZER, TrainingRequest
from embtie_widgets.training.presets import SIZES

WIDTH = SIZES["nano"][1]  # of the matrices of every preset that asks for no other size
_OWN_ROWS = 4_096
# Multiply-adds that passes over a logit cost in a step, and over a number in AdamW.
_PASSES, _UPDATE = 60.0, 40.0
# Numbers held for each logit, and bytes for each weight: itself, gradient, both moments, parts.
_LOGITS, _WEIGHT_BYTES = 4, 24
# Hidden numbers that a layer keeps for a token, over the width.
_STATES = 34
_KIND = "training"
SIZES_SEEN = ("parameters", "rows", "width", "layers")
READ = Estimate(0.3, 0)  # of a recorded file
_BEGIN_SECONDS, _STEP_SECONDS = 3.0, 0.01

_rows: dict[str, int] = {}
_sizes: dict[ModelRef, dict[str, int]] = {}


def saw_rows(request: TrainingRequest, rows: int) -> None:
    """Remember how many tokens a tokenizer has."""
    if request.tokenizer != TRAIN_TOKENIZER:
        _rows[request.tokenizer] = rows


def saw_sizes(ref: ModelRef, sizes: dict[str, int]) -> None:
    """Remember how large a model is: "parameters", "rows", "width", "layers"."""
    _sizes[ref] = sizes


def sizes_seen(ref: ModelRef) -> dict[str, int] | None:
    """What `saw_sizes` was told of a model; None while it is not known here."""
    return _sizes.get(ref)


def rows_of(request: TrainingRequest) -> int | None:
    """How many rows the matrices will have; None while the tokenizer is not known here."""
    if request.tokenizer == TRAIN_TOKENIZER:
        return request.vocabulary
    return _rows.get(request.tokenizer, _OWN_ROWS if request.tokenizer == OWN_TOKENIZER else None)


def training_work(
    request: TrainingRequest, tied: int, untied: int, size: str = "nano", extra_rows: int = 0
) -> Work | None:
    """So many runs of a recipe, one after the other; None where nothing can be said."""
    rows = rows_of(request)
    if rows is None:
        return None
    return work_of_runs(
        request.device,
        rows=rows + extra_rows,
        shape=SIZES[size],
        batch=request.batch,
        length=request.length,
        steps=request.steps,
        tied=tied,
        untied=untied,
    )


def work_of_runs(
    device: str,
    *,
    rows: int,
    shape: tuple[int, int, int],
    batch: int,
    length: int,
    steps: int,
    tied: int,
    untied: int,
) -> Work:
    """So many tied and untied runs of one `shape`: layers, width, and width inside the MLP."""
    layers, width, inner = shape
    body = layers * width * (4 * width + 3 * inner)
    tokens, matrix = batch * length, rows * width
    runs, matrices = tied + untied, tied + 2 * untied
    read = matrix + body + 2 * layers * length * width
    step = tokens * (3.0 * read + _PASSES * rows)
    updates = _UPDATE * (matrices * matrix + runs * body)
    weights = (2 if untied else 1) * matrix + body
    states = _STATES * layers * width * tokens
    return Work(
        _KIND,
        device,
        operations=steps * (runs * step + updates),
        bytes=4 * (_LOGITS * tokens * rows + states) + _WEIGHT_BYTES * weights,
        seconds=runs * (_BEGIN_SECONDS + _STEP_SECONDS * steps),
    )


def split_work(request: GradientFlowRequest) -> Work | None:
    """A split of a loaded model on a text; None while its size is not known here."""
    sizes = sizes_seen(request.model)
    if sizes is None:
        return None
    tokens, rows = request.batch * request.length, sizes["rows"]
    step = tokens * (3.0 * sizes["parameters"] + _PASSES * rows)
    held = 4 * _LOGITS * tokens * rows + 4 * 4 * rows * sizes["width"]
    states = 4 * _STATES * sizes["layers"] * sizes["width"] * tokens
    return Work(
        request.kind,
        request.device,
        operations=request.batches * step,
        bytes=4 * sizes["parameters"] + held + states,
        seconds=_BEGIN_SECONDS,
    )


def work_of(request: GradientFlowRequest) -> Work | None:
    """What a run of the request consists of; None where nothing can be said."""
    if request.source == "train":
        return training_work(request, tied=1, untied=1)
    return split_work(request) if request.source == "text" else None


def estimate_flow(request: GradientFlowRequest) -> Estimate | None:
    """The cost of a request, next to nothing for a file; None for a model or tokenizer not seen
    yet, and for a run that somebody else writes."""
    if request.source == "file":
        return READ
    return experience.estimate(work_of(request))
