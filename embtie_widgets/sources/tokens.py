"""Which token owns which row: byte keys by row, from whatever describes the vocabulary."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.progress import Progress, silent
from embtie_widgets.sources import piece_files, spelling
from embtie_widgets.sources.files import Files, optional_json
from embtie_widgets.sources.paths import local_path
from embtie_widgets.sources.reading import read_json, read_whole
from embtie_widgets.sources.spelling import Spelling

Item = TypeVar("Item")

_EXPECTED = (
    "Expected a list of tokens, a mapping from token to row, a tokenizer, or a .txt or .json file."
)
# So many tokens are read between two reports.
_STAGE, _TOLD = "reading tokens", 2**15
_PIECE_FILE = re.compile(r"tekken\.json|.*\.(model|tiktoken|spm)|tokenizer\.model\..*")


@dataclass
class Added:
    """Tokens that were put in by hand, each with its row, and those marked as special."""

    tokens: Sequence[tuple[str, Any]] = ()
    marked: set[str] = field(default_factory=set)

    def is_special(self, token: str) -> bool:
        """Whether it is marked so, or else is a sign of its own and no word or space."""
        return token in self.marked or spelling.is_markup(token)


@dataclass
class Vocabulary:
    """Byte keys by row, by id and not by count: ids may have holes.

    `byte_rows` are raw bytes of a byte fallback, kept apart from text with the same byte;
    `special` are control tokens, and signs that were put in by hand.
    """

    keys: dict[int, bytes] = field(default_factory=dict)
    byte_rows: set[int] = field(default_factory=set)
    special: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def add(self, token: str | bytes, row: Any, spelled: Spelling) -> None:
        """Give the row to the token; a later one replaces an earlier one of the same row."""
        _check_row(row)
        key, raw = (token, False) if isinstance(token, bytes) else spelled(token)
        self.keys[row] = key
        (self.byte_rows.add if raw else self.byte_rows.discard)(row)
        self.special.discard(row)

    @property
    def special_rows(self) -> frozenset[int]:
        """The special rows; where the list names none, those that are spelled as one."""
        usual = (row for row, key in self.keys.items() if spelling.is_usual_control(key))
        return frozenset(self.special or usual)

    def by_row(self, rows: int) -> list[bytes | None]:
        """`rows` keys, None where no token owns the row."""
        return [self.keys.get(row) for row in range(rows)]


def read_vocabulary(source: Any, progress: Progress = silent) -> Vocabulary:
    """From a list, a mapping token -> row, a tokenizer object, or the path of a file."""
    if isinstance(source, Vocabulary):
        return source
    if isinstance(source, str | Path):
        return _from_file(local_path(source), progress)
    if isinstance(source, Mapping):
        return from_value(source, progress)
    if isinstance(source, list | tuple):
        return from_list(source, progress)
    return _from_object(source, progress)


def of_checkpoint(files: Files, progress: Progress = silent) -> Vocabulary | None:
    """The tokens of a checkpoint's own tokenizer files; None where it has none.

    A damaged tokenizer costs the token texts, not the matrices: it is noted.
    """
    try:
        found = _of_checkpoint(files, progress)
    except Interrupted:
        raise
    except EmbtieError as error:
        return Vocabulary(notes=[f"Tokens are not shown: {error.message}"])
    if found is not None and not found.keys and not found.notes:
        found.notes.append("Tokens are not shown: the tokenizer's files hold none.")
    return found


def from_value(value: Any, progress: Progress = silent) -> Vocabulary:
    """From parsed JSON: a tokenizer.json, a vocabulary token -> row, or a list by row."""
    if isinstance(value, Mapping) and isinstance(value.get("model"), Mapping):
        return _from_tokenizer_json(value, progress)
    if isinstance(value, Mapping):
        return _from_mapping(value, Added(), progress)
    if isinstance(value, list | tuple):
        return from_list(value, progress)
    raise EmbtieError("The token file holds neither a list nor a mapping.", _EXPECTED)


def from_list(tokens: Iterable[str | bytes | None], progress: Progress = silent) -> Vocabulary:
    """By position; None is a row without token, text is taken as it stands.

    Only a list that holds a whole byte alphabet is read as that tokenizer's spelling.
    """
    listed = list(tokens)
    _check_tokens(token for token in listed if token is not None)
    spelled = spelling.guess([t for t in listed if isinstance(t, str)], strict=True)
    vocabulary = Vocabulary()
    for row, token in enumerate(_told(listed, progress)):
        if token is not None:
            vocabulary.add(token, row, spelled)
    return vocabulary


def _of_checkpoint(files: Files, progress: Progress) -> Vocabulary | None:
    progress(_STAGE, 0, 1)
    tokenizer = optional_json(files, "tokenizer.json")
    if tokenizer is not None:
        return _with_listed(from_value(tokenizer, progress), files)
    vocab = optional_json(files, "vocab.json")
    if isinstance(vocab, Mapping):
        return _from_mapping(vocab, _added(files), progress)
    if "vocab.txt" in files.names():
        lines = _lines(files.path("vocab.txt"))
        vocabulary = Vocabulary()
        for row, line in enumerate(lines):
            vocabulary.add(line.decode("utf-8", errors="replace"), row, spelling.wordpiece)
        return _with_listed(vocabulary, files)
    known = sorted(name for name in files.names() if _PIECE_FILE.fullmatch(name))
    return _of_pieces(files, known[0]) if known else None


def _of_pieces(files: Files, name: str) -> Vocabulary:
    """From a file of pieces; of some families rows are shifted, so only the sure ones are read."""
    if name != "tokenizer.model" and not name.endswith(".tiktoken"):
        return Vocabulary(
            notes=[
                f"Tokens are not shown: {name} is not read. Save the tokenizer with transformers "
                "to get a tokenizer.json, or give a token list."
            ]
        )
    path = files.path(name)
    data = read_whole(path)
    vocabulary = Vocabulary()
    if piece_files.is_ranked(data):
        vocabulary.keys |= piece_files.ranked(data, name)
    else:
        for row, (key, kind) in enumerate(piece_files.pieces(data, name)):
            vocabulary.keys[row] = key
            vocabulary.byte_rows |= {row} if kind == piece_files.RAW_BYTE else set()
            vocabulary.special |= {row} if piece_files.is_special(key, kind) else set()
    vocabulary.notes.append(
        f"Tokens are those of {name}; special tokens that only the model's code names have none."
    )
    return _with_listed(vocabulary, files)


def _with_listed(vocabulary: Vocabulary, files: Files) -> Vocabulary:
    """With what is listed beside the tokenizer, where neither token nor row is taken."""
    try:
        added = _added(files)
        for _, row in added.tokens:
            _check_row(row)
    except EmbtieError as error:
        vocabulary.notes.append(f"Tokens added beside the tokenizer are not shown: {error.message}")
        return vocabulary
    taken = set(vocabulary.keys.values())
    for token, row in added.tokens:
        key = spelling.utf8(token)
        if row not in vocabulary.keys and key not in taken:
            vocabulary.add(token, row, spelling.plain)
        if vocabulary.keys.get(row) == key and added.is_special(token):
            vocabulary.special.add(row)
    return vocabulary


def _added(files: Files) -> Added:
    added = optional_json(files, "added_tokens.json")
    found = dict(added) if isinstance(added, Mapping) else {}
    marked = set()
    settings = optional_json(files, "tokenizer_config.json")
    decoder = settings.get("added_tokens_decoder") if isinstance(settings, Mapping) else None
    for row, entry in decoder.items() if isinstance(decoder, Mapping) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("content"), str) and row.isdigit():
            found[entry["content"]] = int(row)
            marked |= {entry["content"]} if entry.get("special") else set()
    return Added(list(found.items()), marked)


def _from_tokenizer_json(tokenizer: Mapping[str, Any], progress: Progress) -> Vocabulary:
    vocab = tokenizer["model"].get("vocab")
    if isinstance(vocab, Mapping):
        pairs = list(vocab.items())
    elif isinstance(vocab, list):
        texts = [entry[0] if isinstance(entry, list | tuple) and entry else None for entry in vocab]
        pairs = [(text, row) for row, text in enumerate(texts)]
    else:
        raise EmbtieError("tokenizer.json holds no vocabulary.", "Download it again.")
    _check_tokens(token for token, _ in pairs)
    vocabulary, spelled = Vocabulary(), spelling.declared(tokenizer)
    for token, row in _told(pairs, progress):
        vocabulary.add(token, row, spelled)
    listed = tokenizer.get("added_tokens")
    entries = [e for e in listed if isinstance(e, Mapping)] if isinstance(listed, list) else []
    named = [entry for entry in entries if isinstance(entry.get("content"), str)]
    added = Added(
        [(entry["content"], entry.get("id")) for entry in named],
        {entry["content"] for entry in named if entry.get("special")},
    )
    learned = {row: token for token, row in pairs}
    vocabulary.notes += _displaced(len(pairs) - len(learned))
    return _with_added(vocabulary, added, spelling.added(spelled), learned)


def _from_mapping(vocab: Mapping[Any, Any], added: Added, progress: Progress) -> Vocabulary:
    _check_tokens(vocab)
    spelled = spelling.guess([token for token in vocab if isinstance(token, str)])
    vocabulary = Vocabulary()
    learned: dict[Any, Any] = {}
    displaced, by_hand = 0, {token for token, _ in added.tokens}
    for token, row in _told(list(vocab.items()), progress):
        _check_row(row)
        # Where two tokens claim one row the first stays, so that the order of a file decides.
        if isinstance(token, str) and token in by_hand:
            continue
        if row in learned:
            displaced += 1
        else:
            vocabulary.add(token, row, spelled)
            learned[row] = token
    vocabulary.notes += _displaced(displaced)
    return _with_added(vocabulary, added, spelling.added(spelled), learned)


def _displaced(count: int) -> list[str]:
    if not count:
        return []
    tokens = "1 token was" if count == 1 else f"{count} tokens were"
    return [f"{tokens} left out: another token has the same row."]


def _with_added(
    vocabulary: Vocabulary,
    added: Added,
    spelled: Spelling,
    learned: Mapping[Any, Any],
) -> Vocabulary:
    """Added tokens never drive out another token that was learned."""
    claims = 0
    for token, row in added.tokens:
        _check_row(row)
        if learned.get(row, token) == token:
            vocabulary.add(token, row, spelled)
            vocabulary.special |= {row} if added.is_special(token) else set()
        else:
            claims += 1
    if claims:
        vocabulary.notes.append(f"{claims} added tokens claim a row that a learned token owns.")
    return vocabulary


def _told(items: Sequence[Item], progress: Progress) -> Iterator[Item]:
    """The items in turn, and from time to time how many have been read."""
    for place, item in enumerate(items):
        if place % _TOLD == 0:
            progress(_STAGE, place, len(items))
        yield item


def _from_object(tokenizer: Any, progress: Progress) -> Vocabulary:
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if callable(to_str := getattr(backend, "to_str", None)):
        return from_value(json.loads(to_str()), progress)
    get_vocab: Callable[[], Any] | None = getattr(tokenizer, "get_vocab", None)
    vocab = get_vocab() if callable(get_vocab) else None
    if not isinstance(vocab, Mapping):
        raise EmbtieError(f"No tokens can be read from a {type(tokenizer).__name__}.", _EXPECTED)
    get_added: Callable[[], Any] | None = getattr(tokenizer, "get_added_vocab", None)
    added = get_added() if callable(get_added) else None
    by_hand = list(added.items()) if isinstance(added, Mapping) else []
    marked = set(getattr(tokenizer, "all_special_tokens", ()))
    return _from_mapping(vocab, Added(by_hand, marked), progress)


def _from_file(path: Path, progress: Progress) -> Vocabulary:
    if path.suffix == ".json":
        return from_value(read_json(path), progress)
    if path.suffix == ".txt":
        lines = _lines(path)
        return from_list([line or None for line in lines], progress)
    raise EmbtieError(f"'{path.name}' is no token list that embtie reads.", _EXPECTED)


def _lines(path: Path) -> list[bytes]:
    """The lines' own bytes; an empty line is a row without token."""
    lines = read_whole(path).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if lines and all(line.endswith(b"\r") for line in lines):
        return [line[:-1] for line in lines]
    return lines


def _check_row(row: Any) -> None:
    if not isinstance(row, int) or isinstance(row, bool) or row < 0:
        raise EmbtieError("A token's row is not a whole number from 0 on.", _EXPECTED)


def _check_tokens(tokens: Iterable[Any]) -> None:
    if not all(isinstance(token, str | bytes) for token in tokens):
        raise EmbtieError("A token is neither text nor bytes.", _EXPECTED)
