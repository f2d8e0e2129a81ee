import numpy as np

from embtie_widgets.jobs.first import first_result
from embtie_widgets.jobs.run import run
from embtie_widgets.requests import AlignRequest
from tests.fresh import run_fresh


def test_the_shipped_result_is_what_the_shipped_pair_gives_today() -> None:
    shipped, now = first_result(AlignRequest()), run(AlignRequest())
    assert shipped is not None
    assert shipped.tokens == now.tokens
    assert shipped.hashes == now.hashes
    assert (shipped.models, shipped.notes) == (now.models, now.notes)
    assert shipped.settings == now.settings | {"cached": True}
    for name, part in now.comparisons.items():
        np.testing.assert_allclose(shipped.comparisons[name].cosine, part.cosine, atol=1e-5)
        assert abs(shipped.comparisons[name].heldout_mean - part.heldout_mean) < 1e-5
        assert abs(shipped.comparisons[name].floor_mean - part.floor_mean) < 1e-5


def test_it_answers_no_other_request() -> None:
    assert first_result(AlignRequest(map="orthogonal")) is None
    assert first_result(AlignRequest(a="nano-tied")) is None


def test_it_needs_no_torch() -> None:
    code = (
        "from embtie_widgets.jobs.first import first_result;"
        "from embtie_widgets.requests import AlignRequest;"
        "assert first_result(AlignRequest())"
    )
    run_fresh(code, "torch")
