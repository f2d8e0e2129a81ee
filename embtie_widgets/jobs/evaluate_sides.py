"""One model of an evaluation before it is opened, and how it begins a text."""

from dataclasses import dataclass
from typing import Any

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs import lens_cost
from embtie_widgets.jobs.lens_sides import key_of
from embtie_widgets.progress import Progress
from embtie_widgets.requests import ModelRef
from embtie_widgets.requests.evaluate import EvaluateRequest
from embtie_widgets.sources.models import OpenModel, model_hash, sizes_of
from embtie_widgets.sources.named_models import model_path
from embtie_widgets.sources.passages import habit
from embtie_widgets.sources.tokenizing import ModelTokenizer, tokenizer_of
from embtie_widgets.training.run_store import MANIFEST

SIDES = ("A", "B")


@dataclass(frozen=True)
class Side:
    """One of the two models: `hash` is of its weights and configuration, `layers` their number."""

    side: str
    ref: ModelRef
    hash: str
    layers: int
    tokenizer: ModelTokenizer

    @property
    def hashes(self) -> dict[str, str]:
        """What its numbers depend on, by name."""
        return {
            f"model {self.side}": self.hash,
            f"tokenizer {self.side}": self.tokenizer.sha256,
        }

    def key(self, request: EvaluateRequest, task: str, material: str, facts: Any) -> str:
        """The name under which its answers to a task are kept, whatever the other model is;
        `material` is the hash of the items."""
        held = (request.precision, request.device)
        own = (self.hash, self.tokenizer.sha256)
        return key_of("evaluate", self.ref.to_dict(), own, held, task, material, facts)


def prepare(request: EvaluateRequest, progress: Progress) -> list[Side]:
    """Both sides; raises what one of them lacks."""
    return [_side(getattr(request, name.lower()), name, progress) for name in SIDES]


def _refuse_bare_runs(ref: ModelRef) -> None:
    """A run that is still growing, or was only recorded, has matrices and no whole model."""
    folder = model_path(ref.ref)
    if (folder / MANIFEST).is_file() and not (folder / "config.json").is_file():
        raise EmbtieError(
            f"'{folder.name}' is a run that holds numbers and matrices, not the whole model.",
            "A run that embtie trains holds its model once it is done. Of one that was recorded, "
            "save the model too (trainer.save_model) and name that folder.",
        )


def _side(ref: ModelRef, name: str, progress: Progress) -> Side:
    _refuse_bare_runs(ref)
    sizes = sizes_of(ref, progress)
    lens_cost.saw(ref, sizes)
    try:
        tokenizer = tokenizer_of(ref, progress)
    except Interrupted:
        raise
    except EmbtieError as error:
        raise EmbtieError(
            error.message,
            "Texts and questions are read by the model's own tokenizer: put it beside the model.",
        ) from None
    progress("looking for an earlier result", 0, 1)
    return Side(name, ref, model_hash(ref, progress), sizes["layers"], tokenizer)


def opening(opened: OpenModel, tokenizer: ModelTokenizer) -> list[int]:
    """The ids that a model is given before a text: those of its habit, else the sign with which its
    configuration begins or ends texts; none where there is no such sign."""
    usual = habit(tokenizer)
    if usual:
        return usual
    config = opened.model.config.get_text_config()
    rows = len(opened.model.get_input_embeddings().weight)
    signs = (getattr(config, name, None) for name in ("bos_token_id", "eos_token_id"))
    return [i for i in signs if isinstance(i, int) and 0 <= i < rows][:1]
