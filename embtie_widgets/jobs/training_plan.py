"""From a TrainingRequest to what is trained: text, tokens, recipe, and the specs of its runs.

Panels that ask for the same recipe get the same specs here, and so the same runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from embtie_widgets.jobs.course import Course
from embtie_widgets.jobs.training_cost import WIDTH, saw_rows
from embtie_widgets.jobs.training_rows import Rows, rows_of_corpus
from embtie_widgets.jobs.training_runs import Watch, known_run, run_of
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests.training import TrainingRequest
from embtie_widgets.sources.bounds import check_logits
from embtie_widgets.training.bottleneck_recorder import BottleneckRecorder
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.flow import FlowRecorder
from embtie_widgets.training.interventions import Intervention
from embtie_widgets.training.presets import preset
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.runs import RunSpec
from embtie_widgets.training.texts import corpus_for

TIED, UNTIED = "tied", "untied"
_PARTS = 12
_LEAST_KEPT, _KEPT_BYTES = 3, 2**28


@dataclass(frozen=True, eq=False)
class Plan:
    """A training that can begin.

    corpus, held  what is learned from, and what is held out
    config        the recipe of every run
    rows          what is known of the rows
    """

    request: TrainingRequest
    corpus: Corpus
    held: Corpus
    config: TrainingConfig
    rows: Rows

    @property
    def hashes(self) -> dict[str, str]:
        """Of all that the runs depend on beside the request."""
        return {"text": self.corpus.sha256, "text held out": self.held.sha256}

    def spec(self, name: str, *plugs: Intervention) -> RunSpec:
        """The run "untied", or a tied one of any other name, its gradient recorded; `plugs` stand
        before the recorders."""
        recorders = BottleneckRecorder(), FlowRecorder(counts=self.rows.counts)
        return RunSpec(
            name=name,
            config=self.config,
            tied=name != UNTIED,
            share_start=self.request.share_start,
            interventions=(*plugs, *recorders),
        )

    def run(
        self, spec: RunSpec, progress: Progress = silent, watch: Watch | None = None
    ) -> RunStore:
        """The finished run, trained now where it is not there yet."""
        return run_of(spec, self.corpus, progress, watch)

    def course(self, specs: Iterable[RunSpec], progress: Progress) -> Progress:
        """The progress of those that are still to be trained, told as one."""
        return Course(progress, sum(self.known(spec) is None for spec in specs))

    def known(self, spec: RunSpec) -> RunStore | None:
        """The run if it is there."""
        return known_run(spec, self.corpus)


def open_plan(request: TrainingRequest, progress: Progress = silent) -> Plan:
    """Read the text, and make the recipe."""
    corpus, held = corpus_for(request.corpus, request.tokenizer, request.vocabulary, progress)
    rows = _rows(corpus, held)
    check_logits(request.batch * request.length, rows)
    saw_rows(request, rows)
    return Plan(request, corpus, held, _config(request, rows), rows_of_corpus(corpus, rows))


def _rows(corpus: Corpus, held: Corpus) -> int:
    """As many as the tokenizer has ids."""
    known = 0 if corpus.tokenizer is None else corpus.tokenizer.get_vocab_size()
    used = (int(one.ids.max()) + 1 for one in (corpus, held) if len(one.ids))
    return max(known, *used)


def _config(request: TrainingRequest, rows: int) -> TrainingConfig:
    return TrainingConfig(
        model=preset(request.preset, rows, request.length),
        steps=request.steps,
        batch=request.batch,
        length=request.length,
        lr=request.lr,
        warmup=request.warmup,
        seed=request.seed,
        device=request.device,
        precision=request.precision,
        checkpoints=checkpoint_steps(request.steps, 2 * 4 * rows * WIDTH),
        log_every=request.every,
    )


def checkpoint_steps(steps: int, size: int) -> tuple[int, ...]:
    """The start, the end, steps between at equal distances, and before the first of these 1, 2, 5,
    10, 20, ..., since much turns early; fewer where each takes more bytes."""
    most = max(_LEAST_KEPT, _KEPT_BYTES // size)
    even = {steps * part // _PARTS for part in range(_PARTS + 1)}
    early = {ones * 10**zeros for zeros in range(6) for ones in (1, 2, 5)}
    found = sorted(even | {step for step in early if step < steps // _PARTS})
    if len(found) <= most:
        return tuple(found)
    return tuple(found[place * (len(found) - 1) // (most - 1)] for place in range(most))
