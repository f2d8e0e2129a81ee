"""Tied or not: the table that decides it from what is stored."""

from dataclasses import dataclass

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.hashing import raw_bytes
from embtie_widgets.progress import Progress, silent
from embtie_widgets.sources.loaded import HEAD_UNAVAILABLE, INPUT_ONLY, TIED, UNTIED

_FIRST, _ROWS = 16, 1024


@dataclass(frozen=True)
class Found:
    """What a source found, before it is judged.

    input, output  the stored matrices
    head_fault     why a head that is listed cannot be read
    says_tied      what the configuration means, None for nothing
    has_head       whether the architecture has a language-model head
    word           what the configuration says, where that is not `says_tied` in plain words
    shared         input and output are one tensor in memory
    """

    input: torch.Tensor | None
    output: torch.Tensor | None = None
    head_fault: str | None = None
    says_tied: bool | None = None
    has_head: bool = False
    family: str = "the model"
    word: str = ""
    shared: bool = False

    @property
    def config_says(self) -> str:
        """The configuration's word on tying: tied, untied, or nothing."""
        plain = {True: "tied", False: "untied", None: "nothing"}
        return self.word or plain[self.says_tied]


@dataclass(frozen=True)
class Judgement:
    """The matrices to hand out, the status in the words of the interface, and notes.

    `chosen` where the status is the user's choice and not what is stored.
    """

    input: torch.Tensor
    output: torch.Tensor | None
    tied: str
    notes: tuple[str, ...] = ()
    chosen: bool = False


def judge(found: Found, progress: Progress = silent) -> Judgement:
    """Decide by what is stored; the configuration only where a matrix is not stored."""
    if found.input is not None and found.output is not None:
        return _both(found, found.input, found.output, progress)
    if found.input is not None and found.head_fault is not None:
        return Judgement(found.input, None, HEAD_UNAVAILABLE, _fault_notes(found))
    one = found.input if found.input is not None else found.output
    if one is not None and (found.shared or (found.says_tied and found.has_head)):
        return Judgement(one, one, TIED, _tied_notes(found))
    if found.input is None:
        raise EmbtieError(
            f"No input matrix is stored in {found.family}.",
            "Choose a checkpoint that holds the token embeddings.",
        )
    return Judgement(found.input, None, INPUT_ONLY, _input_only_notes(found))


def equal_values(a: torch.Tensor, b: torch.Tensor, progress: Progress = silent) -> bool:
    """Whether two matrices hold the same values: the same bits, or equal numbers."""
    # Two trained matrices differ in their first rows already.
    if a.shape != b.shape or not _equal_block(a[:_FIRST], b[:_FIRST]):
        return False
    pairs = zip(a.detach().split(_ROWS), b.detach().split(_ROWS), strict=True)
    for number, (x, y) in enumerate(pairs):
        progress("comparing input and output", number * _ROWS, len(a))
        if not _equal_block(x, y):
            return False
    return True


def _equal_block(x: torch.Tensor, y: torch.Tensor) -> bool:
    if x.dtype == y.dtype and torch.equal(raw_bytes(x), raw_bytes(y)):
        return True
    return torch.equal(x.to(torch.float64), y.to(torch.float64))


def _both(found: Found, E: torch.Tensor, U: torch.Tensor, progress: Progress) -> Judgement:
    if equal_values(E, U, progress):
        notes = ["Tied: equal values, stored twice."]
        if found.config_says == "untied":
            notes.append("The configuration says untied, but the two stored matrices are equal.")
        return Judgement(E, E, TIED, tuple(notes))
    notes = []
    if found.config_says == "tied":
        notes.append("The configuration says tied, but the files hold two different matrices.")
    if len(E) != len(U):
        notes.append(
            f"The input matrix has {len(E)} rows and the output matrix {len(U)}; "
            f"only the first {min(len(E), len(U))} are used."
        )
        if equal_values(E[: len(U)], U[: len(E)], progress):
            notes.append("These rows are equal in both: the longer matrix only adds rows.")
    return Judgement(E, U, UNTIED, tuple(notes))


def _fault_notes(found: Found) -> tuple[str, ...]:
    notes = [f"The output matrix is listed but cannot be used: {found.head_fault}"]
    if found.config_says == "tied":
        notes.append("The configuration says tied, but the files list a head of its own.")
    return tuple(notes)


def _tied_notes(found: Found) -> tuple[str, ...]:
    notes = []
    if found.input is None:
        notes.append("Tied: one matrix is stored, under the output's name.")
    if found.shared and found.config_says == "untied":
        notes.append("The configuration says untied, but the model shares one matrix.")
    elif not found.shared and found.config_says.startswith("nothing ("):
        notes.append(f"Whether the head is tied the configuration does not say: {found.word}.")
    return tuple(notes)


def _input_only_notes(found: Found) -> tuple[str, ...]:
    notes = ["This checkpoint has no output matrix."]
    if found.config_says == "tied":
        notes.append(
            "The configuration says tied, but its architecture has no language-model head."
        )
    elif found.has_head and found.config_says.startswith("nothing"):
        notes.append(
            "The configuration does not say whether the head is tied; if you know that it is, "
            "choose 'treat as tied'."
        )
    elif found.has_head:
        notes.append("The configuration says untied, but the files hold no head.")
    return tuple(notes)


def treat_as_tied(judged: Judgement) -> Judgement:
    """The user's choice to take the input matrix for the output too, where none is stored."""
    if judged.output is not None:
        note = "'Treat as tied' was asked for and not needed: an output matrix is there."
        return Judgement(judged.input, judged.output, judged.tied, (*judged.notes, note))
    if judged.tied == HEAD_UNAVAILABLE:
        note = "'Treat as tied' was not followed: the model has an output matrix of its own."
        return Judgement(judged.input, None, HEAD_UNAVAILABLE, (*judged.notes, note))
    note = "Treated as tied by the user's choice: no output matrix was read."
    return Judgement(judged.input, judged.input, TIED, (*judged.notes, note), chosen=True)
