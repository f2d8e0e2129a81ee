"""GGUF files: matrices and tokens from one mapped file, quantised ones turned to float32."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFReader, ReaderTensor, quants
from tokenizers import Tokenizer

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import made_tokenizers, piece_files, spelling
from embtie_widgets.sources.once import once
from embtie_widgets.sources.quiet import replaced
from embtie_widgets.sources.reading import check_start, sentences
from embtie_widgets.sources.sourced import Sourced, checked
from embtie_widgets.sources.spelling import Spelling
from embtie_widgets.sources.status import Found
from embtie_widgets.sources.tokens import Vocabulary

_HEADLESS = ("bert", "t5encoder", "nomic-bert", "jina-bert", "gemma-embedding", "modern-bert")
_SPELLINGS: dict[str, Spelling] = {
    "gpt2": spelling.byte_level,
    "llama": spelling.sentencepiece,
    "t5": spelling.sentencepiece,
    "bert": spelling.sentencepiece,  # stored with U+2581 before words and without ##
}
_NAMES = {
    "input": "token_embd.weight",
    "output": "output.weight",
    "output_bias": "output.bias",
    "final_norm": "output_norm.weight",
}
_BEGINNING = ("llama-bpe", "llama3", "llama-v3")
_PLAIN_NUMBERS = {GGMLQuantizationType.F16: "float16", GGMLQuantizationType.BF16: "bfloat16"}
_USER_DEFINED, _UNUSED = 4, 5
_PLAIN_TYPES = (2, 3, _USER_DEFINED)  # unknown, control, and what was put in by hand


def read_gguf(path: Path) -> Sourced:
    """Input matrix, output matrix where stored, and tokens; without output tensor it is tied."""
    reader = _open(path)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    _refuse_parts(reader, path)
    if _value(reader, "general.type") == "adapter":
        raise EmbtieError(
            f"{path.name} holds an adapter, not a model.",
            "Name the model that it was trained on, or merge it first.",
        )
    if "token_embd.weight" not in tensors:
        raise EmbtieError(
            f"{path.name} has no token_embd.weight.", "Choose the GGUF file of a language model."
        )
    notes: list[str] = []
    E = _matrix(tensors["token_embd.weight"], "input", notes)
    U, fault = _head(tensors, notes)
    family = str(_value(reader, "general.architecture") or "")
    found = Found(
        input=E,
        output=U,
        head_fault=fault,
        says_tied=True,
        has_head=_has_head(reader),
        family=path.name,
        word="nothing; a GGUF file without output matrix is tied",
    )
    names = {role: name for role, name in _NAMES.items() if name in tensors}
    size = _value(reader, f"{family}.vocab_size")
    return Sourced(
        kind="gguf",
        name=path.name,
        found=found if "output.weight" not in tensors else _silent(found),
        names=names,
        vocabulary=_tokens(reader),
        vocab_size=size if isinstance(size, int) else None,
        scales=_scales(reader, family),
        notes=notes,
    )


def gguf_shapes(path: Path) -> tuple[dict[str, tuple[int, ...]], bool]:
    """Every tensor's shape, rows first, and whether its kind has a head; from the header."""
    reader = _open(path)
    _refuse_parts(reader, path)
    shapes = {t.name: tuple(int(size) for size in reversed(t.shape)) for t in reader.tensors}
    return shapes, _has_head(reader)


def gguf_size(path: Path) -> tuple[int, int, str]:
    """How many numbers in how many tensors, and what most of them are read as; by the header."""
    with sentences(path):
        known = path.stat()
    return _size(path, known.st_size, known.st_mtime_ns)


@lru_cache(maxsize=16)
def _size(path: Path, _bytes: int, _time: int) -> tuple[int, int, str]:
    reader = _open(path)
    _refuse_parts(reader, path)
    numbers: Counter[str] = Counter()
    for tensor in reader.tensors:
        kind = _PLAIN_NUMBERS.get(tensor.tensor_type, "float32")
        numbers[kind] += int(tensor.n_elements)
    most = max(numbers, key=lambda kind: numbers[kind], default="float32")
    return numbers.total(), len(reader.tensors), most


def _has_head(reader: GGUFReader) -> bool:
    family = str(_value(reader, "general.architecture") or "")
    return not family.startswith(_HEADLESS)


def _silent(found: Found) -> Found:
    """A GGUF file has no tie flag: with a stored output there is nothing to disagree with."""
    return replace(found, says_tied=None, word="")


class _Reader(GGUFReader):
    """The library's reader, three times faster: slices of a plain array and not of a mapped one.
    What ends before it should is an error, at once."""

    def _get(
        self, offset: int, dtype: Any, count: int = 1, override_order: str | None = None
    ) -> Any:
        end = int(offset) + np.dtype(dtype).itemsize * int(count)
        if end > len(self.data):  # else a list of 2**60 entries would be gone through, all empty
            raise EOFError
        found = np.asarray(self.data)[int(offset) : end].view(dtype)[: int(count)]
        return found.view(found.dtype.newbyteorder(override_order or self.byte_order))


def _open(path: Path) -> GGUFReader:
    with sentences(path):
        known = path.stat()
    key = ("gguf", path.resolve(), known.st_size, known.st_mtime_ns)
    reader: GGUFReader = once(key, lambda: _parsed(path))
    return reader


@contextmanager
def for_others() -> Iterator[None]:
    """Within it transformers, which parses a file several times, gets what was parsed here, and
    makes the table of names once for all modules."""
    names = lru_cache(maxsize=4)(gguf.get_tensor_name_map)
    reader = replaced(gguf, "GGUFReader", lambda path, *_: _open(Path(path)))
    with reader, replaced(gguf, "get_tensor_name_map", names):
        yield


def _parsed(path: Path) -> GGUFReader:
    check_start(path)
    try:
        with sentences(path):
            return _Reader(path)
    except EmbtieError:
        raise
    except Exception:  # the reader raises whatever its parsing stumbles over
        raise EmbtieError(
            f"{path.name} is cut short or no GGUF file.", "Download it again."
        ) from None


def _refuse_parts(reader: GGUFReader, path: Path) -> None:
    parts = _value(reader, "split.count")
    if isinstance(parts, int) and parts > 1:
        raise EmbtieError(
            f"{path.name} is one of {parts} parts of a model.",
            "Merge them into one file first (llama-gguf-split --merge).",
        )


def _value(reader: GGUFReader, key: str) -> Any:
    field = reader.get_field(key)
    try:
        return None if field is None else field.contents()
    except (ValueError, LookupError):
        raise EmbtieError(
            f"The field {key} of the file is damaged.", "Download it again."
        ) from None


def _head(
    tensors: dict[str, ReaderTensor], notes: list[str]
) -> tuple[torch.Tensor | None, str | None]:
    if "output.weight" not in tensors:
        return None, None
    try:
        return _matrix(tensors["output.weight"], "output", notes), None
    except EmbtieError as error:
        return None, error.message


def _matrix(tensor: ReaderTensor, role: str, notes: list[str]) -> torch.Tensor:
    """(V, d): a view of the file for plain numbers, else float32 made from the quantised form."""
    kind = tensor.tensor_type
    shape = tuple(int(size) for size in reversed(tensor.shape))
    if kind == GGMLQuantizationType.BF16:
        words = torch.from_numpy(_writable(tensor.data).view(np.int16))
        return checked(words.view(torch.bfloat16).reshape(shape), tensor.name, role)
    if kind in (GGMLQuantizationType.F32, GGMLQuantizationType.F16, GGMLQuantizationType.F64):
        return checked(torch.from_numpy(_writable(tensor.data)), tensor.name, role)
    try:
        values = quants.dequantize(tensor.data, kind)
    except NotImplementedError:
        raise EmbtieError(
            f"The {role} matrix {tensor.name} is stored as {kind.name}, which is not read.",
            "Choose a file whose embeddings are F32, F16, BF16 or Q8_0.",
        ) from None
    notes.append(f"The {role} matrix is stored quantised as {kind.name} and was turned to float32.")
    return checked(torch.from_numpy(values.reshape(shape)), tensor.name, role)


def _writable(mapped: Any) -> Any:
    """The same bytes mapped copy-on-write, which torch asks for; nothing is read yet."""
    base = mapped
    while isinstance(base.base, np.ndarray):
        base = base.base
    if not isinstance(base, np.memmap) or base.filename is None:
        return np.array(mapped)
    offset = mapped.ctypes.data - base.ctypes.data
    return np.memmap(base.filename, mapped.dtype, "c", offset, mapped.shape)


def _tokens(reader: GGUFReader) -> Vocabulary | None:
    """Damaged tokens cost the token texts, not the matrices: it is noted."""
    try:
        return _vocabulary(reader)
    except EmbtieError as error:
        return Vocabulary(notes=[f"Tokens are not shown: {error.message}"])


def _vocabulary(reader: GGUFReader) -> Vocabulary | None:
    tokens = _value(reader, "tokenizer.ggml.tokens")
    if not isinstance(tokens, list):
        return None
    if not all(isinstance(token, str) for token in tokens):
        raise EmbtieError("They are no texts.", "Download the file again.")
    model = str(_value(reader, "tokenizer.ggml.model"))
    if model not in _SPELLINGS:
        return Vocabulary(notes=[f"Tokens are not shown: tokenizer model '{model}' is not read."])
    types = _value(reader, "tokenizer.ggml.token_type")
    types = types if isinstance(types, list) else []
    vocabulary = Vocabulary()
    for row, token in enumerate(tokens):
        kind = types[row] if row < len(types) else 1
        if kind != _UNUSED:
            plain = kind in _PLAIN_TYPES
            vocabulary.add(token, row, spelling.plain if plain else _SPELLINGS[model])
            if plain and (kind != _USER_DEFINED or spelling.is_markup(token)):
                vocabulary.special.add(row)
    return vocabulary


def _scales(reader: GGUFReader, family: str) -> dict[str, Any]:
    keys = ("embedding_scale", "logit_scale", "final_logit_softcapping")
    found = {key: _value(reader, f"{family}.{key}") for key in keys}
    return {key: value for key, value in found.items() if value is not None}


def gguf_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer that the file's own tokens, merges and scores make."""
    reader = _open(path)
    _refuse_parts(reader, path)
    model = str(_value(reader, "tokenizer.ggml.model"))
    tokens, kinds = _listed(reader, "tokens", str), _listed(reader, "token_type", int)
    kinds = kinds or [piece_files.NORMAL] * len(tokens)
    if tokens and model == "gpt2":
        words = str(_value(reader, "tokenizer.ggml.pre") or "default")
        merges = _listed(reader, "merges", str)
        made = made_tokenizers.byte_level(tokens, merges, kinds, words, path.name)
        return made_tokenizers.with_signs(made, *_signs(reader, tokens, words in _BEGINNING))
    if tokens and model == "llama":
        prefix = _value(reader, "tokenizer.ggml.add_space_prefix")
        scores = _listed(reader, "scores", float) or [0.0] * len(tokens)
        pieces = piece_files.Pieces(tokens, scores, kinds, prefix=prefix is not False)
        made = made_tokenizers.sentencepiece(pieces, path.name)
        return made_tokenizers.with_signs(made, *_signs(reader, tokens, True))
    raise EmbtieError(
        f"The tokenizer of {path.name} is of a kind ('{model}') that is not made here.",
        "Name the model's Hugging Face folder or hub id, or give a ready count file.",
    )


def _signs(reader: GGUFReader, tokens: list[str], begins: bool) -> tuple[str | None, str | None]:
    """What goes before and behind each text; `begins` is the kind's habit where nothing is said."""
    found: list[str | None] = []
    for name, usual in (("bos", begins), ("eos", False)):
        flag = _value(reader, f"tokenizer.ggml.add_{name}_token")
        row = _value(reader, f"tokenizer.ggml.{name}_token_id")
        wanted = flag if isinstance(flag, bool) else usual
        inside = isinstance(row, int) and 0 <= row < len(tokens)
        found.append(tokens[row] if wanted and inside else None)
    return found[0], found[1]


def _listed(reader: GGUFReader, key: str, kind: type) -> list[Any]:
    found = _value(reader, f"tokenizer.ggml.{key}")
    whole = isinstance(found, list) and all(isinstance(value, kind) for value in found)
    return found if whole else []
