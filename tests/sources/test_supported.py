"""Every family of the table, proven on a small model with random weights.

The table that comes with the package is what these tests find.  The common families and the odd
ones are tried on every change, all with `-m slow`.  This writes the table anew, with every family
that the installed transformers has and that can be made small:

    EMBTIE_WRITE_ARCHITECTURES=1 pytest tests/sources/test_supported.py
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import embtie_widgets as ew
from embtie_widgets.results.families import SupportedFamily
from embtie_widgets.sources import families
from embtie_widgets.sources.architecture import Layout, resolve
from embtie_widgets.sources.checkpoint import Checkpoint
from embtie_widgets.sources.configuration import levels
from embtie_widgets.sources.files import FolderFiles
from embtie_widgets.sources.live import layout_of
from embtie_widgets.sources.readout import Readout, measure_readout
from embtie_widgets.sources.scales import fields_of
from tests.sources.tiny import WRITING, all_kinds, class_name, tiny

SLOW = pytest.mark.slow
TABLE = Path(families.__file__).parents[1] / "data" / families.TABLE
COMMON = """
gpt2 gpt_neo gpt_neox gptj opt bloom falcon mpt mamba mamba2 rwkv phi phi3 olmo olmo2 olmoe llama
mistral mixtral qwen2 qwen2_moe qwen3 qwen3_moe gemma gemma2 gemma3_text cohere cohere2 granite
stablelm starcoder2 codegen biogpt xglm smollm3 glm glm4 nemotron persimmon jamba recurrent_gemma
deepseek_v3 helium ernie4_5 exaone4 t5 bart bert roberta gemma3 llava qwen2_vl
"""
ODD = """
aya_vision bigbird_pegasus dbrx deepseek_v4 distilbert dory exaone falcon_h1 fsmt
gemma4_text hrm_text hyperclovax ibert lfm2 lfm3_vl marian minicpm3 nanochat openai-gpt prophetnet
qianfan_ocr rembert seamless_m4t squeezebert ultrabert whisper xlnet xlstm
"""
KNOWN = all_kinds() if WRITING else [row.family for row in families.packaged()]
OFTEN = set(KNOWN) if WRITING else {*COMMON.split(), *ODD.split()}
KINDS = [pytest.param(kind, marks=() if kind in OFTEN else SLOW) for kind in KNOWN]
ROWS: dict[str, SupportedFamily] = {}


@dataclass(frozen=True)
class Case:
    """A family's model and the folder that it was saved to."""

    kind: str
    model: Any
    folder: Path

    @property
    def shared(self) -> bool:
        """Whether the library really ties it: some families ignore the flag."""
        return bool(decoder_table(self.model).data_ptr() == head(self.model).data_ptr())

    @cached_property
    def stored(self) -> Layout:
        config = json.loads((self.folder / "config.json").read_text())
        return resolve(config, Checkpoint(FolderFiles(self.folder)))


@pytest.fixture(scope="session", autouse=True)
def quiet() -> Iterator[None]:
    hf.utils.logging.disable_progress_bar()
    yield
    if WRITING:
        rows = [asdict(ROWS[kind]) for kind in sorted(ROWS)]
        TABLE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    hf.utils.logging.enable_progress_bar()


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Any:
    @cache
    def made(kind: str, tied: bool) -> Case:
        if kind not in CONFIG_MAPPING:
            pytest.skip(f"the installed transformers has no {kind}")
        try:
            model = tiny(kind, tied)
            measured(model)
        except Exception as error:
            if not WRITING and "not supported" not in str(error):
                raise
            pytest.skip(f"{kind} is not made small: {error}")
        folder = tmp_path_factory.mktemp(kind)
        model.save_pretrained(folder)
        return Case(kind, model, folder)

    return made


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("kind", KINDS)
def test_file_and_model_give_the_same_matrices_and_status(
    make: Any, tmp_path: Path, kind: str, tied: bool
) -> None:
    case = make(kind, tied)
    case.model.save_pretrained(tmp_path, max_shard_size="4KB")
    status = "tied" if case.shared else "untied"
    for source in (case.folder, tmp_path, case.model):
        loaded = ew.load(source)
        assert loaded.tied == status
        assert torch.equal(loaded.input, decoder_table(case.model))
        assert torch.equal(loaded.output, head(case.model))


def decoder_table(model: Any) -> Any:
    part = model.get_decoder() if model.config.is_encoder_decoder else model
    getter = getattr(part, "get_input_embeddings", lambda: part.embed_tokens)
    return getter().weight


def head(model: Any) -> Any:
    # One family gives its table for its head, tied or not.
    part = getattr(getattr(model, "model", None), "decoder", None)
    return getattr(part, "output_projection", model.get_output_embeddings()).weight


@pytest.mark.parametrize("kind", KINDS)
def test_file_and_model_go_by_the_same_names(make: Any, kind: str) -> None:
    case = make(kind, False)
    stored, alive = asdict(case.stored), asdict(layout_of(case.model))
    saved = Checkpoint(FolderFiles(case.folder))
    for role in ("input", "output", "final_norm"):
        # Some families are saved under other names than they have in memory, and some share
        # one matrix although they were asked not to.
        if alive[role] in saved:
            assert stored[role] == alive[role]
        elif role != "output" or not case.shared:
            assert (stored[role] is None) == (alive[role] is None)
    assert stored["layer_count"] == alive["layer_count"] > 0
    assert stored["scales"] == alive["scales"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_says_what_is_found(make: Any, kind: str) -> None:
    case = make(kind, False)
    layout, alive, readout = case.stored, layout_of(case.model), measured(case.model)
    row = SupportedFamily(
        family=kind,
        model=class_name(kind),
        input=layout.input or "",
        output=layout.output,
        output_bias=layout.output_bias,
        final_norm=layout.norm or alive.norm,
        layers=layout.layers,
        scales=fields_of(
            list(levels(case.model.config.to_dict())), families.exception(kind).scales
        ),
        tied_default=getattr(CONFIG_MAPPING[kind](), "tie_word_embeddings", None),
        readout="exact" if isinstance(readout, Readout) else "other",
        note=layout.note,
    )
    ROWS[kind] = row
    assert WRITING or row in families.packaged()


def scaling_fields(case: Case) -> tuple[str, ...]:
    config = case.model.config.to_dict()
    return fields_of(list(levels(config)), families.exception(case.kind).scales)


@cache
def measured(model: Any) -> Readout | None:
    try:
        return measure_readout(model)
    except ew.EmbtieError:
        return None


@pytest.mark.parametrize("kind", KINDS)
def test_norm_head_scale_and_cap_give_the_models_own_logits(make: Any, kind: str) -> None:
    case = make(kind, False)
    layout, readout = layout_of(case.model), measured(case.model)
    if readout is None:
        assert layout.note, "the registry must say what it does otherwise"
        return
    scales = layout.scales
    assert scales.hidden == pytest.approx(readout.hidden, rel=1e-4)
    assert scales.logits == pytest.approx(readout.logits, rel=1e-4)
    assert (scales.cap or 0) == pytest.approx(readout.cap or 0, rel=1e-4)
    last = layout.norm or f"{layout.layers}.{layout.layer_count - 1}"
    state, logits = watch(case.model, last)
    made = scales.hidden * state @ ew.load(case.folder).output.T + head_bias(case)
    made = scales.logits * made
    made = made if scales.cap is None else scales.cap * torch.tanh(made / scales.cap)
    assert torch.allclose(made, logits, atol=1e-4 * max(1.0, float(logits.abs().max())))


def head_bias(case: Case) -> Any:
    name = case.stored.output_bias
    return 0 if name is None else Checkpoint(FolderFiles(case.folder)).read(name)


def watch(model: Any, module: str) -> tuple[torch.Tensor, torch.Tensor]:
    """What the module hands on and what the model answers, on a few tokens."""
    seen: list[Any] = []
    handle = model.get_submodule(module).register_forward_hook(lambda *args: seen.append(args[2]))
    ids = torch.arange(4, 10)[None]
    both = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False, **both).logits
    handle.remove()
    state = seen[-1] if seen else logits
    return (state if isinstance(state, torch.Tensor) else state[0]), logits


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_block_is_given_rows_times_the_embedding_factor(make: Any, kind: str) -> None:
    model = make(kind, False).model
    layout, seen = layout_of(model), []
    first = model.get_submodule(f"{layout.layers}.0")
    first.register_forward_pre_hook(
        lambda _m, args, named: seen.extend(args[:1] or [named["hidden_states"]]),
        with_kwargs=True,
    )
    watch(model, f"{layout.layers}.0")
    if not seen:
        return  # the blocks are walked through otherwise
    rows = decoder_table(model)[torch.arange(4, 10)][None]
    factor = seen[0] / rows if seen[0].shape == rows.shape else torch.tensor([0.0, 1.0])
    # Many add positions, or a norm, and then there is no one factor.
    if factor.std() <= 1e-3 * factor.mean().abs():
        assert factor.mean().item() == pytest.approx(layout.scales.embedding, rel=1e-3)


def test_the_table_holds_the_common_families() -> None:
    known = {row.family for row in families.packaged()}
    assert {*COMMON.split(), *ODD.split()} <= known
