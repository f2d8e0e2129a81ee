"""A Hugging Face checkpoint, wherever its files lie: only E and U are read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.progress import Progress, silent
from embtie_widgets.sources import architecture, configuration, tokens
from embtie_widgets.sources.architecture import Layout
from embtie_widgets.sources.checkpoint import Checkpoint, Tensors
from embtie_widgets.sources.configuration import Config
from embtie_widgets.sources.files import Files, optional_json
from embtie_widgets.sources.sourced import Sourced, checked, plain_config
from embtie_widgets.sources.status import Found


def read_checkpoint(files: Files, kind: str, progress: Progress = silent) -> Sourced:
    """The matrices of a folder with config.json, weights and tokenizer."""
    value = optional_json(files, "config.json")
    checkpoint = Checkpoint(files)
    sourced = read_tensors(checkpoint, plain_config(value), kind, files.name)
    notes = [*sourced.notes, *_missing_notes("config.json" in files.names(), value), *files.notes]
    return replace(sourced, vocabulary=tokens.of_checkpoint(files, progress), notes=notes)


def read_tensors(checkpoint: Tensors, config: Config, kind: str, name: str) -> Sourced:
    """The matrices among named tensors, by the configuration that came with them."""
    layout = layout_of(config, checkpoint)
    if unread := _unread(layout, "input"):
        raise EmbtieError(
            f"The input matrix of '{name}' {unread}.",
            "Choose the merged checkpoint in float32, bfloat16 or float16.",
        )
    E = None if layout.input is None else _read(checkpoint, layout.input, "input")
    U, fault = _head(checkpoint, layout, E)
    found = Found(
        input=E,
        output=U,
        head_fault=fault,
        says_tied=configuration.says_tied(config),
        has_head=layout.has_head,
        family=f"'{name}'",
        word=configuration.tie_word(config),
    )
    return Sourced(
        kind=kind,
        name=name,
        found=found,
        names=_names(layout),
        vocab_size=configuration.vocab_size(config),
        scales=_scales(config, layout),
        notes=[*checkpoint.notes, *_config_notes(config)],
    )


def layout_of(config: Config, checkpoint: Tensors) -> Layout:
    """By what an index lists; where it lists no head, by all that the input's file holds."""
    layout = architecture.resolve(config, checkpoint)
    if layout.output is not None or layout.input is None:
        return layout
    unlisted = checkpoint.take_unlisted(layout.input)
    if not unlisted:
        return layout
    layout = architecture.resolve(config, checkpoint)
    if layout.output in unlisted:
        checkpoint.notes.append(f"{layout.output} is stored, though the index does not list it.")
    return layout


def _unread(layout: Layout, role: str) -> str:
    """Why a matrix that is there is not what the model computes with; empty where it is."""
    if role in layout.quantised:
        return "is stored in a quantised or otherwise packed form that is not read"
    adapted = role in layout.adapted
    return "has an adapter beside it that is not merged into it" if adapted else ""


def _read(checkpoint: Tensors, tensor: str, role: str) -> torch.Tensor:
    return checked(checkpoint.read(tensor), tensor, role)


def _head(
    checkpoint: Tensors, layout: Layout, E: torch.Tensor | None
) -> tuple[torch.Tensor | None, str | None]:
    """The stored head, or why the listed one cannot be used."""
    if layout.output is None:
        return None, None
    if unread := _unread(layout, "output"):
        return None, f"{layout.output} {unread}."
    try:
        U = _read(checkpoint, layout.output, "output")
    except Interrupted:
        raise
    except EmbtieError as error:
        if E is None:
            raise
        return None, str(error)
    if E is not None and U.shape[1] != E.shape[1] == U.shape[0]:
        shape = " x ".join(map(str, U.shape))
        return None, f"{layout.output} is stored as {shape}, not one row per token."
    return U, None


def _names(layout: Layout) -> dict[str, str]:
    named = {
        "input": layout.input,
        "output": layout.output,
        "output_bias": layout.output_bias,
        "final_norm": layout.final_norm,
    }
    return {role: name for role, name in named.items() if name is not None}


def _scales(config: Config, layout: Layout) -> dict[str, Any]:
    bias = {"head bias": layout.output_bias} if layout.output_bias else {}
    return configuration.scales(config) | bias


def _missing_notes(present: bool, value: Any) -> list[str]:
    if isinstance(value, Mapping) and value:
        return []
    if not present:
        what = "There is no config.json"
    elif isinstance(value, Mapping):
        what = "config.json is empty"
    else:
        what = "config.json is not readable as a configuration: it holds no named fields"
    return [f"{what}, so nothing is known but the tensors."]


def odd_flag_notes(config: Config) -> list[str]:
    """A sentence for each tie flag that could not be followed."""
    return [
        f"In the configuration {told}, neither true nor false, so it was not followed."
        for told in configuration.odd_flags(config)
    ]


def _config_notes(config: Config) -> list[str]:
    notes = odd_flag_notes(config)
    if configuration.flags_disagree(config):
        notes.append(
            "The tie flag differs between levels of the configuration; the language model's "
            "own was used."
        )
    if configuration.wants_own_code(config):
        notes.append("The repository brings code of its own; it was not run.")
    if configuration.family(config) == "hf_olmo":
        notes.append(
            "This is the older OLMo format; the model of the same name ending in -hf has the "
            "same weights in the common one."
        )
    return notes
