"""The lens in words: what each curve means, headline, captions, the command line's text."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

from embtie_widgets.results.lens import InformationFloor, Lens, PairLens


@dataclass(frozen=True)
class Measure:
    """A curve: the field of `Lens` that holds it, its names, and a sentence with unit and range."""

    field: str
    label: str
    axis: str
    says: str
    log: bool = False
    rises: bool = False


MEASURES = {
    "kl": Measure(
        "kl_bits",
        "KL",
        "KL(final || lens), bits",
        "How far the model's final answer is from what the lens reads at this point, in bits: 0 "
        "where they are the same, and no upper end.",
    ),
    "entropy": Measure(
        "entropy_bits",
        "Entropy",
        "entropy of the lens, bits",
        "How undecided the lens is, in bits: 0 where it is sure of one token, log2 of the "
        "vocabulary where all tokens are equally likely.",
    ),
    "agreement": Measure(
        "agreement",
        "Top-1 agreement",
        "same likeliest token as the model, % of positions",
        "At which share of the positions the lens's likeliest token is the model's own: 0 to "
        "100 %.",
        rises=True,
    ),
    "rank": Measure(
        "mean_rank",
        "Mean rank",
        "mean rank of the model's token, logarithmic",
        "Which place the model's likeliest token has in the lens, on average: 1 is the first, the "
        "size of the vocabulary the last.",
        log=True,
    ),
}
LENS_WORDS = {
    "logit": "Each state goes through the model's own final norm and unembedding as it is; nothing "
    "is trained.",
    "tuned": "Each state first goes through a trained affine map of its layer, which undoes a "
    "drift of the basis from layer to layer.",
}
MODE_WORDS = {
    "tuned": {
        "corrected": "Each state meets the translator of its own layer, the last state none: there "
        "the lens is the model, and KL is 0.",
        "paper": "As in the paper's released evaluation: from layer 1 on a state meets the "
        "translator of the layer before, and the last state, normed already, the last translator "
        "and the norm again, so that KL does not end at 0.",
    },
    "logit": {
        "corrected": "Each state is read as the last one is: there the lens is the model, and KL "
        "is 0.",
        "paper": "As in the paper's released evaluation: the last state is normed twice, so that "
        "KL does not end at 0, unless the final norm has no weights, which leaves a normed state "
        "as it is.",
    },
}
"""By lens and mode."""


class OfModels(Protocol):
    """A result that knows its models by side."""

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """Facts of each, its name, revision and whether it is tied among them."""


def name_of(result: OfModels, side: str) -> str:
    """What a model is called; where both have one name, with their revision or their letter."""
    names = {s: str(facts.get("name") or s) for s, facts in result.models.items()}
    if len(set(names.values())) == len(names):
        return names.get(side, side)
    return f"{names.get(side, side)} ({result.models[side].get('revision') or side})"


def short(name: str, most: int = 26) -> str:
    """The end of a long name: what tells models of one family apart stands there."""
    return name if len(name) <= most else f"…{name[1 - most :]}"


def guess(result: PairLens, side: str, measure: str) -> float | None:
    """What a lens that holds every token equally likely has; None where that is no help."""
    rows, one = int(result.models[side].get("rows") or 0), result.lenses[side]
    if not rows or measure == "agreement":
        return None
    if measure == "rank":
        return (rows + 1) / 2
    if measure == "entropy":
        return math.log2(rows)
    # Only where the last point is the model itself is its entropy there the model's own.
    exact = one.settings.get("mode", "corrected") == "corrected"
    own = float(one.entropy_bits[-1])
    return math.log2(rows) - own if exact and math.isfinite(own) else None


def headline(result: PairLens) -> str:
    """How far the embedding is from the final answer in each model, and from the floor."""
    if result.progress and not result.lenses:
        return f"Training the translators: {result.progress}."
    if not result.lenses:
        return "Neither curve can be drawn; the reasons stand in the chart."
    known = {side: float(one.kl_bits[0]) for side, one in result.lenses.items()}
    order = sorted((s for s in known if math.isfinite(known[s])), key=lambda side: -known[side])
    blank = [name_of(result, side) for side in known if side not in order]
    without = f" {' and '.join(blank)}: no value, since numbers are not finite." * bool(blank)
    if not order:
        return without.strip()
    far, *near = [(name_of(result, s), f"{result.lenses[s].kl_bits[0]:.2f}") for s in order]
    less = "".join(f", {name} {bits}" for name, bits in near)
    return (
        f"At the embedding, {far[0]} is {far[1]} bits from its final answer{less}"
        f"{_above(result, order)}.{without}"
    )


def _above(result: PairLens, order: list[str]) -> str:
    """Whether the two differ, and what of the distance no floor excuses where both are known."""
    lenses = [result.lenses[side] for side in order]
    far, near = lenses[0], lenses[-1]
    same = len(lenses) == 2 and far.intervals[0, 0] <= near.intervals[0, 1]
    unclear = ", no clear difference" if same else ""
    floors = [one.floor for one in lenses]
    known = [floor.lens_bits - floor.bits for floor in floors if floor is not None]
    if len(known) < 2:
        return unclear
    return f"{unclear}; above the floor, {' and '.join(f'{bits:.2f}' for bits in known)}"


def halves(result: PairLens) -> str:
    """Which part of the way the first half of the layers covers in each model."""
    said: list[str] = []
    for side, one in result.lenses.items():
        whole = float(one.kl_bits[0] - one.kl_bits[-1])
        half = (len(one.kl_bits) - 1) // 2
        if half and whole > 0:
            part = float(one.kl_bits[0] - one.kl_bits[half]) / whole
            way = "" if said else " of the way"
            said.append(f"{part:.0%}{way} in {name_of(result, side)}".replace("%", " %"))
    return f"The first half of the layers covers {' and '.join(said)}." if said else ""


def caption(result: PairLens) -> str:
    """What the picture rests on, as plain text."""
    one = next(iter(result.lenses.values()), None)
    kind = {"tuned": "tuned lens", "logit": "logit lens"}
    settings = result.settings
    facts = [
        f"{kind.get(str(settings.get('lens')), 'lens')}, {settings.get('mode', 'corrected')} mode",
        _read(result, one),
        "areas: 95 % of the mean over the text" if one is not None else "",
        _floors(result),
        _checks(result),
        f"seed {settings.get('seed', 0)}",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _read(result: PairLens, one: Lens | None) -> str:
    name = str(result.text.get("name") or "the text")
    if one is None:
        return name
    counts = {side: len(lens.ids) for side, lens in result.lenses.items()}
    if len(set(counts.values())) == 1:
        return f"{len(one.ids):,} positions of {name}"
    listed = " and ".join(f"{n:,} ({name_of(result, side)})" for side, n in counts.items())
    return f"{listed} positions of {name}"


def _floors(result: PairLens) -> str:
    """Over what the floors are."""
    floors = [one.floor for one in result.lenses.values()]
    known = [floor for floor in floors if floor is not None]
    if not known:
        return ""
    counts = " and ".join(dict.fromkeys(f"{floor.positions:,}" for floor in known))
    return (
        f"floors, and stems up to the lens, over the {counts} positions whose {known[0].sees} "
        f"comes at least {known[0].least} times"
    )


def _checks(result: PairLens) -> str:
    checks = [float(one.last_layer_check) for one in result.lenses.values()]
    said = [f"{check:.1g}" if math.isfinite(check) else "no finite number" for check in checks]
    if not any(map(math.isfinite, checks)):
        return ""
    return f"at the last layer the lens gives the model's own logits to within {' and '.join(said)}"


def floor_sentence(result: PairLens, side: str) -> str:
    """The floor of a model: its value, what it is of, and what was left out; empty without one."""
    lens = result.lenses.get(side)
    if lens is None or lens.floor is None:
        return ""
    floor, low, high = lens.floor, *lens.floor.interval
    endless = "" if floor.estimate is None else f", {floor.estimate:.2f} for endless text"
    return (
        f"floor of {name_of(result, side)}: {floor.bits:.2f} bits [{low:.2f}, {high:.2f}]"
        f"{endless}, where the lens has {floor.lens_bits:.2f} ({_counted(floor)})."
    )


def _counted(floor: InformationFloor) -> str:
    return (
        f"{floor.positions:,} positions of {floor.tokens:,} cases of {floor.sees}; "
        f"{floor.left_out:,} positions with fewer than {floor.least} of a kind are left out"
    )


def contribution_caption(result: PairLens) -> str:
    """What the two charts of layers show."""
    return (
        "Above: by how many bits each layer lowers KL(final || lens); below 0 it leads away. "
        "Below: what embedding and layers write of the last state before the final norm, as the "
        "projection of each part on it; parts add up to 100 %, and one below 0 % points away. "
        + halves(result)
    ).strip()


def training_caption(result: PairLens) -> str:
    """What the chart of the training shows."""
    return (
        "KL(final || lens) on text held out, in bits, while the translators learn: one line for "
        "each layer, from the embedding (darkest) to the last but one (faintest)."
    )


def text(_request: Any, result: PairLens) -> str:
    """What the command line prints: the sentence, what it rests on, the numbers, the notes."""
    import pandas as pd

    tables = []
    for side, one in result.lenses.items():
        frame = one.to_frame()[
            ["point", "kl_bits", "entropy_bits", "agreement", "mean_rank", "drop_bits", "share"]
        ]
        shown = pd.DataFrame(frame).to_string(index=False, float_format="{:.3f}".format, na_rep="-")
        tables.append(f"{side}: {name_of(result, side)}\n{shown}")
    failed = [f"{name_of(result, side)}: {why}" for side, why in result.failed.items()]
    notes = [f"note: {note}" for note in result.notes]
    told = [headline(result), caption(result), *tables, *failed, "\n".join(notes)]
    return "\n\n".join(part for part in told if part)
