import numpy as np

from embtie_widgets.charts.tokens import Page, TokenRows
from tests.sample_results import TOKENS, pair_result


def ids(page: Page) -> list[int]:
    return [row[0] for row in page.rows]


def test_pages_cover_every_token_once() -> None:
    rows = TokenRows(pair_result(250))
    seen = [i for page in range(3) for i in ids(rows.page("", "Out->Tied", True, page, 100))]
    assert sorted(seen) == list(range(250))


def test_sorting_carries_ids_and_leaves_missing_values_last() -> None:
    result = pair_result(50)
    cosine = result.comparisons["Out->Tied"].cosine
    down = ids(TokenRows(result).page("", "Out->Tied", True, 0, 50))
    up = ids(TokenRows(result).page("", "Out->Tied", False, 0, 50))
    assert down[-1] == up[-1] == 3
    assert down[0] == np.nanargmax(cosine)
    assert up[0] == np.nanargmin(cosine)


def test_a_missing_value_is_none_and_not_zero() -> None:
    rows = TokenRows(pair_result(20))
    row = next(row for row in rows.page("", "", False, 0, 20).rows if row[0] == 3)
    names = [column["name"] for column in rows.columns]
    assert row[1 + names.index("Out->Tied")] is None


def test_search_finds_text_without_regard_to_case_and_visible_signs() -> None:
    rows = TokenRows(pair_result(50))
    assert set(ids(rows.page("THE", "", False, 0, 50))) == {0, 1}
    assert ids(rows.page("␣the", "", False, 0, 50)) == [1]
    assert ids(rows.page("<b>", "", False, 0, 50)) == [TOKENS.index(b"<b>")]
    assert rows.page("nowhere", "", False, 0, 50).shown == 0


def test_a_page_beyond_the_end_is_the_last_one() -> None:
    page = TokenRows(pair_result(50)).page("word", "token", False, 9, 20)
    assert page.page == (page.shown - 1) // 20
    assert page.rows
