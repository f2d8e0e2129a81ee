"""Families of models: the exceptions from the generic rule, and the table of what is supported.

A new family is registered in three lines:

    import embtie_widgets as ew
    ew.register_family("my_model", input="core.tokens", output="core.unembed")
    ew.load("folder of such a model")

`"my_model"` is the `model_type` of its config.json; the rest are names of modules, of which the
last parts are enough.  What is left out follows the generic rule.
"""

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.results.families import FamilyTable, SupportedFamily
from embtie_widgets.sources.scales import ROOT_OF_WIDTH, RULES, Rule

TABLE = "architectures.json"
NONE = "none"


@dataclass(frozen=True)
class Family:
    """What one model type does otherwise than the rule; None leaves it to the rule.

    input, output  endings of the module that holds E, or U
    norm, layers   ending of the final norm, and of the list of blocks; "none" where there is none
    has_head       whether the type is a language model, where the file cannot tell
    tied           what a configuration without tie flag means
    scales         rules for the factors around the matrices, instead of the common ones
    note           what the readout does beside norm, head, scale and cap
    """

    input: str | None = None
    output: str | None = None
    norm: str | None = None
    layers: str | None = None
    has_head: bool | None = None
    tied: bool | None = None
    scales: tuple[Rule, ...] = RULES
    note: str = ""


_ROOT = (ROOT_OF_WIDTH, *RULES)
_UNCAPPED = tuple(rule for rule in _ROOT if rule.place != "cap")
_TURNED = "States run with the position first, the batch second."
_GEMMAS = (
    "gemma", "gemma2", "gemma3_text", "gemma3n", "gemma3n_text", "gemma4", "gemma4_text",
    "gemma4_unified", "gemma4_unified_text", "recurrent_gemma", "t5gemma", "vaultgemma",
)  # fmt: skip

_registry: dict[str, Family] = {
    "aya_vision": Family(scales=tuple(rule for rule in RULES if rule.place != "logits")),
    "bigbird_pegasus": Family(norm="decoder.layernorm_embedding"),
    "ctrl": Family(input="transformer.w"),
    "dory": Family(note="The head multiplies each token's logit by a learned number."),
    # The wrapped model leaves out the cap that the same language model has alone.
    "gemma3": Family(scales=_UNCAPPED),
    "shieldgemma2": Family(scales=_UNCAPPED),
    "hf_olmo": Family(input="transformer.wte", output="transformer.ff_out", has_head=True),
    "fsmt": Family(note=_TURNED),
    "hrm_text": Family(
        norm="H_module.final_norm",
        layers="H_module.layers",
        note="Two stacks of blocks run in turns; the blocks listed are those of the last.",
    ),
    "hyperclovax": Family(
        scales=(Rule("embedding_multiplier", "embedding"), Rule("logits_scaling", "logits"))
    ),
    "lfm2": Family(norm="embedding_norm"),
    "lfm2_moe": Family(norm="embedding_norm"),
    "lfm3": Family(norm="embedding_norm"),
    "prophetnet": Family(note="The head reads several predicting streams side by side."),
    "qwen4_exp_text": Family(note="A mixer joins several streams of states before the head."),
    "ultrabert": Family(note="A gated layer stands between the last state and the head."),
    "ultravbert": Family(note="A gated layer stands between the last state and the head."),
    "whisper": Family(input="decoder.embed_tokens", output="proj_out"),
    "xlm": Family(input="embeddings", output="pred_layer.proj"),
    "xlnet": Family(note=_TURNED),
    **{kind: Family(scales=_ROOT) for kind in _GEMMAS},
}


def exception(*model_types: str) -> Family:
    """What the registry knows of the first of these types that it knows; nothing else."""
    known = (_registry[kind] for kind in model_types if kind in _registry)
    return next(known, Family())


def register(model_type: str, family: Family) -> None:
    """Let a model type be read by these names from now on, in this process."""
    if not isinstance(model_type, str) or not model_type.strip():
        raise EmbtieError(
            "A family needs the model_type that its config.json carries.",
            'For instance register_family("my_model", input="core.tokens").',
        )
    _registry[model_type] = family


def register_family(
    model_type: str,
    *,
    input: str | None = None,
    output: str | None = None,
    norm: str | None = None,
    layers: str | None = None,
    tied: bool | None = None,
) -> None:
    """Teach embtie a model type whose layout it does not know, for this process.

    `model_type` is the one of config.json.  `input`, `output`, `norm` and `layers` are the names
    of the modules that hold the token matrix, the output matrix, the final norm and the blocks,
    as in the checkpoint without the closing ".weight"; the last parts are enough.  `tied` is what
    a configuration without tie flag means.  What is left out follows the generic rule.
    """
    names = {"input": input, "output": output, "norm": norm, "layers": layers}
    for role, name in names.items():
        if name is not None and (not isinstance(name, str) or not name.strip(". ")):
            raise EmbtieError(f"The name of the {role} module is no text.", "Expected 'a.b.c'.")
    given = {role: name.removesuffix(".weight") for role, name in names.items() if name}
    head = True if output is not None else None
    register(model_type, Family(**given, tied=tied, has_head=head))  # type: ignore[arg-type]


def tied_default(model_type: str) -> bool | None:
    """What a configuration of this type means by saying nothing; None where nobody says so."""
    registered = exception(model_type).tied
    return registered if registered is not None else _defaults().get(model_type)


@cache
def _defaults() -> dict[str, bool]:
    rows = (row for row in packaged() if row.tied_default is not None)
    return {row.family: bool(row.tied_default) for row in rows}


@cache
def packaged() -> tuple[SupportedFamily, ...]:
    """The rows of the table that comes with the package."""
    text = files("embtie_widgets").joinpath("data", TABLE).read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)
    return tuple(SupportedFamily(**{**row, "scales": tuple(row["scales"])}) for row in rows)


def supported() -> FamilyTable:
    """Every family that is proven, and those registered in this process, by name."""
    rows = packaged()
    known = {row.family for row in rows}
    own = [_own_row(kind, _registry[kind]) for kind in _registry if kind not in known | _BUILT_IN]
    return FamilyTable(tuple(sorted([*rows, *own], key=lambda row: row.family)))


def _own_row(kind: str, family: Family) -> SupportedFamily:
    row = SupportedFamily(family=kind, model="", input=family.input or "by the rule")
    return replace(
        row,
        output=family.output,
        final_norm=family.norm,
        layers=family.layers,
        tied_default=family.tied,
        note="Registered here, not proven.",
    )


_BUILT_IN = frozenset(_registry)
