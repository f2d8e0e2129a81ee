"""What neighbours and spectra say in words: headline and captions."""

from dataclasses import dataclass

from embtie_widgets.charts.sentences import closer, model_names, on_centring
from embtie_widgets.results.geometry import PairGeometry


@dataclass(frozen=True)
class _Side:
    """KNN@k with one side: mean, interval, and what chance gives."""

    mean: float
    low: float
    high: float
    floor: float

    @property
    def times(self) -> str:
        """How many times chance."""
        return _rough(self.mean / self.floor) if self.floor > 0 else "?"


def headline(result: PairGeometry) -> str:
    """What the neighbours say.

    One side is called closer only where the two 95 % intervals do not overlap.
    """
    out, into = _side(result, "Out->Tied"), _side(result, "In->Tied")
    if out is None or into is None:
        return _one_side(result)
    return f"{_nearest(result, out, into)} {_apart(result, out, into)}".strip()


def _nearest(result: PairGeometry, out: _Side, into: _Side) -> str:
    shared = (
        f"KNN@{result.k} is {_share(out.mean)} with the output and {_share(into.mean)} with the "
        "input"
    )
    if max(out.low - out.floor, into.low - into.floor) <= 0:
        return f"Neither side is above chance: {shared}, chance is {_share(out.floor)}."
    numbers = f"{shared}, {out.times} and {into.times} times what chance gives"
    if out.low > into.high:
        return f"{closer(result, 'output')}: {numbers}."
    if into.low > out.high:
        return f"{closer(result, 'input')}: {numbers}."
    return f"No clear difference between the two sides: {numbers}."


def _apart(result: PairGeometry, out: _Side, into: _Side) -> str:
    """Whether In and Out are closer to each other than Tied is to either."""
    own = _side(result, "In->Out")
    if own is None or own.low <= max(out.high, into.high):
        return ""
    return f"In and Out are closer to each other than Tied is to either: {_share(own.mean)}."


def _one_side(result: PairGeometry) -> str:
    missing = "The two sides cannot be compared: one of the matrices is missing."
    known = next(iter(result.overlaps), "")
    side = _side(result, known)
    if side is None:
        return missing
    names = known.replace("->", " and ")
    return (
        f"{missing} KNN@{result.k} of {names} is {_share(side.mean)}, {side.times} times what "
        "chance gives."
    )


def beside(result: PairGeometry) -> str:
    """What the graphs of neighbours say; empty where they were not compared."""
    found = result.spectral
    if not found.keys() >= {"Out->Tied", "In->Tied"}:
        return ""
    out, into = found["Out->Tied"], found["In->Tied"]
    said = (
        "Spectral distance, where smaller is closer: "
        f"{out.distance:.2f} to the output, {into.distance:.2f} to the input"
    )
    if out.floor is None or into.floor is None:
        return f"{said}."
    return f"{said}; unrelated graphs like these are {out.floor:.2f} and {into.floor:.2f} apart."


def _side(result: PairGeometry, name: str) -> _Side | None:
    one = result.overlaps.get(name)
    return None if one is None else _Side(one.mean, *one.interval, one.floor)


def caption(result: PairGeometry) -> str:
    """What the overlap chart rests on, as plain text."""
    settings = result.settings
    metric = "Euclidean" if settings.get("metric") == "euclidean" else "cosine"
    facts = [
        *_basis(result),
        f"{result.k:,} nearest by {metric}, {'' if settings.get('center') else 'not '}centred, "
        "the token itself left out",
        "95 % bootstrap intervals over tokens",
        _machine(result),
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _machine(result: PairGeometry) -> str:
    """How the matrices are stored, and where the neighbours were found."""
    stored = {str(one.spectrum.settings.get("stored", "")) for one in result.matrices.values()}
    devices = {str(one.settings.get("device", "")) for one in result.overlaps.values()}
    said = [f"stored as {', '.join(sorted(stored))}" if any(stored) else "", *sorted(devices)]
    return ", on ".join(word for word in said if word)


def spectra_caption(result: PairGeometry) -> str:
    """What the chart of spectra rests on, or why there is none."""
    if not result.matrices:
        return (
            "Not measured in this result: spectra, CKA and subspaces come with the exact one where "
            "its settings ask for them."
        )
    facts = [
        f"n = {len(result.tokens):,} tokens",
        " and ".join(model_names(result)),
        on_centring(result),
        "singular values over the Frobenius norm of the matrix",
        "columns centred" if result.settings.get("center") else "not centred",
        "markers at the effective rank",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def asked(result: PairGeometry) -> str:
    """How many of the tokens that take part were asked for their neighbours."""
    return f"{result.asked:,} of {int(result.usable.sum()):,} tokens"


def _basis(result: PairGeometry) -> list[str]:
    """Tokens and models."""
    total, used = len(result.tokens), int(result.usable.sum())
    left = f" ({total - used:,} without value)" if used < total else ""
    text = f"n = {used:,} tokens{left}"
    if result.sampled:
        seed = result.settings.get("seed", "?")
        text = f"{result.asked:,} of {text}, spread by seed {seed}, candidates are all"
    return [text, " and ".join(model_names(result)), on_centring(result)]


def _share(value: float) -> str:
    return f"{value:.3f}" if value >= 0.01 or value == 0 else f"{value:.2g}"


def _rough(times: float) -> str:
    """A ratio to two digits: 0.8, 2.4, 17, 940, 3,700."""
    if times < 10:
        return f"{times:.1f}"
    digits = len(str(int(times))) - 2
    return f"{round(times, -digits):,.0f}"
