"""Exported files: readable by others, with their settings inside."""

import io
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd

import embtie_widgets as ew
from embtie_widgets.jobs import exports
from embtie_widgets.requests import read_request
from tests.sample_results import pair_result

REQUEST = ew.AlignRequest(map="orthogonal", seed=3)


def test_a_csv_holds_its_settings_and_every_token():
    data = exports.csv_bytes(REQUEST, pair_result())
    head = data.split(b"\n", 1)[0]
    known = json.loads(head.removeprefix(b"# "))
    assert read_request(known["request"]) == REQUEST
    assert known["embtie"] == ew.__version__
    frame = pd.read_csv(io.BytesIO(data), skiprows=1, keep_default_na=False)
    assert len(frame) == 300
    assert bytes.fromhex(frame["bytes"][8]) == pair_result().tokens[8]


def test_no_token_is_a_formula_to_a_spreadsheet():
    result = pair_result(300, shift=-1)
    risky = (b"=cmd|' /C calc'!A0", b"@SUM(1)", b"+1", b"-2+3", b"-", b"'x")
    result = replace(result, tokens=(*risky, *result.tokens[len(risky) :]))
    data = exports.csv_bytes(REQUEST, result)
    frame = pd.read_csv(io.BytesIO(data), skiprows=1, keep_default_na=False)
    shown = ["'=cmd|'␣/C␣calc'!A0", "'@SUM(1)", "'+1", "'-2+3", "-", "'x"]
    assert frame["token"].tolist()[: len(risky)] == shown
    assert [bytes.fromhex(text) for text in frame["bytes"][: len(risky)]] == list(risky)
    assert float(frame["In->Out"][0]) == result.comparisons["In->Out"].cosine[0] < 0


def test_a_selection_is_exported_alone():
    data = exports.csv_bytes(REQUEST, pair_result(), {7, 2, 9})
    assert pd.read_csv(io.BytesIO(data), skiprows=1)["row_a"].tolist() == [2, 7, 9]


def test_a_number_that_is_not_there_becomes_null():
    value = exports.plain({"a": math.nan, "b": (np.float32("inf"), 1), 2: np.arange(2)})
    assert value == {"a": None, "b": [None, 1], "2": [0, 1]}
    assert json.dumps(exports.plain({"x": np.bool_(True)})) == '{"x": true}'


def test_the_files_reopen_to_the_same_request():
    written = exports.files(REQUEST, pair_result())
    assert set(written) == {"request.json", "result.json", "tokens.csv"}
    assert read_request(written["request.json"].decode()) == REQUEST


def test_the_table_is_called_after_tokens_only_where_it_lists_them():
    report = ew.run(ew.ParametersRequest())
    assert "table.csv" in exports.files(ew.ParametersRequest(), report)
