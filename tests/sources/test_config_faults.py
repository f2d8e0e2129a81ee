"""A configuration that transformers cannot build or run is refused with the entry at fault."""

import os
from pathlib import Path
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.config_model import sized_config
from embtie_widgets.sources.models import let_go, open_model
from tests.sources.models import edit_config, llama, saved
from tests.sources.test_families import FAMILIES

MAKERS = {"llama": llama, **{name: make for name, (make, _, _) in FAMILIES.items()}}
# Family, entry, what stands there, what is told beside the entry's name.
FAULTS: list[tuple[str, str, Any, str]] = [
    ("llama", "hidden_act", "nonsense", 'is "nonsense", which'),
    ("llama", "hidden_size", "8", 'is "8", where a whole number is expected'),
    ("gpt2", "n_head", 3, "n_embd is 8, which is no multiple of n_head, 3"),
    ("gpt2", "n_head", -1, "n_head is -1, where 1 or more"),
    ("gpt2", "n_embd", "eight", 'is "eight", where a whole number'),
    ("gpt2", "activation_function", "nonsense", "no activation that transformers knows"),
    ("gpt2", "vocab_size", None, "vocab_size is null"),
    ("neox", "num_attention_heads", 3, "hidden_size is 8, which is no multiple"),
    ("neox", "hidden_size", 0, "hidden_size is 0"),
    ("opt", "num_attention_heads", 3, "no multiple of num_attention_heads, 3"),
    ("opt", "dropout", 1.5, "dropout is 1.5, where a number from 0 to 1"),
    ("bloom", "n_head", 0, "n_head is 0, where 1 or more"),
    ("bloom", "hidden_dropout", -1.0, "hidden_dropout is -1.0"),
    ("falcon", "activation", "nonsense", "no activation that transformers knows"),
    ("falcon", "layer_norm_epsilon", None, "layer_norm_epsilon is null"),
    ("mpt", "n_heads", None, "n_heads"),
    ("mpt", "n_heads", 3, "d_model is 8, which is no multiple of n_heads, 3"),
    ("mpt", "max_seq_len", 0, "max_seq_len is 0"),
    ("mamba", "time_step_rank", 0, "time_step_rank is 0"),
    ("rwkv", "attention_hidden_size", 0, "attention_hidden_size is 0"),
    ("phi", "hidden_act", "relu9", "no activation that transformers knows"),
    ("gptj", "n_head", 3, "n_embd is 8, which is no multiple of n_head, 3"),
    ("olmo", "num_attention_heads", 0, "num_attention_heads is 0"),
]


def _refused(ask: Any, given: Any) -> str:
    with pytest.raises(EmbtieError) as caught:
        ask(given)
    said = f"{caught.value.message} {caught.value.hint}"
    assert os.sep + "tmp" not in said
    return said


@pytest.mark.parametrize(("family", "entry", "value", "told"), FAULTS)
def test_the_entry_at_fault_is_named_and_what_is_expected(
    tmp_path: Path, family: str, entry: str, value: Any, told: str
) -> None:
    folder = saved(MAKERS[family](), tmp_path / "odd")
    let_go()
    open_model(folder)  # it can be opened as it was
    edit_config(folder, **{entry: value})
    path = folder / "config.json"
    if value is None and entry != "n_heads":
        path.write_text(path.read_text().replace("{", f'{{"{entry}": null,', 1))
    let_go()
    said = _refused(open_model, folder)
    assert told in said
    assert entry in said


def test_heads_that_fit_every_tensor_and_no_text_are_told(tmp_path: Path) -> None:
    said = _refused(open_model, saved(MAKERS["gemma"](), tmp_path / "odd"))
    assert "num_attention_heads is 2, which is no multiple of num_key_value_heads, 16" in said


def test_what_the_file_leaves_out_counts_as_its_type_has_it() -> None:
    said = _refused(sized_config, {"model_type": "gpt2", "n_head": 7})
    assert "n_embd is 768, which is no multiple of n_head, 7" in said
    assert "leaves out has its type's own default" in said


def test_where_no_entry_stands_out_the_sizes_are_told(tmp_path: Path) -> None:
    folder = saved(FAMILIES["mpt"][0](), tmp_path / "odd")
    edit_config(folder, max_seq_len=3)
    assert "cannot read a text: no entry stands out; its sizes are d_model 8" in _refused(
        open_model, folder
    )
