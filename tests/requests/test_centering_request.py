"""What a sweep of output centering is asked by, from links and from code."""

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.requests.link import decode


def test_one_rate_or_seed_written_in_two_ways_is_one_run() -> None:
    asked = decode("embtie=1&kind=centering&methods=none&rates=0.1,0.10,1e-1&seeds=0,00").request
    assert asked.rates == (0.1,)
    assert asked.seeds == (0,)
    assert len(asked.cells) == 1


@pytest.mark.parametrize("name", ["methods", "rates", "seeds", "sizes"])
def test_a_list_in_a_list_is_told_in_words(name: str) -> None:
    with pytest.raises(EmbtieError, match=f"{name} is .*expected plain values"):
        CenteringRequest(**{name: (["none"],)})
