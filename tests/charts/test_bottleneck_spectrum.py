"""The names of the lines in the growth of the gradient's rank."""

from embtie_widgets.charts import bottleneck as chart
from tests.sample_bottleneck import report


def test_the_names_of_the_two_largest_shares_stand_on_two_sides_of_their_lines() -> None:
    notes = chart.spectrum(report())["layout"]["annotations"]
    sides = {one["text"]: one.get("yanchor") for one in notes}
    assert sides["90 %"] == "top"
    assert sides["99.9 %"] == "bottom"
