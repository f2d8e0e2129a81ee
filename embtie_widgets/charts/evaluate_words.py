"""An evaluation in words: headline, captions, the command line's text."""

from typing import Any

from embtie_widgets.charts.evaluate_scores import difference
from embtie_widgets.charts.evaluate_view import (
    NAMES,
    SIDES,
    SIGMAS,
    is_text,
    metric_of,
    questions,
    score_of,
    text_of,
)
from embtie_widgets.charts.lens_words import name_of
from embtie_widgets.results.evaluate import (
    ACCURACY,
    TOKEN_PERPLEXITY,
    WORD_PERPLEXITY,
    Difference,
    Evaluation,
)


def headline(result: Evaluation) -> str:
    """How well each predicts the text, and on how many tasks they can be told apart."""
    parts = [part for part in (_of_text(result), _of_tasks(result)) if part]
    return " ".join(parts) or "The numbers come when a model has been through a task."


def _of_text(result: Evaluation) -> str:
    task = text_of(result)
    if task is None:
        return ""
    paired = result.paired.get(task, {})
    metric = TOKEN_PERPLEXITY if TOKEN_PERPLEXITY in paired else WORD_PERPLEXITY
    unit = "token" if metric == TOKEN_PERPLEXITY else "word"
    scores = {side: score_of(result, task, side, metric) for side in result.models}
    said = " and ".join(
        f"{name_of(result, side)} {one.value:,.1f}" for side, one in scores.items() if one
    )
    found = paired.get(metric)
    apart = "" if found is None else f"; B less A {difference(found, 1)}"
    return f"Perplexity by {unit}: {said}{apart}{_clear(found)}."


def _clear(found: Difference | None) -> str:
    if found is None or is_clear(found):
        return ""
    return ", no clear difference"


def is_clear(found: Difference) -> bool:
    """Whether 0 is outside the 95 % around a difference."""
    return found.stderr is not None and abs(found.value) > SIGMAS * found.stderr


def _of_tasks(result: Evaluation) -> str:
    tasks = questions(result)
    if not tasks:
        return ""
    if len(tasks) == 1:
        return _one_task(result, tasks[0])
    pairs = {t: result.paired.get(t, {}).get(metric_of(result, t, ACCURACY)) for t in tasks}
    known = {t: found for t, found in pairs.items() if found is not None}
    clear = [NAMES[t] for t, found in known.items() if is_clear(found)]
    where = f": {', '.join(clear)}" if clear else ""
    guessing = [NAMES[t] for t in tasks if _at_chance(result, t)]
    more = f" Neither is above chance on {', '.join(guessing)}." if guessing else ""
    return f"The items tell the two apart on {len(clear)} of {len(known)} tasks{where}.{more}"


def _one_task(result: Evaluation, task: str) -> str:
    scores = {side: score_of(result, task, side, ACCURACY) for side in result.models}
    said = " and ".join(
        f"{name_of(result, side)} {_percent(one.value)}" for side, one in scores.items() if one
    )
    chance = next((one.chance for one in scores.values() if one), None)
    guess = "" if chance is None else f", guessing {_percent(chance)}"
    found = result.paired.get(task, {}).get(ACCURACY)
    return f"{NAMES[task]}: {said} right{guess}{_clear(found)}."


def _at_chance(result: Evaluation, task: str) -> bool:
    """Whether chance is inside the 95 % of both."""
    scores = [score_of(result, task, side, ACCURACY) for side in SIDES]
    return all(
        one is not None
        and one.chance is not None
        and one.value - SIGMAS * (one.stderr or 0.0) <= one.chance
        for one in scores
    )


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def scores_caption(result: Evaluation) -> str:
    """What the chart of the tasks rests on."""
    asked = result.settings
    shots = asked.get("shots", 0)
    drawn = f", drawn with seed {asked.get('seed', 0)}" if shots else ""
    cut = f"the first {asked['limit']:,} items of each" if asked.get("limit") else "all items"
    return (
        f"Right answers through the lm-eval harness, {cut}, {shots} worked examples before each"
        f"{drawn}. Bars hold 95 %: another set of items would give another number. The dashed line "
        "is what guessing reaches. B − A is paired, item by item, so that it can be told from 0 "
        "where the bars overlap."
    )


def text_caption(result: Evaluation) -> str:
    """What the chart of the text rests on."""
    asked, task = result.settings, text_of(result)
    items = result.items[task] if task else None
    count = 0 if items is None else len(items.contexts)
    letters = 0 if items is None else sum(map(len, items.contexts))
    return (
        f"{letters:,} letters in {count:,} passages, read in windows of at most "
        f"{asked.get('length', 0):,} tokens that move on by {asked.get('stride', 0):,}; each token "
        "counts once. Bars hold 95 % over passages, which are not quite independent of one another."
    )


def plane_caption(result: Evaluation, task: str) -> str:
    """What the points are."""
    items = result.items.get(task)
    if items is None:
        return ""
    if is_text(items):
        return (
            "Each point is a passage, by the bits a byte of it takes in A, across, and in B, "
            "upwards; above the dotted line it is easier for A. Click one to read it."
        )
    return (
        "Each point is an item. Its margin is how much likelier the right choice is than the best "
        "wrong one: above 0 the model has it right. On the dotted line both are equally sure. "
        "Click one to read it."
    )


def cautions(result: Evaluation) -> list[str]:
    """What one should know before these numbers are repeated."""
    said = [f"{NAMES.get(task, task)}: {why}" for task, why in result.failed.items()]
    paired = result.paired.get(text_of(result) or "", {})
    if paired and TOKEN_PERPLEXITY not in paired:
        said.append(
            "The two models cut the text into different tokens: perplexities by token are not "
            "comparable, those by word and bits by byte are."
        )
    return said


def text(_request: Any, result: Evaluation) -> str:
    """What the command line prints: the sentence, the numbers, the differences, the notes."""
    frame = result.to_frame()
    shown = frame.drop(columns=["side"]).to_string(
        index=False, float_format="{:.4f}".format, na_rep="-"
    )
    apart = [
        f"{task} {metric}, B less A: {found.value:+.4f}"
        + ("" if found.stderr is None else f" ± {found.stderr:.4f}")
        for task, by_metric in result.paired.items()
        for metric, found in by_metric.items()
    ]
    return "\n".join([headline(result), "", shown, "", *apart, *cautions(result), *result.notes])
