"""What is known of each token in a report on the gradient bottleneck, as columns of scatter, table
and card."""

import numpy as np

from embtie_widgets.charts.columns import Column, Place, Vector, row_columns
from embtie_widgets.charts.lens_words import short
from embtie_widgets.results.bottleneck import BottleneckModel, BottleneckReport

_ASIDE: tuple[Place, ...] = ("axis", "card")
_TABLED: tuple[Place, ...] = ("table", "card")


def columns(result: BottleneckReport) -> list[Column]:
    """Of each model whose rows stand for the first one's tokens: what the head transmits of the
    token's direction, and of it as a target how often it was one, r and the loss; then frequency
    and row."""
    found = [_of_one(name, one, i == 0) for i, (name, one) in enumerate(result.alike.items())]
    return [*(column for some in found for column in some), *row_columns(result)]


def same_rows(before: BottleneckReport | None, after: BottleneckReport) -> bool:
    """Whether all tokens have the same numbers in both."""
    if before is None or before.tokens != after.tokens or list(before.alike) != list(after.alike):
        return False
    pairs = zip(before.alike.values(), after.alike.values(), strict=True)
    return all(
        np.array_equal(one.bottleneck.visible, two.bottleneck.visible)
        and np.array_equal(one.bottleneck.per_position, two.bottleneck.per_position, equal_nan=True)
        for one, two in pairs
    )


def _of_one(name: str, one: BottleneckModel, first: bool) -> list[Column]:
    # Links name columns: by the place of the model, so that they last when another one is chosen.
    b, said, which = one.bottleneck, short(name), "" if first else " beside"
    role = "tied" if one.tied else "neutral"
    target = b.by_target()
    mean, line = b.rank / b.rows, b.line
    return [
        Column(
            f"visible{which}",
            f"transmitted of the token's direction, {said}",
            role,
            np.asarray(b.visible, float),
            lines=((mean, f"mean d / V {mean:.3f}", "dash"),),
            head=f"transmitted, {said}",
            tooltip="Share of the squared length of the token's one-hot direction that the head "
            "transmits, 0 to 1",
        ),
        Column(
            f"destroyed{which}",
            f"r where it is the target, {said}",
            role,
            target["destroyed"],
            lines=((line, f"line {line:.3f}", "dash"),),
            head=f"r, {said}",
            tooltip="Not transmitted of the gradient, over all positions where the token was to "
            "be predicted",
            format=".4f",
        ),
        Column(
            f"loss{which}",
            f"mean loss as the target, nats, {said}",
            role,
            target["loss"],
            places=_ASIDE,
        ),
        *([_times(target["times"], said)] if first else []),
    ]


def _times(times: Vector, said: str) -> Column:
    return Column(
        "times",
        "positions with it as the target",
        "neutral",
        np.asarray(times),
        kind="integer",
        head="positions",
        tooltip=f"At how many of the measured positions it was to be predicted, {said}",
        places=_TABLED,
    )
