"""What turning up the input says in words: headline, captions, cautions, the published numbers."""

from typing import Any

from embtie_widgets.charts.columns import number
from embtie_widgets.results.scaling import TO, Change, ScaledRun, ScalingReport

SMOOTH = 20
_AT_CHANCE = 0.02  # so near to chance that an eye would not tell them apart
_MAPS = {
    "identity": "no map",
    "orthogonal": "the best rotation or reflection",
    "linear": "the best linear map",
}
ON_PUBLISHED = (
    "OLMo-1B against the untied OLMo-1B-0724, orthogonal map, fitted and scored on the same "
    "tokens. A rotation of 50,304 unrelated rows of width 2,048 reaches 0.17 that way, "
    "8/(3 pi) sqrt(d/V): part of these numbers, the cosines to the input at 1,000 steps, stand at "
    "chance and say nothing. The models here have other sizes, texts and lengths of training, so "
    "compare which way the numbers go, not the numbers."
)


def times(factor: float) -> str:
    """A factor as it is read: ×5."""
    return f"×{factor:g}"


def until(run: ScaledRun, steps: int) -> str:
    """For how long the factor counts; empty where that is all the way."""
    return f"first {run.until:,} steps" if run.factor != 1 and run.until < steps else ""


def title(result: ScalingReport, run: ScaledRun) -> str:
    """A run in words: ×5, first 100 steps."""
    return ", ".join(part for part in (times(run.factor), _until(result, run)) if part)


def _until(result: ScalingReport, run: ScaledRun) -> str:
    return until(run, int(result.settings.get("steps", run.until)))


def headline(result: ScalingReport) -> str:
    """What the strongest factor has moved, and what it costs."""
    if result.plain is None:
        return f"In training: {result.progress or 'no tied model has come to its end'}."
    if not result.scaled:
        return _standing(result, result.plain)
    factors = [run.factor for run in result.scaled]
    run = result.scaled[-1] if max(factors) > 1 else result.scaled[0]
    return f"{_movement(result, run)} {_cost(result, run)}".strip()


def _standing(result: ScalingReport, run: ScaledRun) -> str:
    """Where the plain run stands, while there is nothing to hold against it."""
    near = {to: _best(run, to) for to in TO}
    return (
        f"Without scaling, the tied matrix has a mean cosine of {number(near['output'], 2)} with "
        f"the untied output and {number(near['input'], 2)} with the untied input, {_kind(run)}."
    )


def _movement(result: ScalingReport, run: ScaledRun) -> str:
    early = _until(result, run)
    name = f"{times(run.factor)}{f' in the {early}' if early else ''}"
    seen = [to for to in TO if not (_at_chance(run, to) and _at_chance(result.plain, to))]
    if not seen:
        return f"What {name} moves cannot be seen: every cosine stands at chance. Train longer."
    said = ", ".join(_from_to(result, run, to) for to in reversed(seen))
    unseen = "".join(f"; with the {to} both are at chance" for to in TO if to not in seen)
    way = _direction({to: result.change(run, to) for to in seen})
    return f"{name} {way}: the mean cosine goes {said}, {_kind(run)}{unseen}."


def _from_to(result: ScalingReport, run: ScaledRun, to: str) -> str:
    """Before and now, with a third digit where two do not tell them apart."""
    assert result.plain is not None  # noqa: S101 - `scaled` runs are there
    pair = (_best(result.plain, to), _best(run, to))
    places = 2 if number(pair[0], 2) != number(pair[1], 2) else 3
    before, now = (number(value, places) for value in pair)
    return f"with the {to} from {before} to {now}"


def _at_chance(run: ScaledRun | None, to: str) -> bool:
    return run is None or abs(run.nearness[to].mean - run.nearness[to].floor) < _AT_CHANCE


def _direction(changes: dict[str, Change]) -> str:
    """Which way the matrix has gone, as far as intervals of the paired differences are clear."""
    clear = {to: change for to, change in changes.items() if change.clear}
    if not clear:
        return "leaves the tied matrix where it was"
    ways = [
        f"{'nearer' if change.mean > 0 else 'farther from'} the {to}"
        for to, change in clear.items()
    ]
    rest = [f", and leaves it as near the {to}" for to in changes if to not in clear]
    return f"moves the tied matrix {' and '.join(ways)}{''.join(rest)}"


def _cost(result: ScalingReport, run: ScaledRun) -> str:
    plain = result.plain
    if plain is None or run.held_loss is None or plain.held_loss is None:
        return ""
    more = run.held_loss - plain.held_loss
    said = f"{number(abs(more))} nats {'higher' if more > 0 else 'lower'}"
    return f"The loss on text held out is {said} than without."


def _best(run: ScaledRun, to: str) -> float:
    """The held-out mean where there is one."""
    near = run.nearness[to]
    return near.mean if near.heldout is None else near.heldout


def _kind(run: ScaledRun) -> str:
    held = all(run.nearness[to].heldout is not None for to in TO)
    return "on held-out tokens" if held else "in-sample"


def cautions(result: ScalingReport) -> list[str]:
    """What to read before the numbers."""
    found = []
    if result.settings.get("share_start"):
        found.append(
            "The tied matrix has started as a copy of the untied input: the two agree before any "
            "training, so their cosine says little about it."
        )
    at = [
        f"{times(run.factor)} to the {to}"
        for run in result.whole
        for to in TO
        if _at_chance(run, to)
    ]
    if at:
        found.append(f"At chance, and so without a meaning: {', '.join(at)}. Train longer.")
    return found


def caption(result: ScalingReport) -> str:
    """What the chart of alignment rests on."""
    settings = result.settings
    held = settings.get("holdout") or 0
    map_ = settings.get("map", "?")
    facts = [
        f"Tied matrix against the two of an untied model, trained on the same batches; {map_} map "
        f"({_MAPS.get(map_, '?')}), centred",
        f"{held:.0%} of the tokens held out".replace("%", " %") if held else "no hold-out",
        "chance: rows shuffled",
        _recipe(result),
        "95 % intervals over tokens; what another seed would change is not in them",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _recipe(result: ScalingReport) -> str:
    known = result.settings
    # None of the scaled runs may have begun; then the request says for how long they will be.
    asked = int(known.get("early", 0))
    early = min((run.until for run in result.runs if run.factor != 1), default=asked)
    facts = [
        str(known.get("preset", "")),
        f"{known['steps']:,} steps of {known['batch']} × {known['length']} tokens"
        if {"steps", "batch", "length"} <= known.keys()
        else "",
        f"factor in the first {early:,} steps" if known.get("schedule") == "early" else "",
        f"seed {known['seed']}" if "seed" in known else "",
    ]
    return ", ".join(fact for fact in facts if fact)


def token_caption(result: ScalingReport) -> str:
    """What the scatter of tokens rests on."""
    return (
        "Moved: cosine to the untied input minus cosine to the untied output, less the same of the "
        f"model without scaling. {_recipe(result)}; {result.settings.get('map', '?')} map, fitted "
        "on all tokens."
    )


def training_caption(result: ScalingReport) -> str:
    """What the curves of the training rest on."""
    return (
        f"Loss of each step's batch, the same for all models, and the share |G_out| / (|G_in| + "
        f"|G_out|) of the tied matrix's gradient after the factor; means of {SMOOTH} steps. "
        f"{_recipe(result)}."
    )


def text(_request: Any, result: ScalingReport) -> str:
    """What the command line prints: the sentence, a line for each factor, the notes."""
    untied = result.untied.get("held_loss")
    parts = [
        headline(result),
        _lines(result),
        f"untied, loss held out: {untied:.4f}" if untied is not None else "",
        "\n".join(f"beware: {said}" for said in cautions(result)),
        "\n".join(f"note: {note}" for note in result.notes),
    ]
    return "\n\n".join(part for part in parts if part)


def _lines(result: ScalingReport) -> str:
    """A line for each factor, without the ends of intervals."""
    frame = result.to_frame()
    if frame.empty:
        return ""
    kept = [name for name in frame if not str(name).endswith((" low", " high"))]
    whole: Any = {"factor": "{:g}".format, "until": "{:.0f}".format}
    numbers = frame[kept].astype(float)
    return str(
        numbers.to_string(index=False, formatters=whole, float_format="{:.4f}".format, na_rep="-")
    )
