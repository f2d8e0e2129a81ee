"""The tokenizer of a model, as it cuts a text into the tokens of its rows; none of its code runs.

Special tokens are added where they are asked for, and nothing is padded or cut off.
"""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from tokenizers import Tokenizer

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources import made_tokenizers, piece_files
from embtie_widgets.sources.files import Files, optional_json
from embtie_widgets.sources.library import transformers
from embtie_widgets.sources.load import Place, find, is_gguf
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.named_models import token_list_path
from embtie_widgets.sources.reading import read_json, read_whole

_READY = (
    "Choose a model that has its tokenizer, or, to count tokens alone, give a ready count file: "
    ".npy by row, .json, .csv or .tsv."
)
_SAVE = f"Save the tokenizer with transformers to get a tokenizer.json. {_READY}"
# What transformers may look at to make a tokenizer; of the configuration its kind alone.
_PARTS = re.compile(
    r"vocab\.(json|txt)|merges\.txt|added_tokens\.json|special_tokens_map\.json"
    r"|tokenizer_config\.json|config\.json"
)


@dataclass(frozen=True, eq=False)
class ModelTokenizer:
    """A tokenizer whose ids are row numbers of the model; two with one sha256 cut texts alike."""

    tokenizer: Tokenizer
    name: str

    @cached_property
    def sha256(self) -> str:
        """Of all that it consists of."""
        return hashlib.sha256(self.tokenizer.to_str().encode()).hexdigest()

    @cached_property
    def specials(self) -> dict[int, str]:
        """Special tokens by id, which a text turns into where it spells them; without the one for
        what is unknown, which no text need spell."""
        unknown = {"<unk>", "[UNK]", getattr(self.tokenizer.model, "unk_token", None)}
        added = self.tokenizer.get_added_tokens_decoder().items()
        return {i: t.content for i, t in added if t.special and t.content not in unknown}

    def letters(self, ids: Iterable[int]) -> int:
        """How many characters of a text these ids stand for, special tokens left out."""
        return len(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def encode(self, texts: list[str], special: bool = False) -> list[list[int]]:
        """The ids of each text, on all processors; `special` adds to each what the model is used
        to see around a text, such as a sign where it begins."""
        try:
            found = self.tokenizer.encode_batch_fast(texts, add_special_tokens=special)
        except Exception:  # the library raises bare exceptions
            raise EmbtieError(
                f"The tokenizer of {self.name} fails on this text: it has no token for a part of "
                "it.",
                _READY,
            ) from None
        return [encoding.ids for encoding in found]

    def placed(self, text: str) -> tuple[list[int], list[int]]:
        """The ids of a text, and at which of its letters each begins."""
        self.encode([text])  # what it cannot cut is told in words
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        return encoding.ids, [start for start, _ in encoding.offsets]


_known: WeakKeyDictionary[Loaded, ModelTokenizer] = WeakKeyDictionary()


def tokenizer_of(model: ModelRef | Loaded, progress: Progress = silent) -> ModelTokenizer:
    """The model's own tokenizer; an EmbtieError where there is none that can be read.

    From the hub come its tokenizer files alone, at the commit that the model was loaded from.
    That of a loaded model is read once.
    """
    if not isinstance(model, Loaded):
        return _read(model, progress)
    if model not in _known:
        _known[model] = _read(model, progress)
    return _known[model]


def _read(model: ModelRef | Loaded, progress: Progress) -> ModelTokenizer:
    ref = model if isinstance(model, ModelRef) else model.origin
    if ref is None:
        raise EmbtieError("A model in memory brings no tokenizer that could cut texts.", _READY)
    if ref.tokens_file is not None:
        return _of_token_file(token_list_path(ref.tokens_file, ref.ref))
    place = find(ref.ref, ref.revision, progress)
    commit = model.revision if isinstance(model, Loaded) else None
    if isinstance(place, Place) and commit not in (None, place.revision):
        place = find(ref.ref, commit, progress)
    if isinstance(place, Place):
        return of_files(place.files)
    if not is_gguf(place):
        raise EmbtieError(f"{place.name} holds matrices and no tokenizer.", _READY)
    known = place.stat()
    return ModelTokenizer(_of_gguf(place, known.st_size, known.st_mtime_ns), place.name)


def of_files(files: Files) -> ModelTokenizer:
    """From the tokenizer files of a checkpoint; no others are fetched."""
    names = files.names()
    if "tokenizer.json" in names:
        made = _of_json(files.path("tokenizer.json"), files.name)
    elif "tokenizer.model" in names:
        made = _with_habit(_of_pieces(files.path("tokenizer.model"), files.name), files)
    elif names & {"vocab.json", "vocab.txt"}:
        made = _converted(files)
    else:
        raise EmbtieError(f"'{files.name}' has no tokenizer files that are read.", _SAVE)
    return ModelTokenizer(_plain(made), files.name)


@lru_cache(maxsize=2)
def _of_gguf(path: Path, _size: int, _time: int) -> Tokenizer:
    # The reader is heavy to import and few need it.
    from embtie_widgets.sources.gguf_file import gguf_tokenizer

    return gguf_tokenizer(path)


def _of_token_file(path: Path) -> ModelTokenizer:
    """A file of tokens that was given for the model may be a whole tokenizer."""
    value = read_json(path) if path.suffix == ".json" else None
    if not (isinstance(value, dict) and isinstance(value.get("model"), dict)):
        raise EmbtieError(
            f"{path.name} lists the tokens of the model, which does not say how it cuts texts.",
            f"Give its tokenizer.json in that place. {_READY}",
        )
    return ModelTokenizer(_plain(_of_json(path, path.name)), path.name)


def _of_json(path: Path, name: str) -> Tokenizer:
    raw = read_whole(path)
    try:
        return Tokenizer.from_buffer(raw)
    except Exception:  # the library raises bare exceptions
        raise EmbtieError(
            f"The {path.name} of '{name}' is damaged, or of a kind that the tokenizers library "
            "does not know.",
            f"Download it again. {_READY}",
        ) from None


def _of_pieces(path: Path, name: str) -> Tokenizer:
    """From a SentencePiece model; a file of ranks leaves out how a text is cut first."""
    data = read_whole(path)
    if piece_files.is_ranked(data):
        raise EmbtieError(f"{path.name} of '{name}' does not say how it cuts texts.", _SAVE)
    return made_tokenizers.sentencepiece(piece_files.scored_pieces(data, path.name), path.name)


def _with_habit(tokenizer: Tokenizer, files: Files) -> Tokenizer:
    """What the model is used to see around a text: as its settings say, else as Llama does it.

    Pieces do not say so themselves; a tokenizer.json does, and its settings are not asked.
    """
    try:
        value = optional_json(files, "tokenizer_config.json")
    except Interrupted:
        raise
    except EmbtieError:  # damaged settings cost the habit, not the tokenizer
        value = None
    settings = value if isinstance(value, Mapping) else {}
    signs = [
        _sign(settings.get(f"{name}_token", usual))
        if settings.get(f"add_{name}_token", begins)
        else None
        for name, usual, begins in (("bos", "<s>", True), ("eos", "</s>", False))
    ]
    return made_tokenizers.with_signs(tokenizer, *signs)


def _sign(told: Any) -> str | None:
    told = told.get("content") if isinstance(told, Mapping) else told
    return told if isinstance(told, str) else None


def _converted(files: Files) -> Tokenizer:
    """What transformers makes of older files, copied to a place where there is nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(_PARTS.fullmatch, files.names()):
            _copy(files.path(name), Path(folder) / name)
        try:
            made = transformers().AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
        except Exception:  # whatever these files make it stumble over
            raise EmbtieError(
                f"transformers cannot make a tokenizer of the files of '{files.name}'.", _SAVE
            ) from None
    backend = getattr(made, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise EmbtieError(
            f"The tokenizer of '{files.name}' runs in Python alone, which is not used here.", _SAVE
        )
    return backend


def _copy(source: Path, target: Path) -> None:
    """The file as it is; of a JSON object no mention of the repository's own code."""
    if source.name not in ("config.json", "tokenizer_config.json"):
        shutil.copyfile(source, target)
        return
    value: Any = read_json(source)
    known = value if isinstance(value, dict) else {}
    kept = {key: part for key, part in known.items() if key != "auto_map"}
    target.write_text(json.dumps(kept), encoding="utf-8")


def _plain(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
