"""How tokenizers spell bytes: every family's tokens as the bytes they stand for."""

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from typing import Any

SPACE_MARK = "\u2581"
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")

_MARKUP = re.compile(r"[^\w\s].*\w.*[^\w\s]", re.DOTALL)
_USUAL = re.compile(rb"<\|[^\s|<>]+\|>|</?s>|<(unk|pad|mask|bos|eos)>|\[(PAD|UNK|CLS|SEP|MASK)\]")

Spelling = Callable[[str], tuple[bytes, bool]]
"""From a token's spelling to its bytes, and whether it is a raw byte of a byte fallback."""


def _byte_alphabet() -> dict[str, int]:
    """The printable stand-in of each byte in byte-level vocabularies, to the byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    stand_ins = {chr(byte): byte for byte in printable}
    return stand_ins | {chr(256 + place): byte for place, byte in enumerate(others)}


BYTE_ALPHABET = _byte_alphabet()


def utf8(text: str) -> bytes:
    """The text's bytes; lone surrogates keep their three-byte form instead of failing."""
    return text.encode("utf-8", errors="surrogatepass")


def plain(token: str) -> tuple[bytes, bool]:
    """The text as it stands."""
    return utf8(token), False


def byte_level(token: str) -> tuple[bytes, bool]:
    """The byte alphabet of GPT-2; anything outside it is plain text."""
    if all(sign in BYTE_ALPHABET for sign in token):
        return bytes(BYTE_ALPHABET[sign] for sign in token), False
    return plain(token)


def sentencepiece(token: str) -> tuple[bytes, bool]:
    """U+2581 is a space; <0x0A> is the byte."""
    found = _BYTE_TOKEN.fullmatch(token)
    if found:
        return bytes([int(found[1], 16)]), True
    return utf8(token.replace(SPACE_MARK, " ")), False


def added(base: Spelling) -> Spelling:
    """The spelling of added tokens: plain text, but runs of SentencePiece's mark are spaces."""

    def spelled(token: str) -> tuple[bytes, bool]:
        runs = base is sentencepiece and not token.strip(SPACE_MARK)
        return sentencepiece(token) if runs else plain(token)

    return spelled


def wordpiece(token: str, prefix: str = "##") -> tuple[bytes, bool]:
    """A word's beginning carries the space before it, as in the other families; ##ing does not."""
    if prefix and token.startswith(prefix) and token != prefix:
        return utf8(token.removeprefix(prefix)), False
    stands_alone = not token[:1].isalnum() or _is_ideograph(token[:1])
    return utf8(token if stands_alone else " " + token), False


def is_markup(token: str) -> bool:
    """Whether a token that was put in by hand is a sign of its own, as <tool_call> or [INST] is,
    and no word or space that the learned ones lack."""
    return _MARKUP.fullmatch(token) is not None


def is_usual_control(key: bytes) -> bool:
    """Whether it is spelled as control tokens usually are, for lists that name none."""
    return _USUAL.fullmatch(key) is not None


def with_word_end(base: Spelling, suffix: str) -> Spelling:
    """A spelling whose words end in a suffix such as </w>: a space after the word."""

    def spelled(token: str) -> tuple[bytes, bool]:
        if token.endswith(suffix) and token != suffix:
            return base(token.removesuffix(suffix))[0] + b" ", False
        return base(token)

    return spelled


def guess(tokens: Collection[str], strict: bool = False) -> Spelling:
    """The spelling that a bare list of tokens gives away; `strict` asks for whole alphabets."""
    held = set(tokens)
    if len(held & BYTE_ALPHABET.keys()) == 256:
        return byte_level
    if all(f"<0x{byte:02X}>" in held for byte in range(256)):
        return sentencepiece
    if strict:
        return plain
    if any(token.startswith(SPACE_MARK) for token in held):
        return sentencepiece
    marked = [token for token in held if token.startswith(("\u0120", "\u010a"))]
    if marked and all(all(sign in BYTE_ALPHABET for sign in token) for token in marked):
        return byte_level
    return plain


def declared(tokenizer: Mapping[str, Any]) -> Spelling:
    """The spelling that a tokenizer.json declares by its own steps."""
    model = tokenizer.get("model")
    model = model if isinstance(model, Mapping) else {}
    steps = set(_steps(tokenizer.get("pre_tokenizer"))) | set(_steps(tokenizer.get("decoder")))
    steps |= set(_steps(tokenizer.get("normalizer")))
    if model.get("type") == "WordPiece" or "WordPiece" in steps:
        prefix = model.get("continuing_subword_prefix")
        return lambda token: wordpiece(token, prefix if isinstance(prefix, str) else "##")
    base: Spelling = plain
    if "ByteLevel" in steps:
        base = byte_level
    elif model.get("byte_fallback") or steps & {"Metaspace", "ByteFallback", "marks spaces"}:
        base = sentencepiece
    elif not steps or model.get("type") == "Unigram":
        base = guess(_texts(model.get("vocab")))
    suffix = model.get("end_of_word_suffix")
    return with_word_end(base, suffix) if isinstance(suffix, str) and suffix else base


def _steps(step: Any, deepest: int = 4) -> list[str]:
    """The type names of a step and of the steps inside it."""
    if not isinstance(step, Mapping) or not deepest:
        return []
    inner: list[Any] = []
    for key in ("pretokenizers", "decoders", "normalizers"):
        inner += step[key] if isinstance(step.get(key), list) else []
    names = [str(step.get("type"))]
    if step.get("type") == "Replace" and SPACE_MARK in (step.get("content"), _pattern(step)):
        names.append("marks spaces")
    return names + [name for part in inner for name in _steps(part, deepest - 1)]


def _pattern(step: Mapping[str, Any]) -> Any:
    pattern = step.get("pattern")
    return pattern.get("String") if isinstance(pattern, Mapping) else pattern


def _texts(vocab: Any) -> list[str]:
    if isinstance(vocab, Mapping):
        return [str(token) for token in vocab]
    return [str(entry[0]) for entry in vocab or [] if isinstance(entry, list | tuple) and entry]


def _is_ideograph(sign: str) -> bool:
    return bool(sign) and unicodedata.name(sign, "").startswith("CJK")
