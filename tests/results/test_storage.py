"""Results as bytes and back."""

import dataclasses

import numpy as np
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.results.storage import from_bytes, to_bytes
from tests.sample_results import pair_result


def _same(a, b) -> bool:
    if dataclasses.is_dataclass(a):
        names = [field.name for field in dataclasses.fields(a)]
        return type(a) is type(b) and all(_same(getattr(a, n), getattr(b, n)) for n in names)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("change", [{}, {"token_counts": None, "kinds": None, "groups": ()}])
def test_a_result_survives_with_every_field_and_type(change):
    result = dataclasses.replace(pair_result(), **change)
    again = from_bytes(to_bytes(result))
    assert _same(result, again)
    assert not _same(result, pair_result(shift=0.1))


def test_tokens_that_are_not_known_and_empty_ones_stay_apart():
    tokens = (None, b"", b"\xe4\xff", "\u6d4b".encode())
    result = dataclasses.replace(pair_result(), tokens=tokens)
    assert from_bytes(to_bytes(result)).tokens == tokens


def test_a_changed_byte_anywhere_is_noticed_or_harmless():
    result = pair_result(50)
    whole = to_bytes(result)
    noticed = 0
    for place in range(0, len(whole), 23):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        try:
            again = from_bytes(bytes(damaged))
        except EmbtieError:
            noticed += 1
        else:
            assert _same(result, again)
    assert noticed > 20


@pytest.mark.parametrize("data", [b"", b"PK", b"not an archive", to_bytes(pair_result(30))[:-300]])
def test_what_is_no_result_is_refused(data):
    with pytest.raises(EmbtieError, match="damaged"):
        from_bytes(data)


def test_a_result_of_an_earlier_version_is_refused_in_words():
    known = dataclasses.replace(pair_result(30))
    earlier = to_bytes(known).replace(b'"groups"', b'"bandss"')
    assert earlier != to_bytes(known)
    with pytest.raises(EmbtieError, match="Run the request again"):
        from_bytes(earlier)
