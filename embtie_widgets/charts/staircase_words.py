"""What a staircase says in words: headline, captions, cautions, text of the command line."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from embtie_widgets.charts.staircase_view import (
    MOST_DRAWN,
    USUAL,
    Look,
    View,
    called_step,
    is_text,
    look,
    matrix_words,
    measure_of,
    number,
    signature_words,
    steps_of,
    values_of,
)
from embtie_widgets.results.staircase import SignatureTrack, StaircaseReport, StaircaseRun

_FALL = 0.1  # a correlation that ends so far below its highest value has fallen
_HIGH = 0.5  # from here on a matrix is said to follow a signature
_LOUD = 0.4  # from here on readers are told how far chance comes
_RISE = 0.9  # of its highest value: from there on a correlation has risen
_MEASURES = {
    "pearson": "Pearson correlation over pairs of anchors",
    "fit": "1 − the mean squared difference, since this signature does not vary",
    "held_out": "correlation over pairs that the probe was not fitted on",
}


def headline(result: StaircaseReport) -> str:
    """When each order was followed how well, of each run's first matrix; or that it waits."""
    if is_text(result) and any(len(run.steps) for run in result.runs.values()):
        return _beside_text(result)
    said = [_story(result, name, run) for name, run in result.runs.items() if len(run.steps) > 1]
    said += [_point(name, run) for name, run in result.runs.items() if len(run.steps) == 1]
    said = [one for one in said if one]
    if said:
        return " ".join(said)
    if result.failed and not result.runs:
        return "; ".join(result.failed.values())
    if any(run.tracks for run in result.runs.values()):
        return "Of anchors so few or so alike no correlation with a signature is defined."
    if result.runs and not result.progress:
        return "No signature was compared: sequences are too short for every order asked for."
    return "No step is known yet at which embeddings can be held against signatures."


def _beside_text(result: StaircaseReport) -> str:
    """How well each matrix agrees with what follows and what precedes tokens, the best first."""
    found: dict[str, list[tuple[float, str]]] = {}
    for name, run in result.runs.items():
        for track in run.tracks:
            values = values_of(track)
            if len(values) and np.isfinite(values[-1]):
                who = f"{matrix_words(track.matrix)} of {name}"
                found.setdefault(track.signature, []).append((float(values[-1]), who))
    said = [
        f"{signature_words(signature)} agrees {'best ' if len(known) > 1 else ''}with "
        + ", ".join(f"{who} ({number(value)})" for value, who in sorted(known, reverse=True))
        for signature, known in found.items()
    ]
    if not said:
        return "No signature of these tokens varies, so that no correlation is defined."
    return f"At the last step, {'; '.join(said)}. In brackets: correlation over pairs of tokens."


def _story(result: StaircaseReport, name: str, run: StaircaseRun) -> str:
    matrix = next(iter(run.matrices), "")
    own = [t for t in run.tracks if t.matrix == matrix and np.isfinite(values_of(t)).any()]
    parts = [_course(result, track, run) for track in own]
    if not parts:
        return ""
    who = (
        f"{name}: the {matrix_words(matrix)}"
        if len(result.runs) > 1
        else (f"The {matrix_words(matrix)}")
    )
    return f"{who} agrees with {'; '.join(parts)}.{_order_of(result, own, run)}"


def _course(result: StaircaseReport, track: SignatureTrack, run: StaircaseRun) -> str:
    """How one signature was followed: its highest value, and where it ends."""
    values = values_of(track)
    best = int(np.nanargmax(values))
    last = values[np.isfinite(values)][-1]
    name = signature_words(track.signature)
    how = {"held_out": ", held out,", "fit": ", by 1 − MSE since it does not vary,"}
    said = how.get(measure_of(track), "")
    where = called_step(result, run, best)
    if values[best] <= 0:
        return f"{name}{said} at no step ({number(values[best])} at most)"
    if best == len(values) - 1:
        return f"{name}{said} up to {number(last)} at the end"
    then = "then down to " if values[best] - last >= _FALL else ""
    top = f"{name}{said} up to {number(values[best])} at {where}"
    return f"{top}, {then}{number(last)} at the end"


def _order_of(result: StaircaseReport, tracks: list[SignatureTrack], run: StaircaseRun) -> str:
    """Which order was followed first, where several were and the steps tell.

    Of a fitted order what it adds counts: a probe of all ones repeats the order below.
    """
    risen = {}
    for track in tracks:
        values = values_of(track, "beyond" if "beyond" in track.by_step else "")
        known = np.isfinite(values).any()
        if measure_of(track) != "fit" and known and np.nanmax(values) >= _HIGH:
            risen[track.signature] = int(
                steps_of(run)[np.flatnonzero(values >= _RISE * np.nanmax(values))[0]]
            )
    if len(risen) < 2:
        return ""
    first, *later = sorted(risen, key=lambda name: risen[name])
    if risen[first] == risen[later[0]]:
        return " No order came first at these steps."
    return f" {first[0].upper()}{first[1:]} was followed before {later[0]}."


def _point(name: str, run: StaircaseRun) -> str:
    """One checkpoint alone."""
    parts = [
        f"{matrix_words(t.matrix)} and {signature_words(t.signature)} {number(values_of(t)[0])}"
        for t in run.tracks
        if len(values_of(t))
    ]
    return f"{name}: {'; '.join(parts)}." if parts else ""


def cautions(result: StaircaseReport) -> list[str]:
    """What to beware of when reading the numbers."""
    return list(_beware(result))


def _beware(result: StaircaseReport) -> Iterator[str]:
    tracks = [track for run in result.runs.values() for track in run.tracks]
    constant = sorted({signature_words(t.signature) for t in tracks if t.constant})
    if constant:
        names = " and ".join(constant)
        verb, it = ("are", "them") if len(constant) > 1 else ("is", "it")
        yield (
            f"{names[0].upper()}{names[1:]} {verb} the same for every pair of anchors: no "
            f"correlation with {it} is defined, and 1 − MSE is shown instead, which falls as "
            "embeddings learn to tell anchors apart."
        )
    if any("in_sample" in track.by_step for track in tracks):
        yield (
            "A probe of all ones turns order 1 into order 0, so a probe fitted and scored on the "
            "same pairs is never below order 0. Compare held-out values, and what a probe "
            "orthogonal to ones adds."
        )
    unknown = {signature_words(t.signature) for t in tracks if _never_held_out(t)}
    if unknown:
        yield (
            f"{' and '.join(sorted(unknown))} has no held-out value: there are too few pairs of "
            "anchors to leave some out, or all are alike."
        )
    chance = max(map(_chance, tracks), default=0.0)
    if chance >= _LOUD:
        yield (
            f"With {len(result.anchors):,} anchors, chance alone comes to {number(chance)} at some "
            "step: a correlation below that says little."
        )
    diverged = [name for name, run in result.runs.items() if run.about.get("diverged")]
    if diverged:
        yield f"{' and '.join(diverged)}: the loss was no longer finite, and training ended there."


def _chance(track: SignatureTrack) -> float:
    values = np.abs(values_of(track, "floor"))
    return float(values[np.isfinite(values)].max(initial=0))


def _never_held_out(track: SignatureTrack) -> bool:
    values = track.by_step.get("held_out")
    return values is not None and not np.isfinite(values).any()


def curves_caption(result: StaircaseReport, view: View = USUAL) -> str:
    """What the curves rest on."""
    measures = dict.fromkeys(
        measure_of(track) for run in result.runs.values() for track in run.tracks
    )
    said = [_MEASURES[name] for name in measures if name in _MEASURES]
    facts = [
        f"{len(result.anchors):,} anchors",
        _on_task(result),
        "with marks: " + ", or ".join(said) if said else "",
        _beside(result),
        _probe(result),
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _beside(result: StaircaseReport) -> str:
    known = {name for run in result.runs.values() for t in run.tracks for name in t.by_step}
    said = {
        "in_sample": "dashed and thin: over the pairs the probe was fitted on",
        "beyond": "dotted: held out, by a probe orthogonal to ones",
        "floor": "grey: chance, the same with shuffled anchors",
    }
    return "; ".join(words for name, words in said.items() if name in known)


def _probe(result: StaircaseReport) -> str:
    settings = result.settings
    if not any("held_out" in t.by_step for run in result.runs.values() for t in run.tracks):
        return ""
    return f"probes fitted in {settings.get('probe_steps', '?')} steps, " + (
        f"{settings['folds']} folds over pairs" if "folds" in settings else "held out"
    )


def _on_task(result: StaircaseReport) -> str:
    return _rule(result) or _of_text(result)


def _rule(result: StaircaseReport) -> str:
    rule, many = result.task.get("words"), result.task.get("sequences")
    return f"label {rule} of {many:,} sequences" if rule and isinstance(many, int) else ""


def _of_text(result: StaircaseReport) -> str:
    count = result.task.get("tokens of text")
    return f"statistics of {count:,} tokens of text" if isinstance(count, int) else ""


def maps_caption(result: StaircaseReport, view: View = USUAL) -> str:
    """What the heat maps show, and of how many anchors."""
    shown = look(result, view)
    if shown is None:
        return ""
    facts = [
        f"{shown.name} at {called_step(result, shown.run, shown.place)}",
        "cosine of raw rows of two anchors, beside that of their signatures, nothing centred",
        _seen_by_probe(shown),
        _how_many(result, shown),
        "after a signature's name how well it is followed, as in the curves",
        "anchors by likeness of their signatures" if view.arrange == "alike" else "",
        "colours from the least to the largest cosine of each map at any step"
        if view.spread
        else "the colour of 0 is that of the page",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _seen_by_probe(shown: Look) -> str:
    fitted = any(len(track.similarity) > 1 for track in shown.tracks)
    return "order 1 and above as the probe of this step sees them" if fitted else ""


def _how_many(result: StaircaseReport, shown: Look) -> str:
    known = len(result.anchors)
    if known > len(shown.order):
        return f"the first {MOST_DRAWN} of {known:,} anchors are drawn, every one is counted"
    return f"{known:,} anchors"


def points_caption(result: StaircaseReport, view: View = USUAL) -> str:
    """What the scatters show."""
    shown = look(result, view)
    if shown is None:
        return ""
    facts = [
        f"{shown.name} at {called_step(result, shown.run, shown.place)}",
        "first two principal components, of rows (with the share of the variance that they hold) "
        "and of signatures, turned to agree with the step before",
        "one colour for one anchor in all of them",
        _how_many(result, shown),
    ]
    return "; ".join(facts) + "."


def text(_request: Any, result: StaircaseReport) -> str:
    """The numbers at the last step, for the command line."""
    lines = [headline(result), *(f"{name}: {why}" for name, why in result.failed.items())]
    for name, run in result.runs.items():
        if not len(run.steps):
            continue
        lines += ["", f"{name}, {called_step(result, run, len(run.steps) - 1)}"]
        lines += [_line(track) for track in run.tracks]
    return "\n".join([*lines, "", *cautions(result)]).rstrip()


def _line(track: SignatureTrack) -> str:
    known = {name: float(values[-1]) for name, values in track.by_step.items() if len(values)}
    said = ", ".join(f"{name.replace('_', ' ')} {number(value, 3)}" for name, value in _told(known))
    return f"  {track.matrix:<12} {track.signature:<18} {said}"


def _told(known: dict[str, float]) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in known.items() if np.isfinite(value))
