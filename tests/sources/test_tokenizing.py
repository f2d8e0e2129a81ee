# ruff: noqa: RUF001
"""Tokenizers of models: as their own libraries cut texts, and without any of their code."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
import transformers
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources.corpora import BUNDLED_FILE
from embtie_widgets.sources.load import find
from embtie_widgets.sources.made_tokenizers import byte_level
from embtie_widgets.sources.spelling import BYTE_ALPHABET
from embtie_widgets.sources.tokenizing import ModelTokenizer, tokenizer_of
from tests.hub_server import HubServer
from tests.sources.models import llama, saved

PIECES = Path(__file__).parent / "pieces"
EXPECTED = json.loads((PIECES / "expected.json").read_text())
ODD = "In 1984, 12345 cats\n\n  and\tdogs’ 測試 don't ½ ١٢٣ x²\n        1 \n<|im_start|>user "
# What transformers makes of the older files of GPT-2 and of BERT.
MERGES = ["t h", "th e", "Ġ the", "a n", "an d", "Ġ and"]
VOCABULARY = [*BYTE_ALPHABET, *(merge.replace(" ", "") for merge in MERGES), "<|endoftext|>"]


@pytest.fixture(scope="module")
def english() -> str:
    with gzip.open(BUNDLED_FILE, "rt", encoding="utf-8") as file:
        return file.read(200_000) + ODD


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A tiny model without tokenizer."""
    return saved(llama(), tmp_path / "model")


def ids(tokenizer: ModelTokenizer, text: str) -> list[int]:
    return tokenizer.encode([text])[0]


def hf(folder: Path, text: str, **more: Any) -> list[int]:
    """What transformers says."""
    made = transformers.AutoTokenizer.from_pretrained(folder, **more)
    return made(text, add_special_tokens=False)["input_ids"]


def old_gpt2(folder: Path) -> Path:
    """The files of GPT-2's first tokenizer beside a configuration that says so."""
    vocabulary = {token: row for row, token in enumerate(VOCABULARY)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    merges = "\n".join(["#version: 0.2", *MERGES, ""])
    (folder / "merges.txt").write_text(merges, encoding="utf-8")
    settings = {"tokenizer_class": "GPT2Tokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("name", ["nano-tied", "nano-untied"])
def test_a_bundled_model_cuts_as_transformers_does(name, english):
    folder = find(name).files.folder
    assert ids(tokenizer_of(ModelRef(name)), english) == hf(folder, english)


def test_twins_have_one_tokenizer_and_others_another(checkpoint):
    twins = [tokenizer_of(ModelRef(name)).sha256 for name in ("nano-tied", "nano-untied")]
    old_gpt2(checkpoint)
    assert len({*twins, tokenizer_of(ModelRef(str(checkpoint))).sha256}) == 2


def test_nothing_is_cut_off_padded_or_added(checkpoint):
    made = Tokenizer(models.WordLevel({"<s>": 0, "a": 1, "[PAD]": 2}, unk_token="[PAD]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.enable_truncation(3)
    made.enable_padding(length=7, pad_id=2, pad_token="[PAD]")
    made.save(str(checkpoint / "tokenizer.json"))
    found = tokenizer_of(ModelRef(str(checkpoint)))
    assert found.encode(["a a a a a", "a"]) == [[1] * 5, [1]]


def test_older_files_cut_as_transformers_does(checkpoint, english):
    old_gpt2(checkpoint)
    found = ids(tokenizer_of(ModelRef(str(checkpoint))), english)
    assert found == hf(checkpoint, english)
    assert VOCABULARY.index("Ġthe") in found


def test_a_vocab_txt_cuts_as_transformers_does(tmp_path):
    folder = saved(llama(), tmp_path / "bert")
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, "the", "##ing"]
    (folder / "vocab.txt").write_text("\n".join([*pieces, *(f"##{sign}" for sign in letters)]))
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    text = "The king, the Thing"
    found = ids(tokenizer_of(ModelRef(str(folder))), text)
    assert found == hf(folder, text)
    assert pieces.index("##ing") in found


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_sentencepiece_model_cuts_as_its_own_library_does(kind, checkpoint):
    shutil.copyfile(PIECES / f"{kind}.model", checkpoint / "tokenizer.model")
    found = tokenizer_of(ModelRef(str(checkpoint)))
    assert found.encode(EXPECTED["texts"]) == EXPECTED["ids"][kind]


def test_code_of_the_repository_is_never_run(checkpoint, tmp_path):
    old_gpt2(checkpoint)
    mark = tmp_path / "ran"
    (checkpoint / "own.py").write_text(f"open({str(mark)!r}, 'w')\nclass Own: pass\n")
    for name in ("tokenizer_config.json", "config.json"):
        value = json.loads((checkpoint / name).read_text())
        value["auto_map"] = {"AutoTokenizer": ["own.Own", "own.Own"], "AutoConfig": "own.Own"}
        (checkpoint / name).write_text(json.dumps(value))
    assert ids(tokenizer_of(ModelRef(str(checkpoint))), " the") == [VOCABULARY.index("Ġthe")]
    assert not mark.exists()


def test_from_the_hub_come_tokenizer_files_alone_at_the_commit_of_the_model(
    hub: HubServer, checkpoint, tmp_path
):
    old_gpt2(checkpoint)
    first = hub.add("owner/model", checkpoint)
    loaded = ew.load("owner/model")
    later = shutil.copytree(checkpoint, tmp_path / "later")
    (later / "merges.txt").write_text("#version: 0.2\nt h\n", encoding="utf-8")
    hub.add("owner/model", later)
    hub.forget()
    assert ids(tokenizer_of(loaded), " the") == [VOCABULARY.index("Ġthe")]
    asked = {request.path.rsplit("/", 1)[-1] for request in hub.requests}
    assert "merges.txt" in asked  # what the tokens are shown from is here already
    assert not any(name.endswith(".safetensors") for name in asked)
    assert any(first in request.path for request in hub.requests)
    assert len(ids(tokenizer_of(ModelRef("owner/model")), " the")) == 3


def gguf_of(path: Path, model: str, tokens: list[str], kinds: list[int], **more: Any) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    if "pre" in more:
        writer.add_tokenizer_pre(more["pre"])
        writer.add_token_merges(more.get("merges", MERGES))
    if "scores" in more:
        writer.add_token_scores(more["scores"])
    writer.add_tensor("token_embd.weight", np.ones((len(tokens), 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


LEVEL_KINDS = [1] * (len(VOCABULARY) - 1) + [3]


def test_a_gguf_file_of_bytes_cuts_by_its_own_merges(tmp_path, checkpoint, english):
    path = gguf_of(tmp_path / "m.gguf", "gpt2", VOCABULARY, LEVEL_KINDS, pre="gpt-2")
    text = english + "<|endoftext|> the"
    assert ids(tokenizer_of(ModelRef(str(path))), text) == hf(old_gpt2(checkpoint), text)


def test_a_gguf_file_of_pieces_cuts_as_its_library_does(tmp_path):
    from embtie_widgets.sources.piece_files import scored_pieces

    held = scored_pieces((PIECES / "bpe.model").read_bytes(), "bpe.model")
    path = gguf_of(
        tmp_path / "m.gguf", "llama", list(held.texts), list(held.kinds), scores=list(held.scores)
    )
    found = tokenizer_of(ModelRef(str(path)))
    assert found.encode(EXPECTED["texts"]) == EXPECTED["ids"]["bpe"]


def test_a_real_gguf_file_cuts_as_the_model_was_trained(smollm2, english):
    """transformers passes over how this family cuts its digits, which comes from elsewhere."""
    found = tokenizer_of(ModelRef(str(smollm2)))
    made = transformers.AutoTokenizer.from_pretrained(smollm2.parent, gguf_file=smollm2.name)
    plain = english.translate({ord(sign): "" for sign in "0123456789½١٢٣²"})
    assert ids(found, plain) == made(plain, add_special_tokens=False)["input_ids"]
    own = made.backend_tokenizer
    steps = [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    own.pre_tokenizer = pre_tokenizers.Sequence(steps)
    assert ids(found, english) == own.encode(english, add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("words", "text", "cut"),
    [
        ("gpt-2", "It's 2024.\n\nOK", ["It", "'s", " 2024", ".", "\n", "\n", "OK"]),
        ("smollm", "a 20", ["a", " ", "2", "0"]),
        ("llama-bpe", "IT'S 2024.\n\nOK", ["IT", "'S", " ", "202", "4", ".\n\n", "OK"]),
        ("qwen2", "a 2024", ["a", " ", "2", "0", "2", "4"]),
        ("gpt-4o", "isOK'll 1/\n", ["is", "OK'll", " ", "1", "/\n"]),
        ("tekken", "isOK'll 12", ["is", "OK", "'ll", " ", "1", "2"]),
    ],
)
def test_each_family_has_its_own_words(words, text, cut):
    made = byte_level(VOCABULARY, MERGES, LEVEL_KINDS, words, "m.gguf")
    parts = [text[start:end] for _, (start, end) in made.pre_tokenizer.pre_tokenize_str(text)]
    assert parts == cut


def test_digits_by_their_class_are_digits_by_their_pattern():
    """The two ways to say it, over every character there is."""
    every = "".join(map(chr, [*range(32, 0xD800), *range(0xE000, 0x30000)]))
    ours = pre_tokenizers.Split(Regex(r"\p{N}"), "isolated").pre_tokenize_str(every)
    theirs = pre_tokenizers.Digits(True).pre_tokenize_str(every)
    differ = len({span for _, span in ours} ^ {span for _, span in theirs})
    assert differ < 0.02 * len(theirs)  # their tables come from different years of Unicode


def refused(ref: Any) -> str:
    with pytest.raises(EmbtieError) as caught:
        tokenizer_of(ref)
    assert caught.value.hint
    return str(caught.value)


def test_without_a_tokenizer_there_is_a_sentence(tmp_path, checkpoint):
    E = np.ones((4, 8), np.float32)
    np.save(tmp_path / "E.npy", E)
    (tmp_path / "words.txt").write_text("a\nb\nc\nd\n")
    matrices = ModelRef(str(tmp_path / "E.npy"))
    listed = ModelRef(str(tmp_path / "E.npy"), tokens_file=str(tmp_path / "words.txt"))
    assert "E.npy holds matrices and no tokenizer" in refused(matrices)
    assert "words.txt lists the tokens" in refused(listed)
    assert "'model' has no tokenizer files" in refused(ModelRef(str(checkpoint)))
    assert "in memory" in refused(ew.load(llama()))
    told = refused(ew.load([tmp_path / "E.npy"]))
    assert "Choose a model that has its tokenizer" in told
    assert "ready count file" in told


def test_a_tokenizer_may_stand_in_the_place_of_the_token_list(tmp_path):
    np.save(tmp_path / "E.npy", np.ones((4096, 8), np.float32))
    whole = find("nano-tied").files.folder / "tokenizer.json"
    found = tokenizer_of(ModelRef(str(tmp_path / "E.npy"), tokens_file=str(whole)))
    assert found.sha256 == tokenizer_of(ModelRef("nano-tied")).sha256


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer.json", b"{"),
        ("tokenizer.json", b'{"model": {"type": "Other"}}'),
        ("tokenizer.json", b""),
        ("tokenizer.model", (PIECES / "bpe.model").read_bytes()[:3000]),
        ("tokenizer.model", b"\xff" * 100),
        ("tokenizer.model", b"YQ== 0\nYg== 1\n"),
        ("vocab.json", b"[1]"),
    ],
)
def test_damaged_files_are_a_sentence(name, content, checkpoint):
    (checkpoint / name).write_bytes(content)
    said = refused(ModelRef(str(checkpoint)))
    assert str(checkpoint.parent) not in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("model", "more", "word"),
    [
        ("gpt2", {"pre": "some-new-way"}, "some-new-way"),
        ("gpt2", {"pre": "gpt-2", "merges": ["no-space"]}, "damaged"),
        ("gpt2", {"pre": "gpt-2", "merges": ["x y"]}, "damaged"),
        ("rwkv", {}, "rwkv"),
    ],
)
def test_a_gguf_tokenizer_that_is_not_known_is_refused(model, more, word, tmp_path):
    path = gguf_of(tmp_path / "m.gguf", model, ["a", "b", "<|end|>"], [1, 1, 3], **more)
    assert word in refused(ModelRef(str(path)))


def test_the_matrices_are_not_touched(tmp_path):
    loaded = ew.load("nano-tied")
    before = loaded.input.clone()
    tokenizer_of(loaded)
    assert torch.equal(loaded.input, before)


def test_the_tokenizer_of_a_loaded_model_is_read_once():
    loaded = ew.load("nano-tied")
    assert tokenizer_of(loaded) is tokenizer_of(loaded)


def test_a_text_that_no_token_stands_for_is_a_sentence(checkpoint):
    made = Tokenizer(models.WordLevel({"a": 0}, unk_token="<none>"))
    made.save(str(checkpoint / "tokenizer.json"))
    with pytest.raises(EmbtieError, match="tokenizer of model fails on this text"):
        tokenizer_of(ModelRef(str(checkpoint))).encode(["a b"])


def test_the_letters_of_ids_are_those_of_the_text_without_special_tokens():
    tokenizer = tokenizer_of(ModelRef("nano-tied"))
    text = "Once upon a time,\n there was größe.  "
    assert tokenizer.letters(tokenizer.encode([text])[0]) == len(text)
    assert tokenizer.letters(tokenizer.encode([f"{text}<|endoftext|>a"])[0]) == len(text) + 1
