"""The lenses that ship with the bundled pair, and how to make them again.

    python -m embtie_widgets.training.bundled_lenses [FOLDER]

writes lens-tied.safetensors and lens-untied.safetensors to FOLDER, by default to where the pair
lies, and notes them in its provenance.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from embtie_widgets import __version__
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import CorpusRef
from embtie_widgets.sources.models import open_model
from embtie_widgets.sources.passages import read_pieces
from embtie_widgets.training.lens import train_translators
from embtie_widgets.training.nano import BUNDLED
from embtie_widgets.training.translators import Translators

COMMAND = "python -m embtie_widgets.training.bundled_lenses"
STEPS, TOKENS_PER_STEP, LENGTH = 60, 1024, 128
TRAIN_TOKENS, HELD_TOKENS = 50_000, 2_000


def train_bundled(
    kind: str, steps: int = STEPS, train_tokens: int = TRAIN_TOKENS, progress: Progress = silent
) -> Translators:
    """The lens of nano-tied or nano-untied, trained on the text that the pair learned from."""
    opened = open_model(f"nano-{kind}", device="cpu", precision="float32")
    held, pieces = read_pieces(
        CorpusRef(""), "", opened.tokenizer,
        length=LENGTH, tokens=HELD_TOKENS, train_tokens=train_tokens,
    )  # fmt: skip
    made = train_translators(
        opened.model, pieces, steps,
        held=held, tokens_per_step=TOKENS_PER_STEP, device="cpu", progress=progress,
    )  # fmt: skip
    about = {
        "model": opened.name,
        "text": pieces.name,
        "length": LENGTH,
        "held_text": held.name,
        "command": COMMAND,
        "embtie": __version__,
    }
    hashes = {**made.hashes, "model": opened.hashes["model"], "held_text": held.sha256}
    return replace(made, settings=made.settings | about, hashes=hashes)


def write_bundled(
    folder: Path, kinds: Sequence[str] = ("tied", "untied"), progress: Progress = silent
) -> None:
    """Both lenses into `folder`; where a provenance file lies there, their hashes into it."""
    record = folder / "provenance.json"
    known = json.loads(record.read_text(encoding="utf-8")) if record.exists() else None
    for kind in kinds:
        path = train_bundled(kind, progress=progress).save(folder / f"lens-{kind}.safetensors")
        if known is not None:
            known["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    if known is not None:
        known["lenses"] = {"command": COMMAND}
        known["files"] = dict(sorted(known["files"].items()))
        record.write_text(json.dumps(known, indent=1), encoding="utf-8")


def _told(stage: str, done: int, total: int) -> None:
    if done % 50 == 0:
        print(f"{stage}: {done} of {total}", flush=True)


if __name__ == "__main__":
    write_bundled(Path(sys.argv[1]) if len(sys.argv) > 1 else BUNDLED, progress=_told)
