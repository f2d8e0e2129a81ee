"""What a toy task and its training are asked by."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w

from embtie_widgets.jobs import devices
from embtie_widgets.panels.chips import ChipPicker
from embtie_widgets.panels.fields import (
    Field,
    fold,
    labelled,
    number_box,
    pairs,
    section,
    whole_if_it_is,
)
from embtie_widgets.requests.staircase import DISTRIBUTIONS, MOST_GAMMA, StaircaseRequest

_OPERATIONS = (
    ("sum", "sum"),
    ("sum of anchors and a number", "anchored-sum"),
    ("|difference|", "difference"),
    ("product", "product"),
    ("min or max, as the first token says", "min-max"),
    ("one anchor among context tokens", "anchor"),
    ("parity of the number of anchors", "parity"),
)
_MODELS = (
    ("sum of embeddings, one activation", "ffn"),
    ("attention alone", "attention"),
    ("a small transformer", "transformer"),
    ("embeddings fixed to the order-1 signature", "fixed"),
)
_ACTIVATIONS = (
    ("ReLU", "relu"), ("GELU", "gelu"), ("tanh", "tanh"), ("none", "linear"), ("power z^K", "power")
)  # fmt: skip
_ORDERS = {
    0: ("order 0", "P(label | anchor)"),
    1: ("order 1", "P(label, one other token | anchor)"),
    2: ("order 2", "P(label, two other tokens | anchor)"),
}
_NUMBERS = {
    "tokens": ("tokens N", "How many different tokens the task has"),
    "length": ("length L", "How many tokens a sequence has"),
    "modulus": ("modulus", "The label is taken modulo this; 0 for never"),
    "offset": ("plus", "What is added before the modulus"),
    "samples": ("sequences drawn", "So many are drawn at random; 0 for every sequence there is"),
    "width": ("width d", "How many numbers an embedding has"),
    "layers": ("layers", "Of a transformer or of attention"),
    "power": ("power K", "The activation is z^K"),
    "lr": ("rate", "The learning rate"),
    "epochs": ("epochs", "How often all sequences are read"),
    "batch": ("batch", "How many sequences a step reads; 0 for all at once"),
    "weight_decay": ("weight decay", "How strongly weights are drawn to 0"),
    "snapshots": ("snapshots", "How often embeddings are kept, evenly over log epochs"),
    "probe_steps": ("probe steps", "How long the probe of order 1 and above is fitted"),
    "folds": ("folds", "Into how many parts the pairs are cut to hold one out"),
    "seed": ("seed", "Draws the start of the model, and the sequences and labels that are drawn"),
}
_FRACTIONS = ("lr", "weight_decay")


class StaircaseControls:
    """The controls of a `StaircaseRequest`.

    A panel places `sections` among its own and adds `fields()` to its own; it calls `adapt` in its
    `edited`, `prepare` in its `prepare`, and `offer_devices` once a result is drawn, while its
    binding is quiet.
    """

    def __init__(self, request: StaircaseRequest) -> None:
        self.numbers = {name: number_box(*words) for name, words in _NUMBERS.items()}
        self.operation = _menu("the label is the", _OPERATIONS, "What is asked of a sequence")
        drawn = [(name, name) for name in DISTRIBUTIONS]
        self.distribution = _menu("labels drawn from", drawn, "Once, for every sequence")
        self.model = _menu("model", _MODELS, "What is trained on the task")
        self.activation = _menu("activation", _ACTIVATIONS, "Its order bounds what can be learned")
        self.optimiser = _menu("optimiser", (("Adam", "adam"), ("SGD", "sgd")), "How it learns")
        self.gamma = labelled(
            w.FloatSlider(
                description="initial scale γ", min=0.0, max=MOST_GAMMA, step=0.05,
                readout_format=".2f", continuous_update=False,
            ),
            "Entries begin as N(0, d^(−2γ)): above ½ is small, and orders come one by one",
        )  # fmt: skip
        self.orders = ChipPicker(int, _ORDERS, None)
        self.device = labelled(
            w.Dropdown(description="device", options=devices.available(request.device)),
            "Where it is computed",
        )
        self.sections = self._arranged()

    def _arranged(self) -> list[w.Widget]:
        number = self.numbers
        self.task = pairs(number["tokens"], number["length"], number["modulus"], number["offset"])
        self.depths = pairs(self.activation, number["power"], number["layers"], number["width"])
        training = pairs(self.optimiser, number["lr"], number["epochs"], number["batch"])
        more = pairs(number["weight_decay"], number["snapshots"])
        probe = pairs(number["probe_steps"], number["folds"])
        return [
            section("Task", self.operation, self.distribution, self.task,
                    fold("Drawn sequences", number["samples"])),
            section("Model", self.model, self.depths, self.gamma),
            section("Training", training, fold("More settings", more, probe)),
            section("Signatures", self.orders),
            section("Machine", pairs(self.device, number["seed"])),
        ]  # fmt: skip

    def fields(self) -> dict[str, Field]:
        """The request's fields that these edit."""
        plain = {
            name: Field(getattr(self, name))
            for name in (
                "operation", "distribution", "model", "activation", "optimiser", "gamma", "orders",
                "device",
            )
        }  # fmt: skip
        kind: dict[str, Callable[[Any], Any]] = dict.fromkeys(_FRACTIONS, float)
        numbers = {
            name: Field(one, to_request=kind.get(name, whole_if_it_is))
            for name, one in self.numbers.items()
        }
        return {**plain, **numbers}

    def adapt(self) -> None:
        """Ask for no more than what counts."""
        model, operation = self.model.value, self.operation.value
        seen = {
            self.distribution: operation == "anchor",
            self.activation: model != "attention",
            self.numbers["power"]: model != "attention" and self.activation.value == "power",
            self.numbers["layers"]: model in ("attention", "transformer"),
        }
        for control, shown in seen.items():
            control.layout.display = "" if shown else "none"

    def prepare(self, request: StaircaseRequest) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.device.options = devices.available(request.device)

    def offer_devices(self, chosen: str) -> None:
        """Offer what torch has found by now."""
        offered = devices.available(chosen)
        if list(self.device.options) != offered:
            self.device.options, self.device.value = offered, chosen


def _menu(name: str, options: Any, tooltip: str) -> w.Dropdown:
    return labelled(w.Dropdown(description=name, options=options), tooltip)
