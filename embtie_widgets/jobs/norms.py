"""From a NormFrequencyRequest to a PairNorms: load, match, count, check, measure."""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs.cache import entry_key, kept_or_made, latest, recall
from embtie_widgets.jobs.counting import count_tokens, known_text
from embtie_widgets.jobs.estimate import timed
from embtie_widgets.jobs.norms_cost import work_of
from embtie_widgets.jobs.pair_results import common_fields, pair_notes
from embtie_widgets.jobs.pairs import OpenPair, is_here, open_pair
from embtie_widgets.measures.correlation import correlate
from embtie_widgets.measures.frequency import check_norms, of_norms
from embtie_widgets.measures.matrices import survey
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests.corpus import BUNDLED, DATASETS, OWN
from embtie_widgets.requests.norms import NormFrequencyRequest
from embtie_widgets.results import Counts
from embtie_widgets.results.groups import groups_of
from embtie_widgets.results.norms import Correlation, NormFrequency, PairNorms
from embtie_widgets.sources.corpora import find_corpus
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.permission import is_served
from embtie_widgets.sources.tokenizing import tokenizer_of

Vector = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class _Counted:
    """Counts of the n matched tokens by model, "A" and "B", (n,) each, and where they are from.

    One model stands for both where they cut the text alike, or where only one has counts.
    """

    matched: dict[str, Vector]
    sources: dict[str, Counts]
    notes: tuple[str, ...] = ()

    def fingerprint(self) -> dict[str, str]:
        """Hashes of the counts, which belong to the name of a kept result."""
        sides = {f"counts {side}": vector for side, vector in self.matched.items()}
        return {k: hashlib.sha256(v.astype("<i8").tobytes()).hexdigest() for k, v in sides.items()}

    def of(self, name: str) -> Vector:
        """The counts for the matrix of this name: those of its own model, if it has any."""
        return self.matched.get("B" if name == "Tied" else "A", next(iter(self.matched.values())))


def run_norms(request: NormFrequencyRequest, progress: Progress) -> PairNorms:
    """Set the norms of two models' rows against the counts of the tokens that both have."""
    if request.corpus.ref != OWN:
        find_corpus(request.corpus)  # what is mistyped is told before models are loaded for it
    pair = open_pair(request, progress)
    counted = _count(request, pair, progress)
    progress("looking for an earlier result", 0, 1)
    found: PairNorms = kept_or_made(
        request,
        pair.fingerprint | counted.fingerprint(),
        lambda: timed(
            work_of(request),
            lambda: _measure(request, pair, counted, progress),
            gathered=pair.roles.copied(gathered=False),
        ),
    )
    return found


def look_up(request: NormFrequencyRequest) -> PairNorms | None:
    """What an earlier run has left; nothing where the text would have to be read first to know
    whether it is still the same.  Where models or data set are on the hub, that is the result that
    came last; a visitor of a page is told of no text but ours."""
    corpus = request.corpus
    if corpus.ref not in (OWN, BUNDLED) and is_served():
        return None
    text = known_text(corpus)
    if (corpus.ref == OWN or text) and is_here(request.a) and is_here(request.b):
        pair = open_pair(request)
        counted = _count(request, pair, silent)
        found: PairNorms | None = recall(
            entry_key(request, pair.fingerprint | counted.fingerprint())
        )
        return found
    last: PairNorms | None = latest(request)
    if last is None or corpus.ref == OWN or corpus.ref.startswith(DATASETS):
        return last
    return last if all(one.sha256 == text for one in last.corpora.values()) else None


def _count(request: NormFrequencyRequest, pair: OpenPair, progress: Progress) -> _Counted:
    return (_own if request.corpus.ref == OWN else _read)(request, pair, progress)


def _own(_request: NormFrequencyRequest, pair: OpenPair, progress: Progress) -> _Counted:
    """The counts that come with the models, each its own where both bring some."""
    known = {side: model for side, model in _models(pair) if model.token_counts is not None}
    if not known:
        raise EmbtieError(
            f"Neither {pair.a.name} nor {pair.b.name} brings counts of its tokens.",
            "Choose a corpus to count them in: the bundled English text, a text of your own, a "
            "data set, or a ready count file.",
        )
    return _matched(pair, {side: count_tokens(OWN, one, progress) for side, one in known.items()})


def _read(request: NormFrequencyRequest, pair: OpenPair, progress: Progress) -> _Counted:
    """The counts of a text or of a count file; a tokenizer that both have is asked once."""
    found: dict[str, Counts] = {}
    failed: list[EmbtieError] = []
    for side, model in _models(pair):
        if found and _one_tokenizer(pair):
            break
        try:
            found[side] = count_tokens(request.corpus, model, progress)
        except Interrupted:
            raise
        except EmbtieError as error:
            failed.append(error)
    if not found:
        raise failed[0]
    why = tuple(error.message for error in failed)
    if len(found) == 2 and _of_one_alone(pair, found["A"]):
        why = (f"{found['A'].name} says no tokens: its rows are taken as those of {pair.a.name}.",)
        del found["B"]
    return _matched(pair, found, why)


def _of_one_alone(pair: OpenPair, counts: Counts) -> bool:
    """Whether counts by row cannot be those of both models, since their tokens have other rows."""
    by_row = bool(counts.settings.get("by row"))
    return by_row and not np.array_equal(pair.matched.rows_a, pair.matched.rows_b)


def _models(pair: OpenPair) -> list[tuple[str, Loaded]]:
    return [("A", pair.a), ("B", pair.b)]


def _one_tokenizer(pair: OpenPair) -> bool:
    try:
        return tokenizer_of(pair.a).sha256 == tokenizer_of(pair.b).sha256
    except EmbtieError:
        return False


def _matched(pair: OpenPair, found: dict[str, Counts], why: tuple[str, ...] = ()) -> _Counted:
    """The counts of the matched tokens; a model without counts takes those of the other."""
    for counts in found.values():
        _check_total(counts)
    rows = {"A": pair.matched.rows_a, "B": pair.matched.rows_b}
    kept = {side: one.counts[rows[side]].astype(np.int64) for side, one in found.items()}
    notes = [*why, *(note for counts in found.values() for note in counts.notes)]
    if len(kept) == 2 and np.array_equal(kept["A"], kept["B"]):
        del kept["B"]
    elif len(kept) == 1 and not _one_tokenizer(pair):
        notes.append(
            f"Only {next(iter(kept))} has counts; a token of the other model is taken to occur as "
            "often as the same token there."
        )
    return _Counted(kept, {side: found[side] for side in kept}, tuple(dict.fromkeys(notes)))


def _check_total(counts: Counts) -> None:
    """Every token that was counted stands in some row, or nothing is given out."""
    rows = int(counts.counts.sum()) + counts.unknown
    if rows != counts.total:
        raise EmbtieError(
            f"The identity check failed: the rows hold {rows:,} tokens, and {counts.total:,} were "
            "counted.",
            "The result is withheld. Please report the model and the corpus.",
        )


def _measure(
    request: NormFrequencyRequest, pair: OpenPair, counted: _Counted, progress: Progress
) -> PairNorms:
    matrices = pair.roles.matrices(progress)
    whole = {name: survey(m, progress)[0].numpy() for name, m in matrices.items()}
    rows, seed = pair.roles.rows, request.seed
    check = max(check_norms(m, whole[name]) for name, m in matrices.items())
    progress("correlating", 0, 1)
    found = {
        name: _one(pair, name, whole[name][rows[name]], counted.of(name), seed) for name in whole
    }
    result = PairNorms(
        matrices=found,
        groups=(),
        between=_between(found, seed),
        frobenius={name: frobenius(norms) for name, norms in whole.items()},
        corpora=counted.sources,
        checks={"largest relative error of a norm": check},
        notes=tuple(_notes(pair, counted, found)),
        **common_fields(request, pair) | {"token_counts": counted.of("In")},
    )
    norms = {name: one.norm for name, one in found.items()}
    return replace(result, groups=group_means(groups_of(result), norms, (0.0, math.inf)))


def _one(pair: OpenPair, name: str, norms: Vector, counts: Vector, seed: int) -> NormFrequency:
    found = of_norms(norms, counts, seed)
    stored = str(pair.roles.stored[name].dtype).removeprefix("torch.")
    return replace(
        found,
        settings=found.settings | {"stored": stored},
        hashes={"x": pair.roles.hashes[name]},
    )


def _between(found: dict[str, NormFrequency], seed: int) -> dict[str, Correlation]:
    """How the norms of the same tokens go together in each two of the matrices."""
    pairs = {}
    for first, second in combinations(found, 2):
        x, y = found[first].norm, found[second].norm
        both = (x > 0) & (y > 0)
        pairs[f"{first}, {second}"] = correlate(x[both], y[both], seed)
    return pairs


def frobenius(norms: Vector) -> float:
    """The Frobenius norm of a matrix (V, d) by the norms (V,) of its rows, of those that are
    finite."""
    return float(np.linalg.norm(norms[np.isfinite(norms)]))


def _notes(pair: OpenPair, counted: _Counted, found: dict[str, NormFrequency]) -> Iterator[str]:
    yield from pair_notes(pair)
    yield from counted.notes
    for name, one in found.items():
        for reason, rows in one.settings["left_out"].items():
            many = one.settings["rows_left_out"][reason]
            if many:
                yield f"{name}: {many:,} rows are left out, being {reason}: {_rows(rows, many)}."


def _rows(rows: list[int], many: int) -> str:
    """Rows of the match by their places."""
    more = f" and {many - len(rows):,} more" if many > len(rows) else ""
    return "tokens " + ", ".join(map(str, rows)) + more
