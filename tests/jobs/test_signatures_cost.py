"""What signatures in text are said to cost."""

from embtie_widgets.jobs.signatures_cost import estimate_signatures
from embtie_widgets.requests import SignaturesRequest


def test_the_estimate_grows_with_the_pairs_of_anchors() -> None:
    few, many = (estimate_signatures(SignaturesRequest(anchors=n)) for n in (80, 2_000))
    assert many.seconds > few.seconds + 30
    assert many.bytes > few.bytes


def test_probes_add_to_it() -> None:
    bare, probed = (estimate_signatures(SignaturesRequest(context=n)) for n in (0, 16))
    assert probed.seconds > bare.seconds
