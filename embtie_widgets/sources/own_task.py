"""A multiple-choice task of the bundled text: how does a line end?"""

from functools import cache
from random import Random

from embtie_widgets.requests.evaluate import OWN_TASK
from embtie_widgets.sources.passages import UNSEEN
from embtie_widgets.sources.task_files import TaskItemsFile, of_docs
from embtie_widgets.sources.texts import chunks_of

ITEMS, CHOICES, BEFORE = 400, 4, 2
_FAR = 40  # lines between the right one and any other of its item
_LEAST = 7  # words of a line
_LIKE = 0.3  # how much longer or shorter the other ends are, at most
_SEED = 2026


@cache
def line_ends() -> TaskItemsFile:
    """Items of two lines of what the bundled models never saw and the beginning of a third, with
    four ends of about one length to choose from, the wrong ones from elsewhere in it; always the
    same items."""
    text = "".join(chunk.text for chunk in chunks_of([UNSEEN], ""))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    asked = [i for i in range(BEFORE, len(lines)) if _is_speech(lines[i])]
    cut = {i: _cut(lines[i]) for i in asked}
    draw, docs = Random(_SEED), []  # noqa: S311 - items that are always the same
    for i in draw.sample(asked, ITEMS):
        begun, end = cut[i]
        others = [j for j in asked if abs(i - j) > _FAR and _are_alike(end, cut[j][1])]
        wrong = [cut[j][1] for j in draw.sample(others, CHOICES - 1)]
        gold = draw.randrange(CHOICES)
        choices = [*wrong[:gold], end, *wrong[gold:]]
        context = "\n".join([*lines[i - BEFORE : i], begun])
        docs.append({"context": context, "choices": choices, "gold": gold})
    return of_docs(OWN_TASK, docs, "the bundled sample, held out")


def _is_speech(line: str) -> bool:
    return len(line.split()) >= _LEAST and not line.isupper()


def _cut(line: str) -> tuple[str, str]:
    """A line without its last third, and that."""
    words = line.split()
    kept = len(words) - len(words) // 3
    return " ".join(words[:kept]), " ".join(words[kept:])


def _are_alike(end: str, other: str) -> bool:
    return end != other and abs(len(end) - len(other)) <= _LIKE * len(end)
