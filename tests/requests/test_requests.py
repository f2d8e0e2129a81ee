"""Requests: immutable, bounded, and the same in a file, a link and a cache key."""

import dataclasses
import json

import pytest

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import PairRequest
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.reading import SIZE_LIMIT, read_request, request_key, to_json

CHANGED = ew.AlignRequest(
    a=ew.ModelRef("someone/model", revision="step1000"),
    b="nano-tied",
    map="orthogonal",
    center=False,
    ridge=2,
    holdout=0,
    seed=7,
    role_b="output",
    device="cpu",
)


@pytest.mark.parametrize("request_", [ew.AlignRequest(), CHANGED])
def test_a_request_survives_text_file_and_mapping(request_, tmp_path):
    text = to_json(request_)
    path = tmp_path / "request.json"
    path.write_text(text)
    for source in (request_, text, json.loads(text), path, str(path)):
        assert read_request(source) == request_


def test_the_key_is_that_of_the_content_and_of_nothing_else():
    assert request_key(ew.AlignRequest()) == request_key(ew.AlignRequest(ridge=0))
    changed = {
        "map": "identity",
        "center": False,
        "ridge": 1.0,
        "holdout": 0.1,
        "seed": 1,
        "role_b": "input",
        "device": "cpu",
        "a": "x",
        "b": "y",
        "mu_centered": True,
        "leave_out_copies": True,
    }
    keys = {request_key(ew.AlignRequest(**{name: value})) for name, value in changed.items()}
    assert len(keys | {request_key(ew.AlignRequest())}) == len(changed) + 1
    assert set(changed) == {field.name for field in dataclasses.fields(ew.AlignRequest)}


def test_a_request_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ew.AlignRequest().map = "identity"


@pytest.mark.parametrize(
    "change",
    [
        {"map": "spin"},
        {"map": None},
        {"map": ["linear"]},
        {"center": "yes"},
        {"center": 1},
        {"ridge": -1},
        {"ridge": float("nan")},
        {"ridge": float("inf")},
        {"ridge": "0"},
        {"ridge": True},
        {"holdout": 1.0},
        {"holdout": 10**400},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": 2**31},
        {"seed": 10**5000},
        {"role_b": "both"},
        {"device": "cuda:99; rm"},
        {"a": ""},
        {"a": None},
        {"a": 5},
        {"a": "x" * 2000},
        {"a": "line\nbreak"},
        {"a": {"revision": "main"}},
        {"a": {"ref": "x", "token": "secret"}},
        {"a": {"ref": "x", "treat_as_tied": "yes"}},
        {"unknown": 1},
    ],
)
def test_a_field_out_of_bounds_is_refused_with_its_name(change):
    with pytest.raises(EmbtieError) as caught:
        read_request({"embtie": 1, "kind": "align", **change})
    (name, value) = next(iter(change.items()))
    named = {"ref", "model", *value} if name == "a" and isinstance(value, dict) else {name, "ref"}
    assert any(word in caught.value.message for word in named)
    assert caught.value.hint


@pytest.mark.parametrize(
    "source",
    [
        "{",
        "[]",
        "{}",
        '{"embtie": 1}',
        '{"embtie": 1, "kind": "dance"}',
        '{"embtie": "1", "kind": "align"}',
        '{"embtie": 2, "kind": "align"}',
        '{"embtie": 1, "kind": "align", "ridge": NaN}',
        "[" * 30_000,
        "{" + " " * SIZE_LIMIT + "}",
        "nowhere/request.json",
        "a\x00b",
        "\ud800.json",
        "x" * 10**6,
        '{"embtie": 1, "kind": "align", "a": ' + "[" * 30_000,
        {"embtie": 1, "kind": "align", 5: 1},
        {"embtie": True, "kind": "align"},
        42,
        None,
    ],
)
def test_what_is_no_request_is_a_sentence_and_a_next_step(source):
    with pytest.raises(EmbtieError) as caught:
        read_request(source)
    assert caught.value.message
    assert caught.value.hint
    assert len(str(caught.value)) < 400
    str(caught.value).encode()


def test_a_folder_or_a_picture_is_no_request(tmp_path):
    (tmp_path / "picture.json").write_bytes(b"\x89PNG\xff\xfe")
    for path in (tmp_path, tmp_path / "picture.json"):
        with pytest.raises(EmbtieError, match="cannot be read as text") as caught:
            read_request(path)
        assert str(tmp_path.parent) not in str(caught.value)


@pytest.mark.parametrize("request_", [ew.AlignRequest(), CHANGED])
def test_the_three_lines_of_code_run_the_same_request_and_show_its_result(
    request_, monkeypatch, capsys
):
    monkeypatch.setattr(ew, "run", lambda request: ("carried out", request), raising=False)
    exec(to_code(request_), {})
    assert capsys.readouterr().out == f"{('carried out', request_)}\n"
    assert len(to_code(request_).splitlines()) == 3
    assert to_code(request_).endswith("\n")


def test_a_kind_about_a_pair_has_the_pair_checked_and_its_own_fields_after_the_models():
    asked = ew.AlignRequest("x", "y", "identity", False)
    assert (asked.a.ref, asked.b.ref, asked.map, asked.center) == ("x", "y", "identity", False)
    assert isinstance(asked, PairRequest)
    for change in ({"role_b": "both"}, {"device": "tpu"}):
        with pytest.raises(EmbtieError, match=next(iter(change))):
            PairRequest(**change)
