"""The translators of a tuned lens: one affine map for each layer, applied residually.

Saved as one safetensors file with everything around it in its header; what the `tuned-lens`
package saves, a folder with config.json and params.pt, is read too.
"""

import hashlib
import json
import os
import re
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.hashing import tensor_hash
from embtie_widgets.sources.live import layout_of
from embtie_widgets.sources.offloaded import at_hand
from embtie_widgets.sources.paths import local_path

FORMAT = "embtie translators 1"
PACKAGE_FILES = ("config.json", "params.pt")
_AGAIN = "Train the lens again, or ask for the file again where it came from."
_LOGIT = "Train a lens for this model, or take the logit lens, which needs no translators."
_LONGEST = 8 << 30  # bytes of a file; the translators of the largest open models take less
_SAME = 5e-3  # by how much a column's length may differ where a matrix was stored more coarsely


@dataclass(frozen=True, eq=False)
class Translators:
    """state -> state + A_l state + b_l, for l = 0 ("embedding") to L - 1.

    weights   (L, d, d) float32, the A_l
    biases    (L, d) float32, the b_l
    settings  how they were trained, and the curve of the training
    hashes    "unembedding": of the output matrix that they were trained for; "text" where known
    columns   lengths of the columns of that matrix, which tell it from others whatever it is
              stored in; None for translators of the `tuned-lens` package
    """

    weights: Tensor
    biases: Tensor
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    columns: Tensor | None = None

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        name = self.settings.get("model", "a model")
        return f"Translators({len(self)} layers of {self.biases.shape[-1]}, for {name})"

    def apply(self, layer: int, states: Tensor) -> Tensor:
        """(n, d) -> (n, d), for the states before block `layer`."""
        weight = self.weights[layer].to(states.device, states.dtype)
        bias = self.biases[layer].to(states.device, states.dtype)
        made: Tensor = states + torch.nn.functional.linear(states, weight, bias)
        return made

    def save(self, path: str | Path) -> Path:
        """Write one .safetensors file; what was there stays until the new one is whole."""
        target = local_path(path)
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(self.to_bytes())
            part.replace(target)
        except OSError as error:
            raise EmbtieError(
                f"The lens cannot be written to '{target.name}': {error.strerror or 'no room'}.",
                "Name a file in a folder that is yours to write.",
            ) from None
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return target

    def to_bytes(self) -> bytes:
        """The file that `save` writes."""
        tensors = {"weights": self.weights, "biases": self.biases}
        if self.columns is not None:
            tensors["unembedding_columns"] = self.columns
        about = {"format": FORMAT, "settings": self.settings, "hashes": dict(self.hashes)}
        return safetensors.torch.save(
            {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()},
            {"embtie": json.dumps(about, sort_keys=True, default=_plain)},
        )

    def fits(self, model: Any) -> str | None:
        """None where they are for this model; else a sentence that says why not."""
        layers, width = layout_of(model).layer_count, model.config.get_text_config().hidden_size
        if (len(self), self.biases.shape[-1]) != (layers, width):
            return (
                f"The lens has {len(self)} translators of width {self.biases.shape[-1]:,}; the "
                f"model has {layers} layers of width {width:,}."
            )
        return (
            None
            if self._reads(model)
            else ("The lens was trained for another output matrix than this model's.")
        )

    def check(self, model: Any) -> None:
        """An EmbtieError where they are not for this model."""
        fault = self.fits(model)
        if fault:
            raise EmbtieError(fault, _LOGIT)

    def _reads(self, model: Any) -> bool:
        head = model.get_output_embeddings()
        with at_hand(head):
            U = head.weight.detach()
            if "unembed_hash" in self.hashes:
                return package_hash(U) == self.hashes["unembed_hash"]
            if unembedding_hash(U) == self.hashes.get("unembedding"):
                return True
            if self.columns is None:
                return "unembedding" not in self.hashes
            if len(self.columns) != U.shape[1]:
                return False
            near: bool = torch.allclose(column_lengths(U), self.columns.cpu(), rtol=_SAME, atol=0)
            return near


def unembedding_hash(U: Tensor) -> str:
    """The same in float32 as in the type that the values were stored in."""
    return tensor_hash(U.detach().float())


def column_lengths(U: Tensor) -> Tensor:
    """(V, d) -> (d,) float32 on the CPU."""
    lengths: Tensor = torch.linalg.vector_norm(U.detach().float(), dim=0)
    return lengths.cpu()


def package_hash(U: Tensor) -> str:
    """How the `tuned-lens` package names an output matrix: by a few rounded corners of it."""
    shown = np.array_str(U.detach().cpu().float().numpy(), precision=1)
    return hashlib.sha256(shown.encode()).hexdigest()


def load_lens(path: str | Path, model: Any = None) -> Translators:
    """What `save` or the `tuned-lens` package wrote: a .safetensors file, or a folder.

    With a model it is checked that they are its translators.
    """
    place = local_path(path)
    if place.is_dir():
        found = _read_package(place)
    elif place.is_file():
        _refuse_size(place)
        found = read_lens(place.read_bytes(), place.name)
    else:
        raise EmbtieError(
            f"There is no saved lens '{place.name}'.",
            "Give a .safetensors file, or a folder with config.json and params.pt.",
        )
    if model is not None:
        found.check(model)
    return found


def read_lens(data: bytes, name: str = "the file") -> Translators:
    """The translators in the bytes of a file that `save` wrote."""
    try:
        tensors = safetensors.torch.load(data)
        (size,) = struct.unpack("<Q", data[:8])
        about = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["embtie"])
        known = isinstance(about, dict) and about.get("format") == FORMAT
        settings, hashes = dict(about["settings"]), dict(about["hashes"])
    except (
        safetensors.SafetensorError,
        ValueError,
        KeyError,
        TypeError,
        struct.error,
        RecursionError,
        AttributeError,
    ):
        known = False
    if not known:
        raise EmbtieError(f"'{name}' is no lens that embtie saved, or it is damaged.", _AGAIN)
    wanted = {"weights", "biases"}
    if not wanted <= set(tensors) <= wanted | {"unembedding_columns"}:
        raise EmbtieError(f"'{name}' lacks its translators.", _AGAIN)
    hashes = {str(k): str(v) for k, v in hashes.items()}
    return _checked(
        tensors["weights"],
        tensors["biases"],
        settings,
        hashes,
        tensors.get("unembedding_columns"),
        name,
    )


def _read_package(folder: Path) -> Translators:
    """A folder of the `tuned-lens` package; its pickle is read by torch's restricted reader."""
    config_file, stored = (folder / name for name in PACKAGE_FILES)
    if not (config_file.is_file() and stored.is_file()):
        raise EmbtieError(
            f"The folder '{folder.name}' holds no lens: {' and '.join(PACKAGE_FILES)} are needed.",
            "Give the folder that the tuned-lens package saved, or a .safetensors file.",
        )
    for path in (config_file, stored):
        _refuse_size(path)
    try:
        config = json.loads(config_file.read_text(encoding="utf-8"))
        layers, width = int(config["num_hidden_layers"]), int(config["d_model"])
        tensors = torch.load(stored, map_location="cpu", weights_only=True)
        weights = torch.stack([tensors.pop(f"{i}.weight").float() for i in range(layers)])
        nothing = torch.zeros(width)
        biases = torch.stack([tensors.pop(f"{i}.bias", nothing).float() for i in range(layers)])
        left = len(tensors)
    except Exception:  # the restricted reader meets a hostile file with a dozen types of error
        left = -1
    if left or weights.shape[1:] != (width, width):
        raise EmbtieError(
            f"The lens in '{folder.name}' is damaged, or is none of plain linear translators.",
            _AGAIN,
        )
    keys = {"model": "base_model_name_or_path", "revision": "base_model_revision"}
    settings: dict[str, Any] = {k: _name(config[v]) for k, v in keys.items() if config.get(v)}
    named = config.get("unembed_hash")
    return _checked(
        weights, biases, settings | {"saved by": "the tuned-lens package"},
        {"unembed_hash": str(named)} if named else {}, None, folder.name,
    )  # fmt: skip


def _name(value: Any) -> str:
    """A hub id as it is; of a folder of somebody's machine its own name alone."""
    text = str(value)
    return text if re.fullmatch(r"[\w.-]+(/[\w.-]+)?", text) else re.split(r"[/\\]", text)[-1]


def _checked(
    weights: Tensor,
    biases: Tensor,
    settings: dict[str, Any],
    hashes: dict[str, str],
    columns: Tensor | None,
    name: str,
) -> Translators:
    good = (
        weights.ndim == 3
        and len(weights) > 0
        and weights.shape[1] == weights.shape[2]
        and biases.shape == weights.shape[:2]
        and all(t is None or _is_plain(t) for t in (weights, biases, columns))
        and (columns is None or columns.ndim == 1)
    )
    if not good:
        raise EmbtieError(f"The translators in '{name}' do not fit together.", _AGAIN)
    weights, biases = weights.float(), biases.float()
    if not (bool(weights.isfinite().all()) and bool(biases.isfinite().all())):
        raise EmbtieError(f"The translators in '{name}' hold values that are not finite.", _AGAIN)
    lengths = None if columns is None else columns.float()
    return Translators(weights, biases, settings, hashes, lengths)


def _is_plain(tensor: Tensor) -> bool:
    """Numbers that are here, one for each place: not sparse, not of the meta device."""
    dense = tensor.layout == torch.strided and tensor.device.type == "cpu"
    return dense and tensor.is_floating_point()


def _refuse_size(path: Path) -> None:
    if path.stat().st_size > _LONGEST:
        raise EmbtieError(f"'{path.name}' is too large for a lens.", "Give the saved lens itself.")


def _plain(value: Any) -> Any:
    """JSON for what settings may hold besides plain values."""
    if isinstance(value, np.ndarray | np.generic | Tensor):
        return value.tolist()
    return str(value)
