"""What a SignaturesRequest will cost, as far as can be said without a network or a model."""

from dataclasses import replace

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.jobs.training_cost import training_work
from embtie_widgets.requests.signatures import SignaturesRequest
from embtie_widgets.sources.named_models import BUNDLED

BUNDLED_CHECKPOINTS = 6
_TEXT = Estimate(3.0, 150_000_000)  # reading a text and counting in it
# Of a probe: contexts, directions of labels, and how often a fold is fitted.
_CONTEXTS, _DIRECTIONS, _PER_FOLD = 32, 64, 3
# Its products are small, and pass over each number so often as this many multiply-adds would take.
_SMALL = 10.0
_SAVED = 20  # checkpoints of a training, about
# Ranks of all pairs and principal components, of a matrix and a signature; what is kept of them.
_PAIR_SECONDS, _PAIR_BYTES = 7e-7, 4


def estimate_signatures(request: SignaturesRequest) -> Estimate | None:
    """Of twins their training, of bundled models little; None for models whose size is not known
    here, and for a run that somebody else writes."""
    if request.source == "train":
        work = training_work(request, tied=1, untied=1)
        return _sum(experience.estimate(work), _compared(request, 3 * _SAVED))
    if request.source == "model" and all(model.ref in BUNDLED for model in request.models):
        count = len(request.revisions) or min(request.count + 1, BUNDLED_CHECKPOINTS)
        return _sum(_TEXT, _compared(request, 2 * len(request.models) * count))
    return None


def probe_work(request: SignaturesRequest, matrices: int) -> Work | None:
    """Fitting the probes of so many matrices; None without context."""
    if not request.context:
        return None
    anchors = _anchors(request)
    numbers = anchors * _DIRECTIONS
    once = _SMALL * 4.0 * numbers * (_CONTEXTS + anchors)
    fits = (1 + _PER_FOLD * request.folds) * request.probe_steps * len(request.directions)
    return Work(
        "probes",
        "cpu",
        operations=matrices * fits * once,
        bytes=8 * numbers * (_CONTEXTS + 4 * _PER_FOLD * request.folds),
    )


def _anchors(request: SignaturesRequest) -> int:
    return len(request.chosen) or request.anchors


def _compared(request: SignaturesRequest, matrices: int) -> Estimate:
    """All pairs of anchors, and the probes."""
    pairs = matrices * len(request.directions) * _anchors(request) ** 2
    known = Estimate(_PAIR_SECONDS * pairs, _PAIR_BYTES * pairs)
    work = probe_work(request, matrices)
    return known if work is None else _sum(experience.estimate(work), known) or known


def _sum(one: Estimate | None, other: Estimate) -> Estimate | None:
    if one is None:
        return None
    return replace(one, seconds=one.seconds + other.seconds, bytes=max(one.bytes, other.bytes))
