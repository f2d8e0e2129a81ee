"""Tokenizers made from their parts: byte-level merges, and pieces with scores.

They hold what GGUF files and SentencePiece models store, in a form that the `tokenizers` library
carries out.
"""

from collections.abc import Iterator, Sequence

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.piece_files import (
    CONTROL,
    NORMAL,
    RAW_BYTE,
    UNKNOWN,
    USER_DEFINED,
    Pieces,
)
from embtie_widgets.sources.spelling import SPACE_MARK

_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _REST
_QWEN2 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _REST
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SIGNS = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def _cased(end: str) -> str:
    """Words that may begin with capitals, and words of capitals."""
    first = r"[^\r\n\p{L}\p{N}]?"
    return f"{first}{_UPPER}*{_LOWER}+{end}|{first}{_UPPER}+{_LOWER}*{end}"


_GPT4O = _cased(_CONTRACTIONS + "?") + r"|\p{N}{1,3}" + _SIGNS
_TEKKEN = _cased("") + r"|\p{N}" + _SIGNS

# How each family cuts a text into words before it merges, under the names that GGUF has for it.
_WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("gpt-2", "gpt2", "olmo", "phi-2", "mpt", "jais", "gigachat"), (_GPT2,)),
    **dict.fromkeys(
        ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"),
        (r"\p{N}", _GPT2),
    ),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "dbrx", "smaug-bpe"), (_LLAMA3,)),
    **dict.fromkeys(("qwen2", "stablelm2", "hunyuan", "megrez"), (_QWEN2,)),
    **dict.fromkeys(("gpt-4o", "llama4"), (_GPT4O,)),
    "tekken": (_TEKKEN,),
}
_WHOLE_WORDS = ("llama-bpe", "llama3", "llama-v3", "tekken")  # a word that is a token stays one


def byte_level(
    tokens: Sequence[str], merges: Sequence[str], kinds: Sequence[int], words: str, name: str
) -> Tokenizer:
    """A byte-level BPE whose texts are first cut into words as the family of that name does."""
    if words not in _WORDS:
        raise EmbtieError(
            f"{name} cuts texts into words in the way '{words}', which is not known here.",
            "Name the model's Hugging Face folder or hub id, or give a ready count file.",
        )
    pairs = [_pair(merge, name) for merge in merges]
    vocabulary = {token: row for row, token in reversed(list(enumerate(tokens)))}
    try:
        model = models.BPE(vocabulary, pairs, ignore_merges=words in _WHOLE_WORDS)
    except Exception:  # the library raises bare exceptions
        raise _damaged(name) from None
    tokenizer = Tokenizer(model)
    splits = [pre_tokenizers.Split(Regex(part), "isolated") for part in _WORDS[words]]
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, last])
    return _with_special(tokenizer, tokens, kinds)


def sentencepiece(pieces: Pieces, name: str) -> Tokenizer:
    """A tokenizer that takes the pieces of a SentencePiece model as that would."""
    try:
        tokenizer = Tokenizer(_unigram(pieces) if pieces.unigram else _merging(pieces))
        if pieces.charsmap:
            own = normalizers.Precompiled(pieces.charsmap)
    except Exception:  # the library raises bare exceptions
        raise _damaged(name) from None
    steps: list[normalizers.Normalizer] = [own] if pieces.charsmap else []
    if pieces.squeeze:
        steps += [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    # Before a text that begins with a space too, as SentencePiece does.
    steps += [normalizers.Prepend(" ")] if pieces.prefix else []
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        SPACE_MARK, prepend_scheme="never", split=pieces.unigram
    )
    return _with_special(tokenizer, pieces.texts, pieces.kinds)


def _unigram(pieces: Pieces) -> models.Unigram:
    unknown = [row for row, kind in enumerate(pieces.kinds) if kind == UNKNOWN]
    scored = list(zip(pieces.texts, map(float, pieces.scores), strict=True))
    bytes_too = RAW_BYTE in pieces.kinds
    return models.Unigram(scored, unknown[0] if unknown else None, bytes_too)


def _merging(pieces: Pieces) -> models.BPE:
    vocabulary = {text: row for row, text in reversed(list(enumerate(pieces.texts)))}
    unknown = [t for t, kind in zip(pieces.texts, pieces.kinds, strict=True) if kind == UNKNOWN]
    return models.BPE(
        vocabulary,
        [(left, right) for *_, left, right in sorted(_splits(pieces, vocabulary))],
        unk_token=unknown[0] if unknown else None,
        fuse_unk=True,
        byte_fallback=RAW_BYTE in pieces.kinds,
    )


def _splits(
    pieces: Pieces, vocabulary: dict[str, int]
) -> Iterator[tuple[float, int, int, str, str]]:
    """Every way to merge two pieces into a third, in an order that puts the best score first."""
    usable = {
        text
        for text, kind in zip(pieces.texts, pieces.kinds, strict=True)
        if kind in (NORMAL, USER_DEFINED)
    }
    for text, score, kind in zip(pieces.texts, pieces.scores, pieces.kinds, strict=True):
        for cut in range(1, len(text) if kind == NORMAL else 0):
            left, right = text[:cut], text[cut:]
            if left in usable and right in usable:
                yield -score, vocabulary[left], vocabulary[right], left, right


def _with_special(tokenizer: Tokenizer, tokens: Sequence[str], kinds: Sequence[int]) -> Tokenizer:
    """Control tokens, and those of the user, are found in a text before it is cut."""
    known = list(zip(tokens, kinds, strict=False))
    tokenizer.add_special_tokens(
        [AddedToken(t, normalized=False) for t, k in known if k == CONTROL]
    )
    tokenizer.add_tokens([AddedToken(t, normalized=False) for t, k in known if k == USER_DEFINED])
    return tokenizer


def with_signs(tokenizer: Tokenizer, begin: str | None, end: str | None) -> Tokenizer:
    """Where special tokens are asked for, `begin` goes before each text and `end` after it."""
    known = [(sign, tokenizer.token_to_id(sign)) for sign in (begin, end) if sign is not None]
    if any(row is None for _, row in known):
        return tokenizer
    single = [*([begin] if begin is not None else []), "$A", *([end] if end is not None else [])]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=list(dict(known).items())
    )
    return tokenizer


def _pair(merge: str, name: str) -> tuple[str, str]:
    # A token never holds a plain space, but the two of a merge may be kept apart by one only.
    left, space, right = merge.partition(" ")
    if not (left and space and right):
        raise _damaged(name)
    return left, right


def _damaged(name: str) -> EmbtieError:
    return EmbtieError(f"The tokenizer of {name} is damaged.", "Download the file again.")
