"""From a BottleneckRequest to a BottleneckReport: loaded models on a text, or runs."""

from embtie_widgets.jobs.bottleneck_run import known_twins, run_recorded, run_twins
from embtie_widgets.jobs.bottleneck_text import known_text, run_text
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import BottleneckRequest
from embtie_widgets.results.bottleneck import BottleneckReport


def run_bottleneck(request: BottleneckRequest, progress: Progress = silent) -> BottleneckReport:
    """Measure what the heads that the request names transmit."""
    return _SOURCES[request.source](request, progress)


def look_up(request: BottleneckRequest) -> BottleneckReport | None:
    """What an earlier run has left; what is recorded is read anew, which is quick."""
    if request.source == "train":
        return known_twins(request)
    return known_text(request) if request.source == "text" else None


_SOURCES = {"text": run_text, "train": run_twins, "run": run_recorded}
