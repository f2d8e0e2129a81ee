"""Stored results from elsewhere: what is ours comes back equal, what is forged is refused."""

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.results import PairAlignment
from embtie_widgets.results.drift import DriftReport
from embtie_widgets.results.foreign import from_foreign_bytes
from embtie_widgets.results.storage import to_bytes
from tests.sample_results import pair_result

Plain = dict[str, Any]


def forged(change: Callable[[Plain, dict[str, Any]], None]) -> bytes:
    """The sample result with its plain values and arrays changed by hand."""
    with np.load(io.BytesIO(to_bytes(pair_result()))) as archive:
        arrays = {name: archive[name] for name in archive.files}
    plain = json.loads(arrays.pop("plain").tobytes())
    change(plain, arrays)
    arrays["plain"] = np.frombuffer(json.dumps(plain).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_ships_comes_back_equal(kind: str) -> None:
    known = KINDS[kind]
    result = known.part("first")(known.request())
    if result is None:
        pytest.skip("this kind ships no result")
    data = to_bytes(result)
    assert to_bytes(from_foreign_bytes(data, known.result_type())) == data


def test_text_can_begin_no_tag_wherever_it_stands() -> None:
    hostile = "<img src=x onerror=alert(1)> </b><!--"
    result = replace(pair_result(), notes=(hostile, "r < 0.5, a<5"), settings={hostile: [hostile]})
    told = from_foreign_bytes(to_bytes(result), PairAlignment)
    assert told.notes[1] == "r < 0.5, a<5"
    for text in (told.notes[0], *told.settings, told.settings[next(iter(told.settings))][0]):
        assert "<" not in text
        assert "img src=x onerror" in text


def parts(plain: Plain) -> Plain:
    return plain["result"]["parts"]["items"]


def wrong_kind(plain: Plain, _arrays: Any) -> None:
    parts(plain)["notes"] = "not a tuple"


def text_for_a_number(plain: Plain, _arrays: Any) -> None:
    one = parts(plain)["comparisons"]["items"]
    next(iter(one.values()))["parts"]["items"]["mean"] = "<script>"


def letters_for_numbers(_plain: Plain, arrays: dict[str, Any]) -> None:
    name = next(name for name in arrays if name.endswith("/cosine"))
    arrays[name] = np.array(["<b>"] * 3)


def another_class(plain: Plain, _arrays: Any) -> None:
    one = parts(plain)["comparisons"]["items"]
    inner = next(iter(one))
    one[inner] = {"kind": "GroupMean", "parts": {"kind": "dict", "items": {}}}


def too_deep(plain: Plain, _arrays: Any) -> None:
    value: Any = 1
    for _ in range(900):
        value = [value]
    parts(plain)["settings"] = {"kind": "dict", "items": {"a": value}}


@pytest.mark.parametrize(
    "change", [wrong_kind, text_for_a_number, letters_for_numbers, another_class, too_deep]
)
def test_forged_values_are_refused(change: Callable[[Plain, dict[str, Any]], None]) -> None:
    with pytest.raises(EmbtieError, match="stored result"):
        from_foreign_bytes(forged(change), PairAlignment)
    from_foreign_bytes(forged(lambda *_: None), PairAlignment)


def test_a_result_of_another_kind_is_refused() -> None:
    with pytest.raises(EmbtieError, match="a PairAlignment, not a DriftReport"):
        from_foreign_bytes(to_bytes(pair_result()), DriftReport)


def test_what_would_unpack_to_more_than_it_is_is_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("plain.npy", b"\0" * 10_000_000)
    with pytest.raises(EmbtieError, match="unpack to more"):
        from_foreign_bytes(file.getvalue(), PairAlignment)


def test_a_pickle_is_never_loaded() -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (pytest.fail, ("a pickle was loaded",))

    file = io.BytesIO()
    np.savez(file, plain=np.array([Trap()], dtype=object))
    with pytest.raises(EmbtieError):
        from_foreign_bytes(file.getvalue(), PairAlignment)


@pytest.mark.parametrize("data", [b"", b"PK", b"\x80\x04K\x01."])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(EmbtieError, match="no archive"):
        from_foreign_bytes(data, PairAlignment)
