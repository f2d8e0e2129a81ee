"""Texts of the hub's data sets, streamed by the optional `datasets` library, which runs none of
their code."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import CorpusRef
from embtie_widgets.requests.corpus import DATASETS
from embtie_widgets.requests.fields import short
from embtie_widgets.sources.paths import local_path
from embtie_widgets.sources.permission import check_dataset, is_served
from embtie_widgets.sources.texts import Chunk, text_in

_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
_WITHOUT_CODE = 4  # from this version on the library runs none
_INSTALL = "Install it with: pip install 'embtie[corpora]'"
_FORM = f"Write {DATASETS}OWNER/NAME or {DATASETS}OWNER/NAME:SUBSET, as the hub has it."


def name_of(corpus: CorpusRef) -> tuple[str, str | None]:
    """Name and subset; an EmbtieError for what is neither a data set's id nor a local folder.

    For a visitor no folder of the server is looked for: the words would say which are there.
    """
    check_dataset()
    name, _, subset = corpus.ref.removeprefix(DATASETS).partition(":")
    may_be_folder = name != "" and not is_served()
    if not (_NAME.fullmatch(name) or (may_be_folder and local_path(name).is_dir())):
        raise EmbtieError(f"{short(name)} names no data set.", _FORM)
    check_dataset(name)
    return name, subset or None


def commit_of(name: str) -> str:
    """The commit that a data set of the hub is at; "" where that cannot be told."""
    import huggingface_hub

    try:
        return str(huggingface_hub.HfApi().dataset_info(name).sha or "")
    except Exception:  # the library that streams it tells what is wrong
        return ""


def stream(corpus: CorpusRef, commit: str) -> Iterator[Chunk]:
    """A document for every row of the split; a row whose text is null has none."""
    name, subset = name_of(corpus)
    load = _loader()
    read = 0
    try:
        rows = load(
            str(local_path(name)) if local_path(name).is_dir() else name,
            subset,
            split=corpus.split,
            streaming=True,
            **({"revision": commit} if commit else {}),
        )
        for number, row in enumerate(rows, 1):
            text = text_in(row, corpus.column, f"Row {number:,} of '{_short_name(name)}'")
            if text is not None:
                read += len(text.encode())
                yield Chunk(text, True, read)
    except EmbtieError:
        raise
    except Exception as error:  # the library and what it stands on raise almost anything
        raise _explained(error, _short_name(name), corpus) from None


def _loader() -> Any:
    try:
        import datasets
    except ImportError:
        raise EmbtieError(
            "Data sets are read by the library `datasets`, which is not installed.", _INSTALL
        ) from None
    if int(datasets.__version__.partition(".")[0]) < _WITHOUT_CODE:
        raise EmbtieError(
            f"The library `datasets` {datasets.__version__} may run a data set's own code.",
            _INSTALL,
        )
    return datasets.load_dataset


def _short_name(name: str) -> str:
    return Path(name).name if local_path(name).is_dir() else name


def _explained(error: Exception, name: str, corpus: CorpusRef) -> EmbtieError:
    """What the library's words come down to; its own hold paths and addresses."""
    words, kind = str(error), type(error).__name__
    if "Config name is missing" in words or "BuilderConfig" in words:
        known = ", ".join(re.findall(r"'([\w.-]{1,60})'", words)[:8])
        return EmbtieError(
            f"'{name}' has several subsets, and none of them was named rightly.",
            f"Name one: {DATASETS}{name}:SUBSET. It has: {known}.",
        )
    if kind == "DatasetNotFoundError":
        return EmbtieError(
            f"There is no public data set '{name}' on the hub.",
            "Check the spelling; if it is gated or private, sign in with 'hf auth login'.",
        )
    if "scripts are no longer supported" in words:
        return EmbtieError(
            f"'{name}' consists of code, which is not run.",
            "Choose a copy of it that holds plain files, such as parquet.",
        )
    if "split" in words.lower():
        return EmbtieError(f"'{name}' has no split {short(corpus.split)}.", "Name another split.")
    if kind in ("DataFilesNotFoundError", "EmptyDatasetError"):
        return EmbtieError(f"'{name}' holds no data files that are read.", "Choose another.")
    if isinstance(error, ConnectionError | TimeoutError) or _is_of_network(error):
        offline = "offline, name a text file or the corpus 'bundled'."
        return EmbtieError(f"The hub cannot be reached for '{name}'.", f"Check it; {offline}")
    return EmbtieError(
        f"The data set '{name}' cannot be read ({kind}).", "Choose another, or a text file."
    )


def _is_of_network(error: Exception) -> bool:
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return bool(modules & {"requests", "httpx", "aiohttp", "urllib3"}) or "offline" in str(error)
