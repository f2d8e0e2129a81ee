import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from embtie_widgets.charts import alignment, index
from embtie_widgets.charts.columns import Column, Columns
from embtie_widgets.charts.tokens import Page, TokenRows
from embtie_widgets.results import PairAlignment, display_token
from tests.sample_results import TOKENS, pair_result


def rows_of(result: PairAlignment, *more: Column) -> TokenRows:
    return TokenRows(Columns(result, [*alignment.columns(result), *more]))


def ids(page: Page) -> list[int]:
    return [row[0] for row in page.rows]


def test_pages_cover_every_token_once() -> None:
    rows = rows_of(pair_result(250))
    seen = [i for page in range(3) for i in ids(rows.page("Out->Tied", True, page, 100))]
    assert sorted(seen) == list(range(250))


def test_sorting_carries_ids_and_leaves_missing_values_last() -> None:
    result = pair_result(50)
    cosine = result.comparisons["Out->Tied"].cosine
    down = ids(rows_of(result).page("Out->Tied", True, 0, 50))
    up = ids(rows_of(result).page("Out->Tied", False, 0, 50))
    assert down[-1] == up[-1] == 3
    assert down[0] == np.nanargmax(cosine)
    assert up[0] == np.nanargmin(cosine)


def test_a_token_stands_beside_its_bytes_and_one_byte_is_no_plural() -> None:
    result = pair_result(20)
    columns = Columns(result, alignment.columns(result))
    columns.tokens = (b"a", b" ab")
    assert columns.spelled(0) == ("a", "1 byte: 61")
    assert columns.spelled(1)[1] == "3 bytes: 20 61 62"


def test_a_missing_value_is_none_and_not_zero() -> None:
    rows = rows_of(pair_result(20))
    row = next(row for row in rows.page("", False, 0, 20).rows if row[0] == 3)
    names = [column["name"] for column in rows.columns]
    assert row[1 + names.index("Out->Tied")] is None


def test_search_finds_text_without_regard_to_case_and_visible_signs() -> None:
    rows = rows_of(pair_result(50))
    assert set(rows.hits("THE")) == {0, 1}
    assert list(rows.hits("␣the")) == [1]
    assert list(rows.hits("<b>")) == [TOKENS.index(b"<b>")]
    assert not rows.hits("nowhere").size


def test_a_page_keeps_what_is_found_and_chosen_in_its_order() -> None:
    rows = rows_of(pair_result(50))
    assert ids(rows.page("row_a", True, 0, 50, found={7, 9, 11, 999})) == [11, 9, 7]
    assert ids(rows.page("row_a", True, 0, 50, found={7, 9, 11}, only={9, 11, 12})) == [11, 9]
    assert rows.page("row_a", True, 0, 50, found=frozenset()).shown == 0


def test_a_column_of_texts_is_sorted_with_equal_ones_in_their_order() -> None:
    kinds = np.array([("b", "a", "c")[i % 3] for i in range(20)])
    rows = rows_of(
        pair_result(20), Column("family", "f", "neutral", kinds, kind="text", places=("table",))
    )
    up = ids(rows.page("family", False, 0, 20))
    assert up == [*range(1, 20, 3), *range(0, 20, 3), *range(2, 20, 3)]
    down = ids(rows.page("family", True, 0, 20))
    assert down == [*range(2, 20, 3), *range(0, 20, 3), *range(1, 20, 3)]
    assert rows.page("family", True, 0, 20).rows[0][-1] == "c"


def test_each_column_stands_where_it_says_and_is_written_as_it_says() -> None:
    result = pair_result(20)
    counts = Column("n", "how many", "neutral", np.arange(20.0) * 1000, kind="integer", head="#")
    fine = Column("x", "very fine", "tied", np.r_[np.nan, np.ones(19)], format=".5f", places=())
    columns = Columns(result, [*alignment.columns(result), counts, fine])
    assert TokenRows(columns).columns[-1] == {"name": "n", "label": "#", "kind": "integer"}
    assert (counts.text(3), fine.text(1), fine.text(0)) == ("3,000", "1.00000", None)
    assert ["how many", "3,000"] in columns.facts(3)
    assert "very fine" not in columns.describe(3)
    assert "x" not in [name for _, name in columns.options]
    assert columns.axis("x", "nothing", "n") is counts
    first, second = (name for _, name in columns.options[:2])
    assert columns.axis("nothing").name == columns.axis("nothing", beside="other").name == first
    assert columns.axis("nothing", beside=first).name == second
    assert columns.axis(first, beside=first).name == first
    only = Columns(result, [counts])
    assert only.axis("nothing", beside="n") is counts


def test_a_page_beyond_the_end_is_the_last_one() -> None:
    page = rows_of(pair_result(50)).page("token", False, 9, 20)
    assert page.page == (page.shown - 1) // 20
    assert page.rows


@pytest.mark.parametrize(
    "query", ["", "\uffff", "the", "THE", "a", "\x00", "\n", "b\x00", "é", "x", "[u+", "\\xff"]
)
def test_the_index_finds_what_looking_at_each_token_finds(query: str) -> None:
    chance = random.Random(0)
    letters = [b"a", b"b", b"The", b"\x00", b"\n", b" ", "É".encode(), b"\xff", b"\xe2\x80\x8b"]
    tokens = tuple(b"".join(chance.choices(letters, k=chance.randrange(4))) for _ in range(500))
    tokens = (*tokens, None)
    texts = [
        [(key or b"").decode("utf-8", "replace").casefold(), display_token(key).casefold()]
        for key in tokens
    ]
    wanted = query.casefold()
    found = [i for i, both in enumerate(texts) if any(wanted in text for text in both)]
    assert index.TokenIndex(tokens).find(query).tolist() == found


def test_the_index_is_made_once_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    made, tokens = [], pair_result(40).tokens
    index._made.cache_clear()
    whole = index.TokenIndex

    def counted(tokens: index.Tokens) -> index.TokenIndex:
        made.append(tokens)
        return whole(tokens)

    monkeypatch.setattr(index, "TokenIndex", counted)
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: id(index.index_of(tokens)), range(50)))
    assert (len(made), len(found)) == (1, 1)
