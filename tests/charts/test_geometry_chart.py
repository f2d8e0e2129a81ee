"""Neighbours and spectra as pictures and words, on a made-up result."""

import re
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from embtie_widgets.charts import geometry as chart
from embtie_widgets.charts import overlap, spectra
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.geometry import spread
from embtie_widgets.panels.geometry_tables import by_comparison, by_matrix, reading
from embtie_widgets.results.geometry import PairGeometry
from tests.sample_geometry import geometry_result, spectrum
from tests.sample_geometry import overlap as one_overlap

NAMES = ("In->Out", "Out->Tied", "In->Tied")


@pytest.fixture
def result() -> PairGeometry:
    return geometry_result()


def traces(spec: dict) -> list:
    return list(go.Figure(spec).data)


def only(result: PairGeometry, *names: str) -> PairGeometry:
    """The result of a model that lacks a matrix."""
    kept = {name: result.overlaps[name] for name in names}
    return replace(
        result,
        overlaps=kept,
        spectral={name: result.spectral[name] for name in names},
        spaces={name: result.spaces[name] for name in names},
    )


def without_spaces(result: PairGeometry) -> PairGeometry:
    return replace(result, spectral={}, spaces={}, matrices={})


def test_without_spaces_all_faces_stand_and_the_spectra_say_why_they_are_empty(
    result: PairGeometry,
) -> None:
    bare = without_spaces(result)
    assert "come with the exact one" in chart.spectra_caption(bare)
    assert "come with the exact one" not in chart.spectra_caption(result)
    assert all(trace.x is None or not len(trace.x) for trace in traces(spectra.spec(bare)))
    assert "KNN@10 is" in chart.headline(bare)
    assert "n = 299 tokens" in chart.caption(bare)
    said = chart.text(None, bare)
    assert "KNN / floor" in said
    assert "cka" not in said
    assert "effective rank" not in said
    assert "duplicates" in said


def test_the_page_has_the_spectra_only_where_there_are_some(result: PairGeometry) -> None:
    both, one = (
        result_page(chart.plots(given), "{}") for given in (result, without_spaces(result))
    )
    assert "singular values over" in both
    assert (both.count('class="caption"'), one.count('class="caption"')) == (2, 1)


def test_tables_leave_out_what_was_not_measured(result: PairGeometry) -> None:
    bare = without_spaces(result)
    assert "CKA" not in by_comparison(bare) + reading(bare)
    assert "CKA" in reading(result)
    for word in ("300 × 16", "tokens with a duplicate"):
        assert word in by_matrix(bare)
    for word in ("effective rank", "isotropy"):
        assert word not in by_matrix(bare)


def test_every_token_that_takes_part_is_in_one_step(result: PairGeometry) -> None:
    for name in NAMES:
        edges, counts = overlap.shares(result.overlaps[name].per_token, 10)
        assert counts.sum() == 299
        assert len(counts) == 11
        np.testing.assert_allclose((edges[:-1] + edges[1:]) / 2, np.arange(11) / 10, atol=1e-12)


def test_a_share_of_k_is_the_whole_number_it_came_from() -> None:
    for k in (7, 10, 100):
        np.testing.assert_array_equal(overlap.levels(np.arange(k + 1) / k, k), np.arange(k + 1))


def test_heights_are_shares_and_their_mean_is_the_overlap(result: PairGeometry) -> None:
    for trace, name in zip(traces(overlap.spec(result))[:3], overlap._ORDER, strict=True):
        heights = np.array(trace.y[:-1], float)
        assert heights.sum() == pytest.approx(1)
        assert (heights * np.arange(11) / 10).sum() == pytest.approx(
            result.overlaps[name].mean, abs=1e-6
        )


def test_large_k_puts_steps_together_and_loses_no_token() -> None:
    values = np.arange(1001) / 1000
    edges, counts = overlap.shares(values, 1000)
    assert len(counts) <= 51
    assert counts.sum() == 1001
    assert edges[-1] > 1


def test_mean_interval_and_chance_stand_on_the_chart(result: PairGeometry) -> None:
    mean, chance = traces(overlap.spec(result))[-2:]
    place = list(mean.y).index("Out → Tied")
    known = result.overlaps["Out->Tied"]
    assert mean.x[place] == known.mean
    assert mean.error_x.array[place] == pytest.approx(0.01)
    assert list(chance.x) == [known.floor] * 3


def test_the_selection_has_shares_of_its_own(result: PairGeometry) -> None:
    chosen = np.array([0, 1, 2, 3])
    over = traces(overlap.spec(result, chosen))[3:6]
    assert all(trace.visible for trace in over)
    assert sum(over[0].y) == pytest.approx(1)
    before, after = (traces(overlap.spec(result, some))[0] for some in (np.array([], int), chosen))
    assert list(before.y) == list(after.y)
    assert before.line.color != after.line.color


def test_the_traces_stay_the_same_ones(result: PairGeometry) -> None:
    specs = (overlap.spec(None), overlap.spec(result), overlap.spec(result, np.array([1])))
    assert len({tuple(t["name"] for t in spec["data"]) for spec in specs}) == 1
    specs = (spectra.spec(None), spectra.spec(result))
    assert len({len(spec["data"]) for spec in specs}) == 1


def test_a_missing_matrix_leaves_the_rest(result: PairGeometry) -> None:
    alone = only(result, "In->Tied")
    drawn = traces(overlap.spec(alone))
    assert [len(trace.x) for trace in drawn[:3]].count(0) == 2
    assert list(drawn[-1].y) == ["In → Tied"]
    assert chart.headline(alone).startswith("The two sides cannot be compared")


def test_spectra_do_not_depend_on_scale_or_on_how_often_rows_stand_there(
    result: PairGeometry,
) -> None:
    first = spectra.heights(result, "In")
    out = result.matrices["In"]
    twice = replace(
        out.spectrum,
        singular_values=out.spectrum.singular_values * 7 * 2**0.5,
        rows=2 * out.spectrum.rows,
    )
    changed = replace(result, matrices={"In": replace(out, spectrum=twice)})
    np.testing.assert_allclose(spectra.heights(changed, "In"), first)
    assert (first**2).sum() == pytest.approx(1)


def test_both_axes_of_the_spectra_are_logarithmic_and_rounding_is_left_out(
    result: PairGeometry,
) -> None:
    layout = spectra.spec(result)["layout"]
    assert (layout["xaxis"]["type"], layout["yaxis"]["type"]) == ("log", "log")
    sigma = result.matrices["In"].spectrum.singular_values.copy()
    sigma[-1] = 0
    cut = replace(result.matrices["In"].spectrum, singular_values=sigma)
    changed = replace(result, matrices={"In": replace(result.matrices["In"], spectrum=cut)})
    assert len(spectra.heights(changed, "In")) == len(sigma) - 1


def test_the_effective_rank_is_marked_on_its_line(result: PairGeometry) -> None:
    drawn = traces(spectra.spec(result))
    line, mark = drawn[0], drawn[-3]
    assert "effective rank 16 of 16" in line.name
    assert min(line.y) <= mark.y[0] <= max(line.y)
    assert mark.x[0] == pytest.approx(result.matrices["In"].spectrum.effective_rank)


def test_selected_tokens_have_thin_lines_on_the_scale_of_all(result: PairGeometry) -> None:
    whole = result.matrices["In"].spectrum.normalised
    drawn = traces(spectra.spec(result, {"In": whole * 3}))
    assert [trace.visible for trace in drawn[3:6]] == [True, False, False]
    np.testing.assert_allclose(drawn[3].y, 3 * np.array(drawn[0].y), rtol=1e-5)
    assert drawn[3].line.width < drawn[0].line.width
    said = [trace.name for trace in drawn[3:6] if trace.visible and trace.showlegend]
    assert said == ["thin: selected tokens alone"]


def test_points_are_spread_evenly_and_never_leave_their_step() -> None:
    steps = np.array([0.0] * 50 + [4.0] * 7 + [np.nan])
    moved = spread(steps, 1)
    np.testing.assert_array_equal(np.rint(moved[:-1]), steps[:-1])
    assert np.isnan(moved[-1])
    gaps = np.diff(np.sort(moved[:50]))
    np.testing.assert_allclose(gaps, gaps[0])
    assert not np.array_equal(moved, spread(steps, 2), equal_nan=True)


def test_columns_say_the_whole_number_and_spread_it_on_axes_alone(result: PairGeometry) -> None:
    found = {column.name: column for column in chart.columns(result)}
    axis, shown = found["knn Out->Tied"], found["overlap Out->Tied"]
    assert (axis.places, shown.places) == (("axis",), ("table", "card"))
    assert "spread" in axis.label
    assert shown.text(3) is None
    assert shown.text(0) == f"{result.overlaps['Out->Tied'].per_token[0] * 10:.0f}"
    assert [value for value, *_ in axis.lines] == [
        result.overlaps["Out->Tied"].mean * 10,
        result.overlaps["Out->Tied"].floor * 10,
    ]


def test_duplicates_are_a_column_where_there_are_any(result: PairGeometry) -> None:
    found = {column.name: column for column in chart.columns(result)}
    assert (found["duplicate"].text(5), found["duplicate"].text(4)) == ("In", "")
    none = {name: np.zeros(300, bool) for name in result.duplicates}
    assert "duplicate" not in {c.name for c in chart.columns(replace(result, duplicates=none))}


def test_the_headline_says_which_side_and_how_far_above_chance(result: PairGeometry) -> None:
    said = chart.headline(result)
    assert said.startswith("The tied matrix is closer to the untied output: KNN@10 is 0.5")
    assert "15 and 3.1 times what chance gives" in said
    graphs = chart.beside(result)
    assert "Spectral distance, where smaller is closer: 0.50 to the output, 0.90" in graphs
    assert "unrelated graphs like these are 1.20 and 1.20 apart" in graphs
    assert chart.beside(replace(result, spectral={})) == ""


def test_no_side_is_called_closer_where_intervals_overlap(result: PairGeometry) -> None:
    same = result.overlaps["Out->Tied"]
    near = replace(same, mean=same.mean - 0.015, interval=(same.mean - 0.025, same.mean - 0.005))
    both = replace(result, overlaps={"Out->Tied": same, "In->Tied": near})
    assert chart.headline(both).startswith("No clear difference")


def test_nothing_above_chance_is_no_finding(result: PairGeometry) -> None:
    floor = result.overlaps["In->Tied"].floor
    noise = one_overlap(np.full(300, floor))
    said = chart.headline(replace(result, overlaps={"Out->Tied": noise, "In->Tied": noise}))
    assert said.startswith("Neither side is above chance")
    assert "chance is 0.033" in said


def test_two_matrices_of_one_model_may_be_the_closest(result: PairGeometry) -> None:
    own = one_overlap(np.full(300, 0.9))
    said = chart.headline(replace(result, overlaps={**result.overlaps, "In->Out": own}))
    assert "In and Out are closer to each other than Tied is to either: 0.900." in said


def test_captions_say_what_the_charts_rest_on(result: PairGeometry) -> None:
    said = chart.caption(result)
    assert "n = 299 tokens (1 without value)" in said
    assert "10 nearest by cosine, not centred, the token itself left out" in said
    assert "nano-untied and nano-tied" in said
    some = np.full(300, np.nan)
    some[:40] = 0.5
    sampled = replace(result, overlaps={"Out->Tied": one_overlap(some)})
    assert "40 of n = 299 tokens" in chart.caption(sampled)
    assert "markers at the effective rank" in chart.spectra_caption(result)


def test_the_page_holds_both_charts_and_the_settings_once(result: PairGeometry) -> None:
    page = result_page(chart.plots(result), '{"k": 10}')
    assert page.count('class="plotly-graph-div"') == 2
    assert page.count('id="embtie-settings"') == 1
    assert "</script>" in page
    assert len(page) < 8_000_000


def test_the_command_line_gets_sentence_tables_and_notes(result: PairGeometry) -> None:
    said = chart.text(None, result)
    for part in (
        "The tied matrix is closer",
        "Out->Tied",
        "effective rank",
        "continuation",
        "note: One token",
    ):
        assert part.replace("_", " ") in said.replace("_", " ")


def test_figures_for_files_hold_their_caption(result: PairGeometry) -> None:
    for figure in (chart.figure(result), chart.spectra_figure(result, "dark")):
        assert any("n = " in note.text for note in figure.layout.annotations)


def test_a_spectrum_of_zeros_draws_nothing(result: PairGeometry) -> None:
    zeros = replace(spectrum(10), singular_values=np.zeros(16), effective_rank=float("nan"))
    changed = replace(result, matrices={"In": replace(result.matrices["In"], spectrum=zeros)})
    drawn = traces(spectra.spec(changed))
    assert len(drawn[0].x) == len(drawn[-3].x) == 0


def test_what_has_no_value_is_a_dash_and_never_called_nan(result: PairGeometry) -> None:
    space = result.spaces["In->Out"]
    none = replace(space.cka, value=float("nan"), floor=float("nan"))
    spaces = result.spaces | {"In->Out": replace(space, cka=none)}
    distances = {name: one for name, one in result.spectral.items() if name != "In->Out"}
    changed = replace(result, spaces=spaces, spectral=distances)
    for said in (chart.text(None, changed), by_comparison(changed)):
        assert not re.search(r"\bnan\b", said.lower())
    assert "- / -" in chart.text(None, changed)


def test_a_matrix_compared_with_itself_is_warned_of_wherever_it_is_read(
    result: PairGeometry,
) -> None:
    same = replace(result, hashes=result.hashes | {"Tied": result.hashes["In"]})
    for said in (chart.text(None, same), result_page(chart.plots(same), "{}")):
        assert "In and Tied are one and the same matrix" in said
