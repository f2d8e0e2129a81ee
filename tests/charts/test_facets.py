"""The room above small charts for their legend."""

from embtie_widgets.charts.facets import Facets


def test_names_that_fit_one_line_take_one_line() -> None:
    assert Facets(2, named=("a", "b")).above - Facets(2).above == 19


def test_names_that_do_not_fit_each_take_the_room_of_the_widest() -> None:
    names = ("order 0, 1 − MSE", "order 1", "order 0")
    one_column = Facets(2, named=names).narrow
    assert one_column.above - Facets(2).above == 3 * 19
