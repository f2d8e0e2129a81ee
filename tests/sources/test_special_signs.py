"""What a model is used to see around a text is added where it is asked for, and only there."""

import json
import shutil
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from embtie_widgets.requests import ModelRef
from embtie_widgets.sources.tokenizing import ModelTokenizer, tokenizer_of
from tests.sources.models import llama, saved

TEXTS = ["b c", "c"]
BEGIN, END = "<s>", "</s>"
PIECES = Path(__file__).parent / "pieces"


def written(folder: Path, template: list[str] | None, **settings: Any) -> ModelTokenizer:
    """A tokenizer.json with that template, and settings beside it."""
    made = Tokenizer(models.WordLevel({"a": 0, BEGIN: 1, END: 2, "b": 3, "c": 4}, unk_token="a"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.add_special_tokens([BEGIN, END])
    if template is not None:
        made.post_processor = processors.TemplateProcessing(
            single=template, special_tokens=[(BEGIN, 1), (END, 2)]
        )
    made.save(str(folder / "tokenizer.json"))
    signs = {"bos_token": BEGIN, "eos_token": END, "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(signs | settings))
    return tokenizer_of(ModelRef(str(folder)))


@pytest.mark.parametrize("template", [None, ["$A"], [BEGIN, "$A"], [BEGIN, "$A", END]])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"add_bos_token": True},
        {"add_bos_token": False},
        {"add_bos_token": True, "add_eos_token": True},
        {"add_eos_token": True},
        {"add_bos_token": True, "bos_token": None},
    ],
)
def test_a_tokenizer_adds_what_transformers_adds(tmp_path, template, settings):
    folder = saved(llama(), tmp_path / "model")
    made = written(folder, template, **settings)
    plain = transformers.AutoTokenizer.from_pretrained(folder)
    assert made.encode(TEXTS, special=True) == plain(TEXTS)["input_ids"]
    assert made.encode(TEXTS) == [[3, 4], [4]]


@pytest.mark.parametrize(
    ("settings", "around"),
    [
        ("", (True, False)),
        ("{", (True, False)),
        ('{"add_bos_token": false}', (False, False)),
        ('{"add_eos_token": true}', (True, True)),
        ('{"bos_token": "no such"}', (False, False)),
    ],
)
def test_pieces_are_put_between_signs_as_their_settings_say(tmp_path, settings, around):
    folder = saved(llama(), tmp_path / "model")
    shutil.copyfile(PIECES / "bpe.model", folder / "tokenizer.model")
    if settings:
        (folder / "tokenizer_config.json").write_text(settings)
    made = tokenizer_of(ModelRef(str(folder)))
    (plain,), (special,) = made.encode(["the king"]), made.encode(["the king"], special=True)
    before, after = (
        [made.tokenizer.token_to_id(sign)] * there
        for sign, there in zip((BEGIN, END), around, strict=True)
    )
    assert special == [*before, *plain, *after]
    assert not {*before, *after} & {None}


@pytest.mark.parametrize(("flag", "words", "expected"), [
    (True, "gpt-2", [1]), (False, "llama-bpe", []), (None, "llama-bpe", [1]), (None, "gpt-2", []),
])  # fmt: skip
def test_a_gguf_file_says_whether_texts_begin_with_a_sign(tmp_path, flag, words, expected):
    path = tmp_path / "m.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(words)
    writer.add_token_list(["a", BEGIN, "b", "ab"])
    writer.add_token_types([1, 3, 1, 1])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    if flag is not None:
        writer.add_add_bos_token(flag)
    writer.add_tensor("token_embd.weight", np.ones((4, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    made = tokenizer_of(ModelRef(str(path)))
    assert made.encode(["ab"]) == [[3]]
    assert made.encode(["ab"], special=True) == [[*expected, 3]]
