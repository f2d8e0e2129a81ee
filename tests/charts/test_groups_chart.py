"""Groups as tables and as choices."""

import dataclasses

import numpy as np

from embtie_widgets.charts.groups import choices, group_table, group_text
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.results.groups import BY_FREQUENCY, BY_KIND, KINDS
from tests.sample_results import pair_result


def test_a_table_has_a_row_for_every_group_of_its_heading_and_a_cell_for_every_column() -> None:
    result = pair_result()
    tables = [group_table(result, heading) for heading in (BY_KIND, BY_FREQUENCY)]
    names = [row["name"] for table in tables for row in table["rows"]]
    assert names == [group["group"] for group in result.groups]
    for table in tables:
        assert all(len(row["cells"]) == len(table["columns"]) == 4 for row in table["rows"])
    assert {row["title"] for row in tables[0]["rows"]} <= set(KINDS.values())


def test_measures_are_coloured_by_role() -> None:
    columns = group_table(pair_result(), BY_KIND)["columns"]
    assert [(one["label"], one["role"]) for one in columns] == [
        ("tokens", ""),
        ("Out → Tied", "output"),
        ("In → Tied", "input"),
        ("In → Out", "neutral"),
    ]
    groups = group_means({"byte": np.ones(2, bool)}, {"Tied": np.ones(2), "In": np.ones(2)})
    columns = group_table(dataclasses.replace(pair_result(), groups=groups), BY_KIND)["columns"]
    assert [one["role"] for one in columns] == ["", "tied", "input"]


def test_numbers_have_a_real_minus_and_their_interval_and_a_dash_where_there_is_none() -> None:
    masks = {"byte": np.arange(40) < 40, "number": np.arange(40) < 2}
    values = np.where(np.arange(40) < 2, np.nan, -0.5)
    groups = group_means(masks, {"In": values})
    rows = group_table(dataclasses.replace(pair_result(), groups=groups), BY_KIND)["rows"]
    assert rows[0]["cells"] == [["40", "38 with a value"], ["−0.500", "[−0.500, −0.500]"]]
    assert rows[1]["cells"] == [["2", "0 with a value"], ["–", ""]]


def test_choices_name_every_group_with_its_size_after_all_tokens() -> None:
    result = pair_result()
    found = choices(result)
    assert found[0] == ("every token", "")
    assert [name for _, name in found[1:]] == [group["group"] for group in result.groups]
    labels = {name: label for label, name in found}
    assert labels["word start"] == "word start (1)"
    assert labels["0 times"] == "0 times in the corpus (1)"


def test_a_choice_that_a_result_has_none_of_stays_and_says_so() -> None:
    result = pair_result()
    assert choices(result, "number")[-1] == ("number (none here)", "number")
    assert choices(result, "word start") == choices(result)
    nothing = dataclasses.replace(result, groups=())
    assert choices(nothing) == [("every token", "")]
    assert choices(nothing, "0 times")[-1] == ("0 times in the corpus (none here)", "0 times")
    assert choices(None) == [("every token", "")]


def test_a_result_without_groups_makes_an_empty_table() -> None:
    nothing = dataclasses.replace(pair_result(), groups=())
    assert group_table(nothing, BY_KIND)["rows"] == []


def test_as_text_a_group_has_a_line_of_its_own() -> None:
    result = pair_result()
    heads, *lines = group_text(result).splitlines()
    assert " ".join(heads.split()) == "kind of token tokens In → Out Out → Tied In → Tied"
    kinds = [group for group in result.groups if group["by"] == BY_KIND]
    assert len(lines) == len(kinds)
    for line, group in zip(lines, kinds, strict=True):
        assert line.split()[:-3] == [*group["group"].split(), f"{group['tokens']:,}"]
    assert group_text(dataclasses.replace(result, groups=())) == ""
