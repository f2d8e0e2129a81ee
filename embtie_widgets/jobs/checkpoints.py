"""From a CheckpointsRequest to a CheckpointReport: list, choose, compare files, load, compare."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent, spoken
from embtie_widgets.requests.checkpoints import CheckpointsRequest
from embtie_widgets.results.checkpoints import (
    LISTED,
    LOADED,
    SKIPPED,
    Checkpoint,
    CheckpointReport,
    Distance,
    SameBytes,
)
from embtie_widgets.sources import hub
from embtie_widgets.sources.load import end_of_training
from embtie_widgets.sources.revisions import Revision, gaps, ordered, parse, spread
from embtie_widgets.sources.series import each, is_remote, list_revisions

_QUESTIONS = 6  # to the hub at a time
_WEIGHTS = (".safetensors", ".bin")
_FILE = "file "


@dataclass
class Seen:
    """What was found out about one checkpoint.

    hashes  by "input" and "output", and by "file " and its name where the hub tells them
    """

    state: str = LISTED
    hashes: dict[str, str] = field(default_factory=dict)
    tied: str | None = None
    reason: str = ""


def run_checkpoints(request: CheckpointsRequest, progress: Progress = silent) -> CheckpointReport:
    """Every checkpoint that there is, and as much of the chosen ones as the request asks for."""
    progress("listing checkpoints", 0, 1)
    remote = is_remote(request.model.ref)
    listed, asked, notes = listed_for(request, remote)
    if end := end_of_training(request.model.ref):
        notes.append(f"Without a revision, {request.model.ref} is {end}.")
    chosen = chosen_of(listed, asked, request)
    seen = {revision.name: Seen() for revision in listed}
    cost, cost_notes = fetching(request, chosen) if remote else ("", [])
    if request.depth != "matrices":
        notes.extend(cost_notes)
    if request.depth != "names" and remote:
        _compare_files(request, chosen, seen, progress)
    elif request.depth == "files":
        notes.append("The files lie on this machine; look at the matrices to compare them.")
    if request.depth == "matrices":
        _load(request, chosen, seen, saying(cost, progress))
    return _report(request, listed, seen, notes)


def listed_for(
    request: CheckpointsRequest, remote: bool
) -> tuple[list[Revision], set[str], list[str]]:
    """Checkpoints, `main`, and what was asked for by name; those names; notes."""
    notes = []
    try:
        known = list_revisions(request.model.ref)
    except EmbtieError as error:
        if not request.revisions:
            raise
        known, notes = [], [f"Which other revisions there are is not known: {error.message}"]
    # A folder's checkpoint is found by any spelling of its step; the hub wants the very name.
    asked = {name if remote else _spelled(name, known) for name in request.revisions}
    kept = [revision.name for revision in known if revision.is_checkpoint or revision.is_main]
    return ordered([*kept, *asked]), asked, notes


def _spelled(name: str, known: Sequence[Revision]) -> str:
    wanted = parse(name)
    same = [r.name for r in known if (r.track, r.step) == (wanted.track, wanted.step)]
    return same[0] if wanted.is_checkpoint and same and name not in same else name


def chosen_of(
    listed: Sequence[Revision], asked: set[str], request: CheckpointsRequest
) -> list[Revision]:
    """Those asked for by name, else so many spread over all; an EmbtieError without any."""
    if asked:
        return [revision for revision in listed if revision.name in asked]
    steps = [revision for revision in listed if revision.is_checkpoint]
    if not steps:
        raise EmbtieError(
            f"'{request.model.ref}' has no checkpoints: none of its revisions is called by a step.",
            "Choose a model with checkpoints, or give the names of revisions.",
        )
    return spread(steps, request.count)


def fetching(request: CheckpointsRequest, chosen: Sequence[Revision]) -> tuple[str, list[str]]:
    """What loading the chosen ones fetches, as far as the last of them shows, and in sentences."""
    try:
        one = hub.cost(request.model.ref, chosen[-1].name)
    except EmbtieError:
        # Whatever is wrong with that revision is told where it is loaded.
        return "", []
    count, each_ = len(chosen), spoken(one.total)
    whole = spoken(one.total * count)
    return f"about {whole}", [
        f"To load the matrices of {count} checkpoints about {whole} are fetched, {each_} for each "
        "that is not in the cache yet.",
        *one.notes,
    ]


def saying(cost: str, progress: Progress) -> Progress:
    """The progress with what is to be fetched in all."""
    if not cost:
        return progress
    return lambda stage, done, total: progress(f"{stage} ({cost} in all)", done, total)


def _compare_files(
    request: CheckpointsRequest,
    chosen: Sequence[Revision],
    seen: Mapping[str, Seen],
    progress: Progress,
) -> None:
    """Ask the hub which of their weights are the very same file; nothing is downloaded."""
    progress("asking the hub for file hashes", 0, len(chosen))
    pool = ThreadPoolExecutor(_QUESTIONS, thread_name_prefix="embtie-hub")
    try:
        ask = {pool.submit(_file_hashes, request.model.ref, r.name): r for r in chosen}
        for done, answer in enumerate(as_completed(ask), 1):
            one = seen[ask[answer].name]
            try:
                one.hashes |= answer.result()
            except EmbtieError as error:
                one.state, one.reason = SKIPPED, error.message
            progress("asking the hub for file hashes", done, len(chosen))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _file_hashes(ref: str, revision: str) -> dict[str, str]:
    hashes = hub.file_hashes(ref, revision)
    weights = {name: value for name, value in hashes.items() if name.endswith(_WEIGHTS)}
    return {f"{_FILE}{name}": value for name, value in weights.items()}


def _load(
    request: CheckpointsRequest,
    chosen: Sequence[Revision],
    seen: Mapping[str, Seen],
    progress: Progress,
) -> None:
    for revision, loaded in each(request.model, chosen, progress):
        one = seen[revision.name]
        if isinstance(loaded, EmbtieError):
            one.state, one.reason = SKIPPED, loaded.message
        else:
            one.state, one.reason, one.tied = LOADED, "", loaded.tied
            one.hashes |= loaded.hashes


def _report(
    request: CheckpointsRequest,
    listed: Sequence[Revision],
    seen: Mapping[str, Seen],
    notes: Sequence[str],
) -> CheckpointReport:
    loaded = [revision for revision in listed if seen[revision.name].state == LOADED]
    since, since_loaded = _distances(listed), _distances(loaded)
    rows = tuple(
        Checkpoint(
            name=r.name,
            stage=r.stage,
            ingredient=r.ingredient,
            step=r.step,
            tokens=r.tokens,
            since=since.get(r.name),
            since_loaded=since_loaded.get(r.name),
            **vars(seen[r.name]),
        )
        for r in listed
    )
    repeats = same_bytes(rows)
    skipped = [f"{r.name} was left out: {r.reason}" for r in rows if r.state == SKIPPED]
    return CheckpointReport(
        name=request.model.ref,
        rows=rows,
        repeats=repeats,
        notes=(*map(str, repeats), *skipped, *notes),
        settings={**request.to_dict(), "cached": False},
        hashes={f"{r.name}: {k}": v for r in rows for k, v in r.hashes.items()},
    )


def _distances(revisions: Iterable[Revision]) -> dict[str, Distance]:
    return {
        gap.after.name: Distance(gap.before.name, gap.steps, gap.tokens) for gap in gaps(revisions)
    }


def same_bytes(rows: Iterable[Checkpoint]) -> tuple[SameBytes, ...]:
    """Which checkpoints share a matrix or a file; what is shared by the same ones is told once."""
    holders: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for what, value in row.hashes.items():
            if what != "output" or value != row.hashes.get("input"):
                holders.setdefault((what, value), []).append(row.name)
    shared: dict[tuple[str, ...], list[str]] = {}
    for (what, _), names in holders.items():
        if names[1:]:
            shared.setdefault(tuple(names), []).append(_called(what))
    return tuple(SameBytes(tuple(what), names) for names, what in shared.items())


def _called(what: str) -> str:
    name = what.removeprefix(_FILE)
    return f"the file {name}" if name != what else f"the {what} matrix"
