"""The papers' numbers as pictures and words hold numbers, verdicts and what is missing."""

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import papers as chart
from embtie_widgets.charts import papers_curves
from embtie_widgets.charts.figures import figure
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.papers_curves import left_out
from embtie_widgets.charts.papers_view import SIGNS, difference, here, printed
from embtie_widgets.charts.papers_words import fetch_line, lackings
from embtie_widgets.charts.theme import PALETTES, ROLES, contrast
from embtie_widgets.jobs.papers_ground import from_facts
from embtie_widgets.requests import ModelRef
from embtie_widgets.requests.papers import ITEMS
from embtie_widgets.results.papers import VERDICTS, PaperItem, PaperNumber, PaperTables
from tests import sample_papers as sample


@pytest.fixture
def result() -> PaperTables:
    return sample.tables()


def named(spec: Any, name: str) -> list[dict[str, Any]]:
    return [trace for trace in spec["data"] if trace["name"] == name]


# All items at a glance.


def test_every_bar_is_cut_by_the_verdicts_of_its_numbers(result: PaperTables) -> None:
    bars = {trace["name"].split(" ", 1)[1]: trace for trace in chart.overview(result)["data"]}
    assert list(bars) == list(VERDICTS)
    whole = np.sum([bar["x"] for bar in bars.values()], axis=0)
    np.testing.assert_allclose(whole, 100, rtol=1e-5)
    places = list(result.items)
    assert bars["agrees"]["x"][places.index("table-1")] == pytest.approx(100 * 12 / 18)
    assert bars["agrees"]["text"][places.index("table-1")] == "✓ 12"
    assert bars["missing"]["x"][places.index("table-6")] == 100
    assert "2 of 2 missing" in bars["missing"]["hovertext"][places.index("table-6")]


def test_papers_have_their_names_and_the_chosen_item_a_frame(result: PaperTables) -> None:
    layout = chart.overview(result, "norms")["layout"]
    words = [one["text"] for one in layout["annotations"]]
    assert "<b>Weight tying, arXiv:2603.26663</b>" in words
    assert words.count("18") == 2  # totals of table 1 and figure 2
    [frame] = layout["shapes"]
    at = layout["yaxis"]["tickvals"][list(result.items).index("norms")]
    assert frame["y0"] < at < frame["y1"]
    assert layout["yaxis"]["ticktext"][list(result.items).index("norms")] == "<b>Norms</b>"
    assert chart.overview(result)["layout"]["shapes"] == []


def test_a_click_tells_the_item(result: PaperTables) -> None:
    assert chart.item_at(result, 3, (2,)) == "table-6"
    assert chart.item_at(result, 0, (99,)) is None
    assert chart.item_at(None, 0, (0,)) is None


def test_only_verdicts_that_occur_stand_in_the_legend(result: PaperTables) -> None:
    alone = replace(result, items={"table-7": result.items["table-7"]})
    shown = [t["name"] for t in chart.overview(alone)["data"] if t["showlegend"]]
    assert shown == ["– print only"]


def test_no_verdict_is_told_by_colour_alone_and_words_read_on_each() -> None:
    assert set(SIGNS) == set(VERDICTS)
    for name in ("glyph", "meaning"):
        assert len({getattr(sign, name) for sign in SIGNS.values()}) == len(VERDICTS)
    for palette in PALETTES.values():
        for sign in SIGNS.values():
            assert contrast(palette.text, washed(sign.rgb, sign.strength, palette.plot)) >= 4.5


def washed(rgb: str, strength: float, ground: str) -> str:
    """The colour of a wash on a ground."""
    under = [int(ground[i : i + 2], 16) for i in (1, 3, 5)]
    mixed = [
        round(int(top) * strength + low * (1 - strength))
        for top, low in zip(rgb.split(","), under, strict=True)
    ]
    return "#" + "".join(f"{part:02x}" for part in mixed)


# One item.


def test_dots_stand_at_the_printed_and_the_computed_value(result: PaperTables) -> None:
    item = result.items["table-1"]
    spec = chart.spec(item)
    numbers = [n for n in item.numbers if n.column == "Orthogonal"]
    [prints] = [t for t in named(spec, "printed") if t["xaxis"] == "x2"]
    assert prints["x"] == [float(n.printed) for n in numbers]
    [differs] = named(spec, "here: differs")
    assert differs["x"] == [n.value for n in numbers if n.verdict == "differs"]
    assert differs["marker"]["symbol"] == "x"
    lines = [t for t in spec["data"] if t["mode"] == "lines" and t["xaxis"] == "x2"]
    assert [t["x"] for t in lines] == [[float(n.printed), n.value] for n in numbers]
    assert {tuple(t["x"]) for t in named(spec, "chance")} == {(0.171,) * 6, (0.202,) * 6}


def test_what_is_not_here_is_hollow_and_no_line_goes_to_a_stand_in(result: PaperTables) -> None:
    spec = chart.spec(result.items["table-6"])
    [alone] = spec["data"]
    assert alone["name"] == "printed, nothing here"
    assert alone["marker"]["symbol"] == "circle-open"
    standing = PaperNumber("row", "column", "0.5").found(0.1, "stand-in", sample.NANO)
    spec = chart.spec(PaperItem("table-9", "tying", "", (standing,)))
    assert {trace["mode"] for trace in spec["data"]} == {"markers"}
    assert named(spec, "here: stand-in")[0]["x"] == [0.1]


def test_a_printed_range_is_drawn_from_end_to_end(result: PaperTables) -> None:
    spec = chart.spec(result.items["bottleneck-ratio"])
    ends = [trace["x"] for trace in spec["data"] if trace["mode"] == "lines"]
    assert [0.95, 0.99] in ends


def test_full_tables_stand_side_by_side_and_others_by_kind(result: PaperTables) -> None:
    beside = chart.spec(result.items["centering-sensitivity"])["layout"]
    assert beside["xaxis2"]["domain"][0] > beside["xaxis"]["domain"][1]
    assert beside["yaxis"]["domain"] == beside["yaxis2"]["domain"]
    numbers = [
        PaperNumber("Frobenius norm: OLMo", "input", "45.5"),
        PaperNumber("Frobenius norm: OLMo", "output", "203.5"),
        PaperNumber("Correlation: Qwen3", "In, Out", "0.732"),
    ]
    below = chart.spec(PaperItem("norms", "tying", "", tuple(numbers)))["layout"]
    titles = [one["text"] for one in below["annotations"]]
    assert titles == ["<b>Frobenius norm</b>", "<b>Correlation</b>"]
    assert below["yaxis2"]["domain"][1] < below["yaxis"]["domain"][0]
    assert below["yaxis"]["ticktext"] == ["OLMo, input", "OLMo, output"]
    assert below["xaxis2"]["range"] != below["xaxis"]["range"]


def test_numbers_of_very_different_sizes_stay_apart(result: PaperTables) -> None:
    spec = chart.spec(result.items["table-7"])
    [dots] = spec["data"]
    low, high = spec["layout"]["xaxis"]["range"]
    accuracies = sorted((x - low) / (high - low) for x in dots["x"])[:2]
    assert accuracies[1] - accuracies[0] > 0.05
    assert all(low < x < high for x in dots["x"])


def test_a_figure_is_drawn_as_curves(result: PaperTables) -> None:
    spec = chart.spec(result.items["figure-2"])
    prints, ours, _, standing = spec["data"]
    assert (prints["name"], ours["name"]) == ("untied, printed", "untied, here")
    assert prints["x"] == list(range(9))
    assert ours["y"][1] == pytest.approx(6.84)
    assert (ours["marker"]["symbol"][1], ours["marker"]["symbol"][2]) == ("x", "circle")
    assert standing["name"] == "tied, stand-in"
    assert standing["line"]["color"] == ROLES["tied"].color
    drift = chart.spec(result.items["figure-3"])
    assert drift["data"][0]["x"] == [2_000, 10_000, 20_000]
    assert [t["line"]["color"] for t in drift["data"][::2]] == [
        ROLES["input"].color,
        ROLES["output"].color,
    ]


def test_curves_of_one_role_have_a_chart_each() -> None:
    names = ("input, to step 0", "output, to step 0", "input, to the one before")
    numbers = [
        PaperNumber(f"step {step}", column, "0.5")
        for column in names
        for step in ("1,000", "5,000")
    ]
    spec = chart.spec(PaperItem("figure-9", "tying", "", tuple(numbers)))
    titles = [one["text"] for one in spec["layout"]["annotations"]]
    assert titles == ["<b>to step 0</b>", "<b>to the one before</b>"]
    assert next(t["name"] for t in spec["data"] if t["xaxis"] == "x2") == "input, printed"


def test_no_line_goes_across_points_that_are_not_here() -> None:
    known = {"input": 0.7, "layer 2": 0.2}
    numbers = [PaperNumber(row, "untied", "1.0") for row in ("input", "layer 1", "layer 2")]
    made = [n.found(known[n.row], "stand-in", "") if n.row in known else n for n in numbers]
    _, ours = chart.spec(PaperItem("figure-2", "tying", "", tuple(made)))["data"]
    assert ours["y"] == [0.7, None, 0.2]
    assert not ours.get("connectgaps")
    _, nothing = chart.spec(PaperItem("figure-2", "tying", "", tuple(numbers)))["data"]
    assert nothing["mode"] == "none"


def test_a_row_that_is_no_point_is_said_to_be_in_the_table_alone(result: PaperTables) -> None:
    item = result.items["figure-2"]
    more = PaperNumber("embedding, in the text", "untied", "7.0")
    longer = replace(item, numbers=(*item.numbers, more))
    assert chart.spec(longer)["data"][0]["x"] == list(range(9))
    assert "in the table alone: embedding, in the text" in chart.item_caption(longer)
    assert "alone" not in chart.item_caption(item)


def test_stretches_of_steps_are_no_points_of_a_curve() -> None:
    numbers = [PaperNumber(f"steps 1 to {end}", "share", "0.9") for end in (50, 100, 1_000)]
    spec = chart.spec(PaperItem("figure-4", "tying", "", tuple(numbers)))
    assert spec["data"][0]["mode"] == "markers"


def test_foreign_words_are_no_markup() -> None:
    evil = "<b>$x$</b>"
    number = PaperNumber(evil, evil, "0.5").found(0.6, "model", evil, evil)
    item = PaperItem("table-1", "tying", evil, (number,))
    drawn = figure(chart.spec(item), "light").to_json()
    assert "<b>$" not in drawn
    assert "&lt;b&gt;&#36;x&#36;&lt;/b&gt;" in json.loads(drawn)["layout"]["yaxis"]["ticktext"][0]


def test_without_a_result_the_charts_are_empty() -> None:
    assert chart.spec(None)["data"] == []
    assert all(len(trace["x"]) == 0 for trace in chart.overview(None)["data"])


@pytest.mark.parametrize("name", ITEMS)
def test_every_item_as_printed_can_be_drawn(name: str) -> None:
    from embtie_widgets.jobs.papers_items import ITEMS as KNOWN

    item = KNOWN[name].as_printed()
    spec = chart.spec(item)
    prints = [x for t in spec["data"] if "printed" in t["name"] for x in t["x"]]
    alone = sum(number.row in left_out(item) for number in item.numbers)
    assert len(prints) == len(item.numbers) - (alone if papers_curves.curves_of(item) else 0)
    assert all(math.isfinite(x) for x in prints)
    figure(spec, "dark")


# Words.


def test_numbers_are_given_with_one_place_more_than_printed() -> None:
    number = PaperNumber("", "", "-0.001", tolerance=0.01).found(-0.0062, "model", "", "Chance.")
    assert (printed(number), here(number), difference(number)) == ("−0.001", "−0.0062", "−0.0052")
    large = PaperNumber("", "", "1011.8", unit="M").found(1011.78, "packaged", "")
    assert (printed(large), here(large), difference(large)) == ("1011.8 M", "1,011.78", "−0.02")
    same = PaperNumber("", "", "0.440").found(0.44, "model", "")
    assert difference(same) == "0.0000"
    assert here(PaperNumber("", "", "0.440")) == "–"


def test_the_headline_counts_every_verdict(result: PaperTables) -> None:
    said = chart.headline(result)
    assert said.startswith("Of 76 printed numbers, 46 agree as printed, 7 are close, 7 differ, ")
    counts = [int(n) for n in re.findall(r"\d+", said)]
    assert sum(counts[1:]) == counts[0] == sum(len(i.numbers) for i in result.items.values())
    assert chart.item_headline(result.items["table-7"]) == "Of its 3 numbers, 3 are in print only."


def test_stand_ins_and_faults_are_told(result: PaperTables) -> None:
    assert chart.aside(result).startswith("10 of the values are of the small bundled models")
    assert chart.faults(result) == []
    assert chart.faults(sample.broken())[0].startswith("Figure 3 could not be computed. The file")
    alone = replace(result, items={"table-7": result.items["table-7"]})
    assert chart.aside(alone) == ""


def test_captions_explain_no_sign_that_is_not_there(result: PaperTables) -> None:
    said = chart.item_caption(result.items["table-1"])
    assert "what chance reaches" in said
    assert "bundled" not in said
    assert "chance" not in chart.item_caption(result.items["table-3"])
    assert "bundled models" in chart.item_caption(result.items["figure-2"])
    alone = replace(result, items={"table-7": result.items["table-7"]})
    assert "✓" not in chart.overview_caption(alone)


def test_what_is_missing_is_listed_once_with_the_command_that_brings_it() -> None:
    a, b = (from_facts(ModelRef(f"Qwen/Qwen3-{size}")) for size in ("4B", "8B"))
    both = f"{a[0]}; {b[0]}"
    numbers = [
        PaperNumber("", "", "1").lacking(*a, "gone"),
        PaperNumber("", "", "2").lacking(*b, "gone"),
        PaperNumber("", "", "3").lacking(both, None, "gone"),
        PaperNumber("", "", "4").lacking("a CSV (github.com/a/b)", None, "gone"),
        PaperNumber("", "", "5").lacking("the whole model openai/gpt2", 7, "gone"),
    ]
    found = lackings([PaperItem("norms", "tying", "", tuple(numbers))])
    assert [one.what for one in found[:2]] == [a[0], b[0]]
    assert [one.bytes for one in found[:2]] == [a[1], b[1]]
    assert len(found) == 4
    assert fetch_line(found) == "embtie fetch Qwen/Qwen3-4B Qwen/Qwen3-8B"


def test_the_matrices_of_a_trainings_steps_are_not_what_fetch_brings() -> None:
    what, size = from_facts(ModelRef("EleutherAI/pythia-1b"))
    number = PaperNumber("", "", "1").lacking(f"{what} at steps 0, 1,000", size, "gone")
    assert fetch_line(lackings([PaperItem("figure-9", "tying", "", (number,))])) == ""


def test_the_text_has_every_number_each_reason_once_and_what_is_missing(
    result: PaperTables,
) -> None:
    lines = chart.text(None, result).splitlines()
    row = next(line for line in lines if line.startswith("OLMo-1B: Out → Tied") and "≠" in line)
    assert row.split()[-6:] == ["0.669", "0.5790", "−0.0900", "≠", "differs", "[1]"]
    assert sum(line.startswith("[1] Row numbers were matched") for line in lines) == 1
    told = " ".join(line.strip() for line in lines)
    assert f"- {sample.LACK}, 412 MB (for Table 6)" in told
    assert "embtie fetch Qwen/Qwen3-8B allenai/OLMo-1B-0724-hf@step10000-tokens20B" in lines
    assert all(len(line) <= 100 for line in lines if not line.startswith("embtie fetch"))


def test_what_no_fetch_of_matrices_brings_has_a_command_too() -> None:
    lacks = (
        "the whole model openai/gpt2",
        "both matrices of a/b (2 x 2) at steps 0, 1,000",
        "a CSV",
    )
    numbers = tuple(PaperNumber(one, "", "1").lacking(one, 7, "gone") for one in lacks)
    items = {
        name: PaperItem(name, "tying", "", (number,))
        for name, number in zip(("figure-2", "figure-9", "figure-4"), numbers, strict=True)
    }
    told = chart.text(None, PaperTables(items, {}))
    assert "\nembtie reproduce --fetch figure-2 figure-9\n\n" in told
    assert "embtie fetch" not in told
    plain = PaperNumber("", "", "1").lacking("both matrices of a/c (2 x 2)", 7, "gone")
    more = items | {"table-1": PaperItem("table-1", "tying", "", (plain,))}
    told = chart.text(None, PaperTables(more, {}))
    assert "\nembtie fetch a/c\nembtie reproduce --fetch figure-2 figure-9\n\n" in told
    alone = chart.text(None, PaperTables({"figure-4": items["figure-4"]}, {}))
    assert "embtie reproduce" not in alone
    assert "\n\n\n" not in alone


def test_nothing_is_no_negative_number() -> None:
    number = PaperNumber("", "", "0").found(-0.01, "recorded", "")
    assert here(number) == "0.0"


def test_the_page_has_a_chart_for_each_item(result: PaperTables) -> None:
    plots = chart.plots(result)
    assert len(plots.charts) == 1 + len(result.items)
    page = result_page(plots, json.dumps({"request": "</script>"}))
    assert '{"request": "\\u003c/script>"}' in page
    assert "<strings>" not in page
