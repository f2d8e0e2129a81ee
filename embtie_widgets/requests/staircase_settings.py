"""Ready settings of the context staircase, each with what it shows, found by measuring."""

from typing import Any

SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "The staircase": (
        {},
        "Two anchors and a number are added modulo 40. Every anchor has the same order-0 "
        "signature, and by epoch 70 all rows point one way (fit 0.98); from there they part by "
        "order 1, whose held-out correlation is 0.2 at epoch 40 and 0.99 at 130, and order 0 "
        "falls below 0.",
    ),
    "Addition of two": (
        {"operation": "sum", "tokens": 20, "length": 2, "modulus": 0, "epochs": 1_000},
        "Order 0 comes to 0.92 by epoch 200 and falls to 0.85; order 1 in-sample is at 0.97 and "
        "0.94 there.",
    ),
    "Modular addition of two": (
        {
            "operation": "sum",
            "tokens": 20,
            "length": 2,
            "modulus": 20,
            "offset": 1,
            "epochs": 600,
        },
        "Order 0 is the same for all tokens and says nothing: its fit stays near 0, and the rows "
        "never gather. Order 1 rises, held out to 0.6.",
    ),
}
"""By name: the fields in which it differs from a plain request, and a sentence."""
