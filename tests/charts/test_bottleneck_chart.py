"""The pictures and sentences of the gradient bottleneck, against the numbers that they are of."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import bottleneck as chart
from embtie_widgets.charts import bottleneck_strip as strip
from embtie_widgets.charts.bottleneck import View
from embtie_widgets.charts.bottleneck_line import HEADS
from embtie_widgets.charts.bottleneck_steps import WORDS
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.theme import MODELS, PALETTES, PARTS, contrast
from embtie_widgets.results.bottleneck import CURVES, BottleneckReport
from tests.sample_bottleneck import (
    LENGTH,
    ROWS,
    WHY,
    WIDTH,
    alone,
    failed,
    growing,
    model,
    of_runs,
    other_vocabulary,
    recorded,
    report,
)

EVERY = [report, alone, of_runs, growing, recorded, failed, other_vocabulary]
OF = {"r": lambda r: r, "c": lambda r: np.sqrt(1 - r**2), "energy": lambda r: 1 - r**2}


def named(drawn: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in drawn["data"] if one["name"] == name)


def notes(drawn: dict[str, Any]) -> list[str]:
    return [one["text"] for one in drawn["layout"]["annotations"]]


def shifted(by: float) -> BottleneckReport:
    """One model whose ratio is so far from its line."""
    one = model()
    moved = replace(one.bottleneck, destroyed=one.bottleneck.line + by)
    return replace(report(), models={"mine": replace(one, bottleneck=moved)})


# The line.


@pytest.mark.parametrize("scale", OF)
def test_models_stand_at_their_ratio_and_known_heads_on_the_line(scale: str) -> None:
    drawn, of = chart.line(report(), scale), OF[scale]
    for name, one in report().models.items():
        b = one.bottleneck
        point = named(drawn, name)
        assert point["x"][0] == pytest.approx(WIDTH / ROWS)
        assert point["y"] == pytest.approx([of(b.destroyed), of(b.random)])
    line = named(drawn, "line: a direction without preference")
    assert line["y"] == pytest.approx(of(np.sqrt(1 - line["x"])))
    heads = named(drawn, "known heads, on the line")
    shares = np.array([d / v for d, v in HEADS.values()])
    assert heads["y"] == pytest.approx(of(np.sqrt(1 - shares)))


@pytest.mark.parametrize("scale", OF)
def test_the_axes_hold_every_point_and_the_papers_range(scale: str) -> None:
    layout = chart.line(report(), scale)["layout"]
    low, high = layout["yaxis"]["range"]
    logs = layout["yaxis"].get("type") == "log"
    of = OF[scale]
    inside = [of(one.bottleneck.destroyed) for one in report().models.values()]
    inside += [of(0.95), of(0.99)]
    assert all(low < (math.log10(y) if logs else y) < high for y in inside)
    band = next(shape for shape in layout["shapes"] if shape["type"] == "rect")
    assert sorted((band["y0"], band["y1"])) == pytest.approx(sorted((of(0.95), of(0.99))))


def test_a_head_wider_than_most_is_still_on_the_chart() -> None:
    one = model()
    wide = replace(one.bottleneck, width=ROWS // 2, line=math.sqrt(0.5), destroyed=0.6)
    result = replace(report(), models={"wide": replace(one, bottleneck=wide)})
    layout = chart.line(result)["layout"]
    assert layout["xaxis"]["range"][1] > math.log10(0.5)
    assert layout["yaxis"]["range"][0] < 0.6


@pytest.mark.parametrize("scale", OF)
def test_a_head_with_more_columns_than_rows_is_too(scale: str) -> None:
    one = model()
    wide = replace(one.bottleneck, width=2 * ROWS, line=0.0, destroyed=0.0)
    drawn = chart.line(replace(report(), models={"wide": replace(one, bottleneck=wide)}), scale)
    low, high = drawn["layout"]["xaxis"]["range"]
    assert low < math.log10(2) < high
    assert np.isfinite(drawn["data"][0]["y"]).all()
    assert np.isfinite(drawn["layout"]["yaxis"]["range"]).all()


def test_without_a_result_the_line_stands_alone() -> None:
    assert [one["name"] for one in chart.spec(None)["data"]] == [
        "line: a direction without preference",
        "known heads, on the line",
        "GPT-2, published",
    ]


def test_runs_stand_on_the_line_with_their_last_steps() -> None:
    run = of_runs().runs["tied"]
    energy = float(np.mean(run.curves["kept_energy"][-20:]))
    assert named(chart.line(of_runs()), "tied")["y"] == pytest.approx([math.sqrt(1 - energy)])


# Curves of runs.


@pytest.mark.parametrize("measure", list(chart.MEASURES))
def test_every_number_of_a_run_is_drawn_from_its_curve(measure: str) -> None:
    drawn = chart.spec(of_runs(), View(measure, smooth=False))
    field = chart.MEASURES[measure].field
    assert field in CURVES
    for name, run in of_runs().runs.items():
        assert named(drawn, name)["y"] == pytest.approx(run.curves[field])
    low, high = drawn["layout"]["yaxis"]["range"]
    assert low < np.median(run.curves[field]) < high


def test_the_line_of_runs_is_in_the_number_that_is_shown_and_drawn_once() -> None:
    line = math.sqrt(1 - WIDTH / ROWS)
    levels = {"r": line, "c": math.sqrt(1 - line**2), "energy": 1 - line**2, "target": 1 - line**2}
    for measure, level in levels.items():
        drawn = [
            one for one in chart.spec(of_runs(), View(measure))["data"] if one["name"] == "line"
        ]
        assert [one["y"][0] for one in drawn] == pytest.approx([level])
    assert "line" not in [one["name"] for one in chart.spec(of_runs(), View("loss"))["data"]]


def test_means_stand_before_single_steps_and_each_run_has_its_look() -> None:
    behind, front = [one for one in chart.spec(of_runs())["data"] if one["name"] == "tied"]
    assert front["line"]["color"] == MODELS["tied"].color
    assert front["y"][-1] == pytest.approx(
        np.mean(of_runs().runs["tied"].curves["destroyed"][-20:])
    )
    assert behind["line"]["width"] < front["line"]["width"]


def test_a_training_under_way_leaves_room_for_the_steps_to_come() -> None:
    layout = chart.spec(growing(60))["layout"]
    assert layout["xaxis"]["range"][1] >= 200


def test_a_run_without_a_curve_gives_way_to_what_it_has() -> None:
    one = recorded().runs["my-run"]
    kept = {name: one.curves[name] for name in ("step", "loss", "line")}
    result = replace(recorded(), runs={"my-run": replace(one, curves=kept)})
    assert chart.measures_of(result) == ["loss"]
    assert chart.fitting(result, View("r")).measure == "loss"
    assert chart.ratios(result) == {}


# Positions and groups.


@pytest.mark.parametrize("scale", OF)
def test_the_histogram_holds_every_position(scale: str) -> None:
    drawn = chart.histogram(report(), scale)
    for name, one in report().models.items():
        outline = named(drawn, name)
        assert outline["y"].sum() == pytest.approx(100)
        values = OF[scale](one.bottleneck.per_position)
        at = np.digitize(np.median(values), outline["x"][1:]) - 1
        assert outline["y"][at + 1] > 0
    line = OF[scale](math.sqrt(1 - WIDTH / ROWS))
    assert named(drawn, f"line {line:.3f}")["x"] == pytest.approx([line, line])


def test_positions_that_are_all_alike_are_drawn_too() -> None:
    one = model()
    same = replace(one.bottleneck, per_position=np.full(LENGTH, 0.97))
    result = replace(report(), models={"mine": replace(one, bottleneck=same)})
    assert named(chart.histogram(result), "mine")["y"].sum() == pytest.approx(100)


@pytest.mark.parametrize("what", list(chart.WHAT))
def test_groups_have_their_means_kinds_above_bands_rare_to_often(what: str) -> None:
    drawn = chart.groups(report(), what)
    axis = drawn["layout"]["yaxis"]
    rows = dict(zip(axis["ticktext"], axis["tickvals"], strict=True))
    bands = [name for name in rows if "×" in name]
    assert max(rows[name] for name in rows if "×" not in name) < min(rows[name] for name in bands)
    assert bands[0] == "1 to 9×"
    assert bands[-1] == "10,000× and more"
    for name, one in report().models.items():
        means = {group["group"]: group[what] for group in one.groups}
        assert named(drawn, name)["x"] == pytest.approx(list(means.values()))


# The text.


def test_the_text_is_read_from_left_to_right_and_what_is_chosen_is_framed() -> None:
    one = report().models["nano-untied"]
    drawn = strip.spec(report(), "nano-untied", piece=2, place=13)
    (field,) = drawn["data"]
    b = one.bottleneck
    here = b.piece == 2
    cosine = np.sqrt(1 - b.per_position[here] ** 2)
    assert np.ravel(field["z"])[: here.sum()] == pytest.approx(cosine)
    (frame,) = drawn["layout"]["shapes"]
    assert (frame["y0"], frame["x0"]) == (0.5, 2.5)
    cell = strip.cell(one, 2, 13)
    assert cell is not None
    assert cell.target == b.targets[here][13]
    assert cell.probability == pytest.approx(math.exp(-b.loss[here][13]))
    assert strip.cell(one, 2, LENGTH) is None


def test_the_text_before_a_position_ends_with_the_token_there() -> None:
    one = report().models["nano-untied"]
    before, target = strip.context(one, 0, 3)
    ids = one.bottleneck.ids[:4]
    assert before == b"".join(one.tokens[i] or b"" for i in ids).decode("latin1").replace(
        "\xe4", "\\xe4"
    ).replace("\n", "⏎")
    assert target == strip.display_token(one.tokens[one.bottleneck.targets[3]], 0)


@pytest.mark.parametrize("shade", list(strip.SHADES))
def test_tokens_are_never_markup(shade: str) -> None:
    text = json.dumps(strip.spec(report(), "nano-untied", shade=shade)["data"][0]["text"])
    assert "<" not in text
    assert "$" not in text


def test_a_model_without_tokens_has_no_text_to_show() -> None:
    result = replace(report(), models={"mine": replace(model(), tokens=())})
    assert strip.passages(result, "mine") == []
    assert strip.spec(result, "mine")["data"] == []
    assert not chart.has_tokens(result)


# The spectrum, and equal steps.


def test_the_marked_components_hold_their_part_of_the_energy() -> None:
    b = report().models["nano-untied"].bottleneck
    assert b.spectrum is not None
    curve, held = chart.spectrum(report())["data"][:2]
    energy = np.cumsum(b.spectrum.values**2) / np.sum(b.spectrum.values**2)
    for components, share in zip(held["x"], b.spectrum.shares, strict=True):
        assert energy[components - 1] >= share > energy[components - 2]
    assert curve["y"] == pytest.approx(b.spectrum.values[: len(curve["y"])])
    assert f"d = {WIDTH}" in notes(chart.spectrum(report()))


def test_a_narrow_page_has_the_charts_one_below_the_other() -> None:
    for drawn in (chart.spectrum(report()), chart.steps(report())):
        assert drawn["narrow"]["height"] > 1.5 * drawn["layout"]["height"]


def test_equal_steps_are_drawn_as_losses_and_as_what_they_buy() -> None:
    b = report().models["nano-untied"].bottleneck
    assert b.steps is not None
    for column, name in enumerate(WORDS.values()):
        assert named(chart.steps(report()), name)["y"] == pytest.approx(b.steps.losses[:, column])
        bought = named(chart.steps(report(), "gain"), name)["y"]
        assert bought == pytest.approx(b.steps.before - b.steps.losses[:, column])


def test_the_parts_of_the_gradient_can_be_told_apart_in_both_themes() -> None:
    assert len({part.dash for part in PARTS.values()}) == len(PARTS)
    assert len({part.symbol for part in PARTS.values()}) == len(PARTS)
    for palette in PALETTES.values():
        assert all(contrast(part.color, palette.plot) > 3 for part in PARTS.values())


# Words.


@pytest.mark.parametrize(
    ("by", "words"),
    [
        (-0.01, "more than counting says"),
        (0.01, "less than counting says"),
        (0, "as much as counting says"),
    ],
)
def test_the_headline_says_on_which_side_of_the_line(by: float, words: str) -> None:
    assert words in chart.headline(shifted(by))
    assert f"{math.sqrt(1 - WIDTH / ROWS):.3f}" in chart.headline(shifted(by))


def test_two_models_on_both_sides_of_the_line_are_told_apart() -> None:
    far = shifted(0.01).models["mine"]
    said = chart.headline(replace(report(), models={"near": model(), "far": far}))
    assert (
        "near transmits more than counting says and far transmits less than counting says" in said
    )


def test_a_head_as_wide_as_its_vocabulary_transmits_all() -> None:
    one = model()
    whole = replace(one.bottleneck, width=ROWS, line=0.0, destroyed=0.0)
    result = replace(report(), models={"wide": replace(one, bottleneck=whole)})
    assert "transmits the whole" in chart.headline(result)


def test_one_with_columns_that_depend_on_each_other_does_not() -> None:
    one = model()
    whole = replace(one.bottleneck, width=ROWS, rank=ROWS // 2, line=0.0, destroyed=0.2)
    said = chart.headline(replace(report(), models={"wide": replace(one, bottleneck=whole)}))
    assert "does not transmit r = 0.200" in said
    assert "less than counting says" in said
    assert f"{ROWS // 2:,} are independent, which alone would give 0.707." in said
    assert "independent" not in chart.headline(report())


@pytest.mark.parametrize("made", EVERY)
def test_no_sentence_says_that_a_gradient_is_destroyed_or_lost(made: Any) -> None:
    result = made()
    drawn = [chart.spec(result), chart.line(result), chart.histogram(result), chart.groups(result)]
    drawn += [chart.spectrum(result), chart.steps(result)]
    said = chart.text(None, result)
    said += " ".join(str(one.get("name")) for figure in drawn for one in figure["data"])
    said += " ".join(note for figure in drawn for note in map(str, notes_of(figure)))
    assert "destroy" not in said.lower()
    assert "information" not in said.lower()


def notes_of(drawn: dict[str, Any]) -> list[str]:
    return [one["text"] for one in drawn["layout"].get("annotations", ())]


def test_the_dispute_is_told_beside_the_numbers_and_cites_both_sides() -> None:
    for result in (report(), of_runs()):
        said = chart.text(None, result)
        assert "2603.10145" in said
        assert "2608.16671" in said
        assert chart.DISPUTE in result_page(chart.plots(result), "{}").replace("&#x27;", "'")


def test_the_command_line_has_numbers_groups_reasons_and_notes() -> None:
    said = chart.text(None, failed(half=True))
    assert f"{report().models['nano-untied'].bottleneck.destroyed:.4f}" in said
    assert WHY in said
    assert "10,000 times and more" in said
    assert "note: The text was read once." in said
    assert "None" not in chart.text(None, of_runs())  # no random gradient stands beside runs


@pytest.mark.parametrize("made", EVERY)
def test_every_result_has_a_page_a_picture_and_a_caption(made: Any) -> None:
    result = made()
    page = result_page(chart.plots(result), json.dumps({"request": {"kind": "bottleneck"}}))
    assert "embtie-settings" in page
    assert chart.figure(result).layout.annotations[-1].text
    assert chart.caption(result).endswith(".")


# Tokens.


def test_each_token_has_what_is_transmitted_of_it_and_its_numbers_as_a_target() -> None:
    known = {column.name: column for column in chart.columns(report())}
    b = report().models["nano-untied"].bottleneck
    assert known["visible"].values == pytest.approx(b.visible)
    at = b.targets == 1
    whole, hidden = b.length[at] ** 2, (b.length * b.per_position)[at] ** 2
    assert known["times"].values[1] == at.sum() > 1
    assert known["destroyed"].values[1] == pytest.approx(math.sqrt(hidden.sum() / whole.sum()))
    assert known["loss beside"].values[1] == pytest.approx(
        report().models["nano-tied"].bottleneck.loss[at].mean()
    )
    never = np.setdiff1d(np.arange(ROWS), b.targets)
    assert np.isnan(known["destroyed"].values[never]).all()


def test_a_model_with_other_tokens_is_in_no_column() -> None:
    names = [column.name for column in chart.columns(other_vocabulary())]
    assert "visible" in names
    assert "visible beside" not in names
    assert not chart.same_rows(report(), other_vocabulary())
    assert chart.same_rows(report(), report())


def test_all_targets_together_give_the_ratio_of_all_positions() -> None:
    b = report().models["nano-untied"].bottleneck
    whole = np.bincount(b.targets, b.length**2, ROWS)
    parts = np.nan_to_num(b.by_target()["destroyed"]) ** 2 * whole
    assert math.sqrt(parts.sum() / whole.sum()) == pytest.approx(b.destroyed)


def test_tables_of_positions_and_tokens_name_the_tokens() -> None:
    frame = report().to_frame()
    assert len(frame) == 2 * len(report().models["nano-tied"].bottleneck.loss)
    assert "<script>alert(1)</script>" in set(frame["target"])
    tokens = report().token_frame()
    assert len(tokens) == ROWS
    assert tokens["visible, nano-tied"].sum() == pytest.approx(WIDTH)
