"""Ready settings of the experiments on the gradient bottleneck, each with what it shows."""

from typing import Any

SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "Ranks of a head": (
        {},
        "The head through a rank, and the way back alone through the same rank.",
    ),
    "Repeats are not data": (
        {
            "experiment": "spamlang",
            "symbols": (256,),
            "lengths": (1, 4, 16, 64),
            "amount": 16_384,
            "lr": 1e-2,
            "every": 10,
        },
        "After the same 16,384 positions, sequences of length 1 are known to 100 %, of length 64 "
        "to 2 %: each symbol was drawn 64 times there, and once here.",
    ),
    "Never-correct classes": (
        {
            "experiment": "spamlang",
            "symbols": (256,),
            "lengths": (1,),
            "extra": (0, 768, 3_840),
            "budget": "per symbol",
            "amount": 16,
            "lr": 1e-2,
            "every": 10,
        },
        "Classes that never occur make V/d sixteen times as large; after 16 draws of each symbol "
        "98 % are known without them and 96 % with them.",
    ),
    "V against d": (
        {
            "experiment": "spamlang",
            "symbols": (256, 1_024, 4_096),
            "widths": (4, 8, 16, 32),
            "lengths": (1,),
            "budget": "per symbol",
            "amount": 16,
            "lr": 1e-2,
            "every": 10,
        },
        "Languages of more symbols and models of less width, each symbol drawn 16 times.",
    ),
}
"""By name: the fields in which it differs from a plain request, and a sentence."""
