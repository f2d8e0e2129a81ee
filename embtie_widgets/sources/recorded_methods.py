"""What others call the methods that keep the output matrix centred, and what names of runs say."""

import re
from typing import Any, NamedTuple

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.centering import NONE, PARTS, is_weighed, spelt

RECORDED = "recorded"
"""The method of a run of which nobody says how it was trained."""

_WORDS = {
    **{part.replace("-", ""): part for part in (NONE, *PARTS)},
    **dict.fromkeys(("baseline", "base", "standard"), NONE),
    **dict.fromkeys(("centering", "centring", "outputembeddingcentering"), "mu-centering"),
    "mucentring": "mu-centering",
    **dict.fromkeys(("softcapping", "logitsoftcapping", "logitsoftcap"), "soft-cap"),
    "plainsgd": "sgd",
}
_LONGEST = 60
# Such as wor40A-16M-13p1B-100k-bs64-lr10-baseline-g0e+00-s1, whose rate is in units of 1e-4.
_RELEASED = re.compile(
    r"(?P<family>w[a-z]*)\w*-(?P<size>\d+[MB])-.*-lr(?P<lr>\d{1,6})-(?P<method>[a-z]+)"
    r"-g(?P<coefficient>\d+e[+-]\d{1,2})-s(?P<seed>\d{1,9})"
)
_UNTIED = "wor"


class Named(NamedTuple):
    """What the name of a run says of it."""

    method: str
    lr: float
    size: str
    seed: int | None
    coefficient: float | None
    tied: bool | None


def method_of(text: Any) -> str:
    """A method as requests spell it, whatever it is called; one that is not known as it stands."""
    written = str(text).strip()
    if not written or not written.isprintable():
        return RECORDED
    bare = re.sub(r"[^a-z+]", "", re.sub("[μµ]", "mu", written.lower()))  # either sign of mu
    words = [_WORDS.get(part) for part in bare.split("+")]
    try:
        return spelt("+".join(word for word in words if word)) if all(words) else written[:_LONGEST]
    except EmbtieError:  # parts that do not go together
        return written[:_LONGEST]


def weight_of(method: str, coefficient: float | None) -> float | None:
    """The coefficient, but for a known method that has none."""
    return None if is_method(method) and not is_weighed(method) else coefficient


def is_method(text: str) -> bool:
    """Whether it is one as requests spell it."""
    return all(part in (NONE, *PARTS) for part in text.split("+"))


def named(name: str) -> Named | None:
    """What a name says that is written as those of the released sweep are; None for others."""
    found = _RELEASED.fullmatch(name.strip()[:200])
    if found is None:
        return None
    method = method_of(found["method"])
    return Named(
        method=method,
        lr=float(f"{int(found['lr'])}e-4"),
        size=found["size"],
        seed=int(found["seed"]),
        coefficient=weight_of(method, float(found["coefficient"])),
        tied=False if found["family"] == _UNTIED else None,
    )
