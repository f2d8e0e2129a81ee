"""The learning-rate sensitivities that the paper on output embedding centering prints."""

from dataclasses import dataclass

SIZES = ("16M", "29M", "57M", "109M", "221M")
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1)
INITIAL_LOSS = {"16M": 10.83, "29M": 10.83, "57M": 10.83, "109M": 10.83, "221M": 10.85}
"""What a loss counts for at most, in the paper's sums."""


@dataclass(frozen=True)
class Published:
    """One printed value; `coefficient` of mu-loss and z-loss, which is 1e-4 where not varied."""

    size: str
    tied: bool
    method: str
    coefficient: float | None
    value: float


_MAIN = {
    (False, "none"): (0.306, 0.391, 0.508, 0.344, 0.412),
    (False, "soft-cap"): (0.032, 0.024, 0.035, 0.050, 0.073),
    (False, "z-loss"): (0.054, 0.033, 0.235, 0.118, 0.109),
    (False, "mu-loss"): (0.031, 0.027, 0.031, 0.046, 0.056),
    (False, "mu-centering"): (0.028, 0.029, 0.041, 0.051, 0.061),
    (True, "none"): (0.050, 0.061, 0.308, 0.335, 0.330),
    (True, "soft-cap"): (0.041, 0.030, 0.031, 0.049, 0.055),
    (True, "z-loss"): (0.056, 0.042, 0.103, 0.083, 0.109),
    (True, "mu-loss"): (0.022, 0.026, 0.038, 0.053, 0.058),
    (True, "mu-centering"): (0.034, 0.042, 0.042, 0.061, 0.066),
}
_COEFFICIENTS = {  # untied, each by size
    ("mu-loss", 1e-7): (0.182, 0.052, 0.110, 0.125, 0.129),
    ("mu-loss", 1e-1): (0.031, 0.034, 0.038, 0.048, 0.056),
    ("mu-loss", 1e2): (0.054, 0.040, 0.033, 0.034, 0.055),
    ("z-loss", 1e-7): (0.037, 0.044, 0.107, 0.076, 0.131),
    ("z-loss", 1e-1): (0.032, 0.043, 0.047, 0.059, 0.101),
    ("z-loss", 1e2): (1.156, 1.780, 1.392, 2.150, 2.166),
}
_WEIGHED = ("mu-loss", "z-loss")


def _printed() -> tuple[Published, ...]:
    main = [
        Published(size, tied, method, 1e-4 if method in _WEIGHED else None, value)
        for (tied, method), values in _MAIN.items()
        for size, value in zip(SIZES, values, strict=True)
    ]
    varied = [
        Published(size, False, method, coefficient, value)
        for (method, coefficient), values in _COEFFICIENTS.items()
        for size, value in zip(SIZES, values, strict=True)
    ]
    return (*main, *varied)


PUBLISHED = _printed()
"""Every printed value: all methods at their usual coefficient, then the coefficients that were
varied.  Each is of seven rates and one seed, after 13.1 B tokens."""
