import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from embtie_widgets.charts import index
from embtie_widgets.charts.tokens import Page, TokenRows
from embtie_widgets.results import display_token
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
