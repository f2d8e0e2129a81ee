"""Estimates: unknown before the models are, then growing with the work."""

import embtie_widgets as ew
from embtie_widgets.jobs.estimate import Experience

SMALL, LARGE = ew.ModelRef("small"), ew.ModelRef("large")


def _seen() -> Experience:
    experience = Experience()
    experience.saw(SMALL, (4096, 128))
    experience.saw(LARGE, (50304, 2048))
    return experience


def test_nothing_is_said_of_models_that_were_never_loaded():
    assert Experience().estimate(ew.AlignRequest()) is None


def test_larger_models_and_richer_maps_cost_more():
    experience = _seen()
    small, large = ew.AlignRequest(a=SMALL, b=SMALL), ew.AlignRequest(a=LARGE, b=LARGE)
    assert experience.estimate(large).seconds > 20 * experience.estimate(small).seconds
    assert experience.estimate(large).bytes > experience.estimate(small).bytes
    bare = ew.AlignRequest(a=LARGE, b=LARGE, map="identity")
    assert experience.estimate(bare).seconds < experience.estimate(large).seconds


def test_a_run_teaches_the_speed_of_the_machine():
    experience = _seen()
    request = ew.AlignRequest(a=LARGE, b=LARGE)
    experience.took(request, 1000.0)
    assert 900 < experience.estimate(request).seconds < 1100
    experience.took(ew.AlignRequest(a=SMALL, b=SMALL), 0.2)
    assert 900 < experience.estimate(request).seconds < 1100


def test_a_run_without_products_teaches_nothing():
    experience = _seen()
    request = ew.AlignRequest(a=LARGE, b=LARGE)
    before = experience.estimate(request)
    experience.took(ew.AlignRequest(a=LARGE, b=LARGE, map="identity"), 1000.0)
    assert experience.estimate(request) == before
