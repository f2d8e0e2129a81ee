"""Ready counts: by row, by id, by token, by bytes; and what cannot be counts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.count_files import read_counts
from embtie_widgets.sources.loaded import Loaded

TOKENS = [b" the", b"the", b"a", b"a", None, "é".encode(), b"\n", b"7"]


def model(tokens: Any = TOKENS, byte_rows: Any = (2,)) -> Loaded:
    return Loaded(
        "tiny", torch.zeros(8, 4), None, "tied", tokens=tokens, byte_rows=frozenset(byte_rows)
    )


def read(folder: Path, name: str, content: Any, loaded: Loaded | None = None) -> Any:
    path = folder / name
    if isinstance(content, np.ndarray):
        np.save(path, content)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
    return read_counts(path, loaded or model())


BY_ROW = [5, 0, 0, 3, 0, 2, 1, 0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.npy", np.array(BY_ROW, np.uint16)),
        ("c.npy", np.array(BY_ROW, ">i8")),
        ("c.json", BY_ROW),
        ("c.json", {"0": 5, "3": 3, "5": 2, "6": 1}),
        ("c.csv", "id,count\n0,5\n3,3\n5,2\n6,1\n"),
        ("c.csv", "\ufeffRow,Count\r\n3,3\r\n0,5\r\n5,2\r\n6,1.0\r\n"),
        ("c.tsv", "row\tcounts\n0\t5\n3\t3\n5\t2\n6\t1\n"),
    ],
)
def test_counts_by_row_stay_where_they_are(name, content, tmp_path):
    found = read(tmp_path, name, content)
    assert found.counts.dtype == np.int64
    assert found.counts.tolist() == BY_ROW
    assert (found.unknown, found.notes, found.name) == (0, (), name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.json", {" the": 5, "a": 3, "é": 2, "\n": 1, "zzz": 4, "yyy": 0}),
        ("c.json", {"Ġthe": 5, "a": 3, "Ã©": 2, "Ċ": 1, "Ġzzz": 4, "yyy": 0}),
        ("c.json", {"▁the": 5, "a": 3, "é": 2, "<0x0A>": 1, "▁zzz": 4, "yyy": 0}),
        ("c.csv", 'token,count\n the,5\na,3\né,2\n"\n",1\nzzz,4\nyyy,0\n'),
        ("c.csv", "bytes,count\n20746865,5\n61,3\nc3a9,2\n0a,1\n7a7a7a,4\n79,0\n"),
        ("c.csv", "row,bytes,count\n7,20746865,5\n1,61,3\n2,c3a9,2\n3,0a,1\n4,7a7a7a,4\n5,79,0\n"),
    ],
)
def test_counts_of_another_vocabulary_are_matched_by_bytes(name, content, tmp_path):
    found = read(tmp_path, name, content)
    assert found.counts.tolist() == BY_ROW  # the row that is text, not the raw byte
    assert found.unknown == 4
    assert "Not in tiny: 1 token of the file, counted 4 times." in found.notes[0]


def test_rows_are_taken_where_their_bytes_are_those_of_the_model(tmp_path):
    """Both rows that stand for one letter keep their own counts."""
    found = read(tmp_path, "c.csv", "row,bytes,count\n2,61,7\n3,61,3\n4,,0\n")
    assert found.counts[[2, 3]].tolist() == [7, 3]
    assert found.notes == ()


def test_a_line_of_settings_is_passed_over(tmp_path):
    assert read(tmp_path, "c.csv", '# {"a": "b,c"}\nrow,count\n3,1\n').counts[3] == 1


@pytest.mark.parametrize("sign", [b"#", b'"', b","])
def test_tokens_that_look_like_the_table_itself_are_read(sign, tmp_path):
    loaded = model([sign, *TOKENS[1:]])
    import pandas as pd

    table = pd.DataFrame({"token": [sign.decode()], "count": [2]}).to_csv(index=False)
    assert read(tmp_path, "c.csv", table, loaded).counts[0] == 2


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("c.npy", np.array([1.5] * 8), "float64"),
        ("c.npy", np.full(8, -1), "gives -1 as a count"),
        ("c.npy", np.full(8, 2**60), "as a count"),
        ("c.npy", np.ones((8, 2), int), "8 x 2"),
        ("c.npy", np.array(["a"] * 8), "<U1"),
        ("c.npy", np.array([{}] * 8, object), "no plain numbers"),
        ("c.npy", np.ones(9, int), "holds 9 counts, but tiny has 8 rows"),
        ("c.npy", np.ones(7, int), "holds 7 counts, but tiny has 8 rows"),
        ("c.npy", b"\x93NUMPY", "cut short"),
        ("c.npy", np.zeros(8, int), "counts no token of tiny"),
        ("c.json", "{", "no valid JSON"),
        ("c.json", "3", "holds no counts"),
        ("c.json", {}, "holds no counts"),
        ("c.json", {"a": 0.5}, "gives 0.5 as a count"),
        ("c.json", {"a": True}, "gives True as a count"),
        ("c.json", {"a": -3}, "gives -3 as a count"),
        ("c.json", '{"a": 1e400}', "gives inf as a count"),
        ("c.json", '{"a": ' + "9" * 30 + "}", "as a count"),
        ("c.json", {"a": "7"}, "gives '7' as a count"),
        ("c.json", {"8": 1}, "has a row 8"),
        ("c.json", {"x": 1, "y": 2}, "counts no token of tiny"),
        ("c.json", [1] * 9, "holds 9 counts"),
        ("c.csv", "token,n\na,1\n", "these columns: 'token', 'n'"),
        ("c.csv", "count\n1\n", "these columns: 'count'"),
        ("c.csv", "row,count\n1,2\n1,3\n", "names a row twice"),
        ("c.csv", "row,count\n-1,2\n", "gives '-1' as a row"),
        ("c.csv", "row,count\n1,-2\n", "gives '-2' as a count"),
        ("c.csv", "row,count\n1,2.5\n", "gives '2.5' as a count"),
        ("c.csv", "row,count\n1,\n", "gives '' as a count"),
        ("c.csv", "row,count\n1,2\n3\n", "cut short"),
        ("c.csv", "row,count,Count\n1,2,3\n", "two columns of one name"),
        ("c.csv", "", "empty"),
        ("c.csv", "row,count\n", "cut short"),
        ("c.csv", "bytes,count\nxy,1\n", "gives 'xy' as bytes"),
        ("c.csv", b"row,count\n\xe9,1\n", "no UTF-8"),
    ],
)
def test_what_cannot_be_counts_is_a_sentence(name, content, words, tmp_path):
    with pytest.raises(EmbtieError) as caught:
        read(tmp_path, name, content)
    assert words in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.hint


def test_a_model_without_tokens_takes_counts_by_row_alone(tmp_path):
    loaded = model(None, ())
    assert read(tmp_path, "c.csv", "row,token,bytes,count\n3,a,61,2\n", loaded).counts[3] == 2
    with pytest.raises(EmbtieError, match="tokens of tiny are not known"):
        read(tmp_path, "c.json", {"a": 1}, loaded)


def test_a_table_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("embtie_widgets.sources.count_files.LONGEST", 10)
    with pytest.raises(EmbtieError, match="too large"):
        read(tmp_path, "c.csv", "row,count\n1,2\n3,4\n")


def test_a_list_may_leave_out_rows_without_token(tmp_path):
    loaded = model([*TOKENS[:6], None, None])
    assert read(tmp_path, "c.npy", np.arange(6), loaded).counts.tolist() == [*range(6), 0, 0]
    with pytest.raises(EmbtieError, match="holds 6 counts"):
        read(tmp_path, "c.npy", np.arange(6), model(None, ()))
