"""What the paper on output embedding centering and its released runs say: learning-rate
sensitivities, and how runs ended."""

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


@dataclass(frozen=True)
class PublishedEnd:
    """How one of the paper's runs ended: its test loss in nats, the mean, spread and largest
    magnitude of its logits before any cap, and the length of the mean row of its output matrix."""

    size: str
    lr: float
    method: str
    loss: float
    logit_mean: float
    logit_std: float
    logit_max: float
    mu_output: float


_METHODS = ("none", "z-loss", "mu-centering")
_ENDS = {  # loss, mean, spread, largest, mu; each by method
    ("16M", 3e-3): (
        (3.850, 3.8, 3.1, 25, 5.8), (3.848, -15, 3.6, 34, 7.0), (3.850, 0, 3.2, 17, 0),
    ),
    ("16M", 3e-2): (
        (3.857, 92, 4.1, 110, 57), (3.841, -17, 3.9, 37, 79), (3.843, 0, 3.7, 19, 0),
    ),
    ("16M", 1e-1): (
        (4.269, 588, 4.7, 604, 187), (3.854, -19, 4.8, 46, 272), (3.844, 0, 4.0, 22, 0),
    ),
    ("16M", 3e-1): (
        (5.065, 1152, 5.6, 1176, 331), (3.955, -18, 4.1, 39, 841), (3.842, 0, 3.4, 18, 0),
    ),
    ("57M", 3e-1): (
        (6.050, 1856, 6.0, 1880, 359), (4.578, -29, 38, 346, 1043), (3.466, 0, 3.0, 18, 0),
    ),
    ("221M", 3e-3): (
        (3.050, 5.8, 3.0, 26, 5.6), (3.049, -16, 4.0, 37, 10.6), (3.050, 0, 3.1, 18, 0),
    ),
    ("221M", 1e-1): (
        (3.305, 350, 6.8, 370, 209), (3.173, -21, 9.6, 103, 388), (3.127, 0, 3.0, 19, 0),
    ),
    ("221M", 3e-1): (
        (5.099, 1544, 5.4, 1560, 447), (3.478, -19, 4.9, 68, 1071), (3.208, 0, 2.7, 17, 0),
    ),
}  # fmt: skip
ENDS = tuple(
    PublishedEnd(size, lr, method, *values)
    for (size, lr), of in _ENDS.items()
    for method, values in zip(_METHODS, of, strict=True)
)
"""Untied runs of three sizes, as released; z-loss at 1e-4."""

_TIED = ("loss", "logit_mean", "logit_max", "mu_output")
_TIED_ENDS = {  # of 16M tied without a method, as `_TIED`
    3e-4: ("3.919", "-5.4", "17.5", "1.1"),
    1e-3: ("3.850", "-3.0", "20.8", "1.8"),
    3e-3: ("3.832", "-3.5", "24", "5.5"),
    1e-2: ("3.840", "15.5", "34.8", "17.8"),
    3e-2: ("3.840", "49.5", "68", "51"),
    1e-1: ("3.935", "225", "244", "175"),
    3e-1: ("3.906", "91.5", "109", "353"),
}


@dataclass(frozen=True)
class PartlyPublished:
    """A run of which some numbers are printed, by the names that `PublishedEnd` has for them."""

    size: str
    tied: bool
    lr: float
    method: str
    printed: dict[str, str]


MORE_ENDS = (
    PartlyPublished(
        "16M", False, 3e-1, "mu-loss",
        {"loss": "3.845", "logit_mean": "-1.6", "logit_max": "24", "mu_output": "8.3"},
    ),
    PartlyPublished(
        "221M", False, 3e-1, "mu-loss",
        {"loss": "3.195", "logit_mean": "-1.5", "logit_max": "17", "mu_output": "6.6"},
    ),
    *(
        PartlyPublished("16M", True, lr, "none", dict(zip(_TIED, values, strict=True)))
        for lr, values in _TIED_ENDS.items()
    ),
    PartlyPublished("16M", True, 3e-1, "z-loss", {"loss": "4.026", "logit_max": "101.5"}),
    PartlyPublished("16M", True, 3e-1, "soft-cap", {"loss": "3.943", "logit_max": "21.8"}),
    PartlyPublished("16M", True, 3e-1, "mu-loss", {"loss": "3.849"}),
    PartlyPublished("16M", True, 3e-1, "mu-centering", {"loss": "3.892"}),
)  # fmt: skip
"""Those of which no run was released; mu-loss and z-loss at 1e-4."""

BOUND = {  # each at RATES
    (False, "16M"): (0.97, 0.82, 0.75, 0.62, 0.66, 0.26, 0.65),
    (False, "29M"): (0.98, 0.82, 0.92, 0.73, 0.49, 0.30, 0.44),
    (False, "57M"): (0.96, 0.81, 0.79, 0.67, 0.60, 0.66, 0.57),
    (False, "109M"): (0.97, 0.74, 0.67, 0.74, 0.72, 0.61, 0.70),
    (False, "221M"): (0.95, 0.74, 0.84, 0.91, 0.68, 0.70, 0.70),
    (True, "16M"): (1.12, 0.77, 0.85, 0.78, 0.71, 0.54, 0.58),
    (True, "29M"): (1.11, 0.94, 0.65, 0.84, 0.59, 0.60, 0.60),
    (True, "57M"): (1.16, 0.77, 0.85, 0.79, 0.67, 0.66, 0.71),
    (True, "109M"): (1.08, 0.84, 0.90, 0.76, 0.70, 0.60, 0.70),
    (True, "221M"): (0.94, 0.82, 0.80, 0.76, 0.72, 0.67, 0.77),
}
"""By tying and size: the ratio of bounds of runs without a method."""

EXTRA_TIME = {
    (False, "16M"): {"z-loss": 6.4, "mu-loss": 0.4, "mu-centering": 0.6},
    (False, "29M"): {"z-loss": 4.3, "mu-loss": 0.7, "mu-centering": 0.5},
    (False, "57M"): {"z-loss": 2.5, "mu-loss": 0.6, "mu-centering": 0.4},
    (False, "109M"): {"z-loss": 1.5, "mu-loss": 0.4, "mu-centering": 0.4},
    (False, "221M"): {"z-loss": 0.8, "mu-loss": 0.2, "mu-centering": 0.3},
    (True, "16M"): {"soft-cap": 11.2, "z-loss": 6.6, "mu-loss": 0.5, "mu-centering": 0.7},
    (True, "221M"): {"soft-cap": 1.4, "z-loss": 1.0, "mu-loss": -0.1, "mu-centering": 0.2},
}
"""By tying and size: how much longer a run takes than one without a method, in per cent."""

BEST_LOSS = {
    False: ("3.84", "3.58 to 3.59", "3.37", "3.20", "3.05"),
    True: ("3.83", "3.56", "3.33 to 3.34", "3.15 to 3.16", "3.00 to 3.01"),
}
"""By tying, each by size: the best test loss over learning rates, alike for all methods."""

BEST_LOSS_COSTLY = {"16M": "4.19", "221M": "3.49"}
"""The same of z-loss at its largest coefficient, 100, untied, where it is the method that costs."""

BEST_RATE = {"16M": "0.01", "221M": "0.001 to 0.003"}
"""At which rate an untied run ends best, of the smallest and the largest size."""

RELEASED = (("none", None), ("z-loss", 1e-4), ("mu-loss", 1e-1), ("mu-centering", None))
"""Methods and coefficients of the runs that the authors released, all untied."""
