"""The hash of a model in memory: read once, and again only after its weights were changed."""

import hashlib
import json
from typing import Any
from weakref import WeakKeyDictionary

import torch

from embtie_widgets.hashing import tensor_hash
from embtie_widgets.sources.offloaded import at_hand

_known: WeakKeyDictionary[Any, tuple[Any, str]] = WeakKeyDictionary()
_PASSING = ("_name_or_path", "transformers_version", "dtype", "torch_dtype")


def state_hash(model: Any) -> str:
    """sha256 over configuration and state, each tensor by its name, dtype, shape and bytes."""
    now = _state(model)
    kept = _known.get(model)
    if kept is not None and now is not None and kept[0] == now:
        return kept[1]
    digest = hashlib.sha256(_config(model).encode())
    for path, module in model.named_modules():
        own = [*module.named_parameters(recurse=False), *_buffers(module)]
        if own:
            with at_hand(module):
                for name, _ in own:
                    held = getattr(module, name)
                    digest.update(f"{path}.{name} {_hashed(held)} ".encode())
    _known[model] = (now, digest.hexdigest())
    return digest.hexdigest()


def _hashed(tensor: torch.Tensor) -> str:
    whole = tensor.detach()
    return tensor_hash(whole if whole.ndim else whole[None])


def _buffers(module: Any) -> list[tuple[str, torch.Tensor]]:
    passing = getattr(module, "_non_persistent_buffers_set", ())
    return [pair for pair in module.named_buffers(recurse=False) if pair[0] not in passing]


def _state(model: Any) -> Any:
    """Where each tensor is and how often it was written to; None where torch does not count."""
    try:
        held = [*model.parameters(), *model.buffers()]
        return [(t.data_ptr(), t._version) for t in held if not t.is_meta], _config(model)
    except RuntimeError:
        return None


def _config(model: Any) -> str:
    config: Any = getattr(model, "config", None)
    value = config.to_dict() if hasattr(config, "to_dict") else {}
    own = {key: part for key, part in value.items() if key not in _PASSING}
    return json.dumps(own, sort_keys=True, default=str)
