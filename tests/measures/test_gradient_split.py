"""The split of a loaded model's gradient: laws, against autograd, differences and a hand's work."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from torch.nn import functional

import embtie_widgets as ew
from embtie_widgets.measures.gradient_split import gradient_split
from embtie_widgets.measures.predicted import IGNORED
from embtie_widgets.sources.model_hash import state_hash
from tests.measures.lens_models import FAMILIES, in_float64
from tests.sources.models import llama, randomised
from tests.sources.tiny import configuration, tiny

IDS = torch.tensor([[3, 5, 7, 5, 9, 11], [4, 4, 4, 8, 30, 3]])
ABSENT = sorted(set(range(32)) - set(IDS.flatten().tolist()))


def loss_of(model: Any, ids: torch.Tensor = IDS, labels: torch.Tensor | None = None) -> Any:
    """Mean next-token cross-entropy by the plain definition."""
    logits = model(input_ids=ids, use_cache=False).logits
    wide = logits if logits.dtype == torch.float64 else logits.float()
    follow = (ids if labels is None else labels)[:, 1:].reshape(-1)
    return functional.cross_entropy(wide[:, :-1].flatten(0, 1), follow, ignore_index=IGNORED)


def two_copies(model: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients in both places of a model whose matrix was given to each as its own."""
    both = copy.deepcopy(model)
    for module in (both.get_input_embeddings(), both.get_output_embeddings()):
        module.weight = torch.nn.Parameter(module.weight.detach().clone())
    E, U = both.get_input_embeddings().weight, both.get_output_embeddings().weight
    assert E is not U
    return torch.autograd.grad(loss_of(both), [E, U])


def close(a: torch.Tensor, b: torch.Tensor, step: float) -> bool:
    return float((a - b).norm()) <= step * float(b.norm())


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_parts_are_the_gradients_of_two_copies(kind: str) -> None:
    model = tiny(kind, True)
    split, (g_in, g_out) = gradient_split(model, IDS), two_copies(model)
    assert close(split.input, g_in, 2e-5)
    assert close(split.output, g_out, 2e-5)
    assert torch.equal(split.total, split.input + split.output)
    assert split.loss == pytest.approx(loss_of(model).item(), rel=1e-6)
    assert split.check < 1e-5


# Others take their norms in float32, whatever the model's type.
@pytest.mark.parametrize("kind", ["gpt2", "gpt_neox", "gptj", "opt", "codegen", "falcon"])
def test_in_float64_they_are_exact_and_sum_to_the_tied_gradient(kind: str) -> None:
    model = in_float64(tiny(kind, True))
    weight = model.get_input_embeddings().weight
    split, (g_in, g_out) = gradient_split(model, IDS), two_copies(model)
    whole = torch.autograd.grad(loss_of(model), weight)[0]
    for made, wanted in ((split.input, g_in), (split.output, g_out), (split.total, whole)):
        assert made.dtype == torch.float64
        assert close(made, wanted, 1e-11)


def test_differences_of_the_loss_agree_along_each_use() -> None:
    model = in_float64(tiny("gpt2", True))
    split, tied = gradient_split(model, IDS), model.get_input_embeddings().weight
    both = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(0)
    for name, module in (
        ("input", both.get_input_embeddings()),
        ("output", both.get_output_embeddings()),
    ):
        way = torch.randn(tied.shape, generator=generator, dtype=torch.float64)
        losses = []
        for step in (1e-5, -1e-5):
            module.weight = torch.nn.Parameter(tied.detach() + step * way)
            losses.append(loss_of(both).item())
        module.weight = torch.nn.Parameter(tied.detach().clone())
        slope = (losses[0] - losses[1]) / 2e-5
        assert float((getattr(split, name) * way).sum()) == pytest.approx(slope, rel=1e-6)


class TwoRows(hf.PreTrainedModel):
    """Nothing between embedding and head, so that all can be worked out by hand."""

    config_class = hf.LlamaConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.embed_tokens = torch.nn.Embedding(2, 2)
        self.lm_head = torch.nn.Linear(2, 2, bias=False)
        self.lm_head.weight = self.embed_tokens.weight

    def get_input_embeddings(self) -> Any:
        return self.embed_tokens

    def get_output_embeddings(self) -> Any:
        return self.lm_head

    def forward(self, input_ids: Any, **_: Any) -> Any:
        from transformers.modeling_outputs import CausalLMOutput

        return CausalLMOutput(logits=self.lm_head(self.embed_tokens(input_ids)))


def test_two_rows_by_hand() -> None:
    # W is the identity, the text is 0 then 1: h = (1, 0) and the logits are (1, 0).  With
    # p = e / (1 + e) the logits' gradient is (p, -p).
    model = TwoRows(hf.LlamaConfig(vocab_size=2, hidden_size=2, num_attention_heads=1)).double()
    with torch.no_grad():
        model.embed_tokens.weight.copy_(torch.eye(2))
    split, p = gradient_split(model, [[0, 1]]), float(torch.sigmoid(torch.tensor(1.0).double()))
    # G_in: the row of token 0 gets W^T (p, -p); G_out: (p, -p) times h.
    assert split.input.numpy() == pytest.approx(np.array([[p, -p], [0, 0]]))
    assert split.output.numpy() == pytest.approx(np.array([[p, 0], [-p, 0]]))
    assert split.total.numpy() == pytest.approx(np.array([[2 * p, -p], [-p, 0]]))
    assert split.loss == pytest.approx(float(-torch.log(torch.tensor(1 - p).double())))
    assert split.cosine == pytest.approx(0.5)
    assert split.output_share == pytest.approx(0.5)  # (2 + 1) p^2 of (4 + 1 + 1) p^2
    assert split.norm_share == pytest.approx(0.5)
    assert split.proxy_norm == pytest.approx(2**0.5 * p)  # no token twice: the scattered norm


def test_scaling_the_gradient_at_the_embedding_scales_the_input_part_alone() -> None:
    model = in_float64(tiny("gpt2", True))
    split, weight = gradient_split(model, IDS), model.get_input_embeddings().weight

    def scaled(_module: Any, _args: Any, made: torch.Tensor) -> None:
        made.register_hook(lambda gradient: 5 * gradient)

    hook = model.get_input_embeddings().register_forward_hook(scaled)
    found = torch.autograd.grad(loss_of(model), weight)[0]
    hook.remove()
    assert close(found, 5 * split.input + split.output, 1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_absent_tokens_learn_nothing_by_the_input(dtype: torch.dtype) -> None:
    split = gradient_split(copy.deepcopy(tiny("olmo", True)).to(dtype), IDS)
    assert not split.input[ABSENT].any()
    assert split.output[ABSENT].any(dim=1).all()


def test_of_an_untied_model_the_parts_are_its_two_gradients() -> None:
    model = tiny("llama", False)
    E, U = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    g_in, g_out = torch.autograd.grad(loss_of(model), [E, U])
    split = gradient_split(model, IDS)
    assert close(split.input, g_in, 1e-5)
    assert close(split.output, g_out, 1e-5)


def test_a_matrix_that_stands_in_memory_once_but_as_two_parameters_is_split_too() -> None:
    model = in_float64(llama(tied=True))
    wanted = gradient_split(model, IDS)
    head = model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight.data)
    split = gradient_split(model, IDS)
    assert torch.equal(split.input, wanted.input)
    assert torch.equal(split.output, wanted.output)


def test_padding_and_labels_to_ignore_count_for_nothing() -> None:
    model = in_float64(llama(tied=True))
    short = gradient_split(model, IDS[:, :4])
    labels = IDS.clone()
    labels[:, 4:] = IGNORED
    filled = IDS.clone()
    filled[:, 4:] = 17
    split = gradient_split(model, filled, labels)
    assert close(split.total, short.total, 1e-12)
    assert not split.input[17].any()
    assert split.loss == pytest.approx(short.loss)
    assert split.settings["predicted"] == 6


def test_rows_of_different_lengths_are_filled_up() -> None:
    model = in_float64(llama(tied=True))
    rows = [IDS[0].tolist(), IDS[1, :3].tolist(), [9]]
    labels = IDS.clone()
    labels[1, 3:] = IGNORED
    split, wanted = gradient_split(model, rows), gradient_split(model, IDS, labels)
    assert close(split.total, wanted.total, 1e-12)
    assert not split.input[[0, 8, 30]].any()
    again = gradient_split(model, [torch.tensor(row) for row in rows], rows)
    assert torch.equal(again.total, split.total)
    assert again.hashes == split.hashes != wanted.hashes


def test_labels_are_shifted_and_averaged_as_transformers_does() -> None:
    model = llama(tied=True)
    labels = torch.tensor([[9, IGNORED, 2, 3, IGNORED, 1], [IGNORED, 7, 7, 1, 0, IGNORED]])
    split = gradient_split(model, IDS, labels)
    own = model(input_ids=IDS, labels=labels).loss
    assert split.loss == pytest.approx(own.item(), rel=1e-6)
    whole = torch.autograd.grad(own, model.get_input_embeddings().weight)[0]
    assert close(split.total, whole, 1e-5)


def test_rows_that_go_through_alone_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = in_float64(tiny("gpt2", True))
    whole = gradient_split(model, IDS.repeat(3, 1))
    monkeypatch.setattr("embtie_widgets.measures.gradient_split._FLOATS", 1)
    heard: list[int] = []
    split = gradient_split(
        model, IDS.repeat(3, 1), progress=lambda _stage, done, _total: heard.append(done)
    )
    assert close(split.total, whole.total, 1e-12)
    assert split.proxy_norm == pytest.approx(whole.proxy_norm)
    assert set(heard) == set(range(7))


def test_the_row_of_a_padding_index_learns_as_in_training() -> None:
    model = llama(tied=True, pad_token_id=5)
    assert model.get_input_embeddings().padding_idx == 5
    split, weight = gradient_split(model, IDS), model.get_input_embeddings().weight
    assert not split.input[5].any()
    assert close(split.total, torch.autograd.grad(loss_of(model), weight)[0], 1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_added_up_in_float32(dtype: torch.dtype) -> None:
    narrow = copy.deepcopy(tiny("olmo", True)).to(dtype)
    split, wide = gradient_split(narrow, IDS), gradient_split(copy.deepcopy(narrow).float(), IDS)
    assert split.input.dtype == split.output.dtype == split.total.dtype == torch.float32
    assert split.settings["dtype"] == str(dtype).removeprefix("torch.")
    assert split.loss == pytest.approx(wide.loss, rel=0.05)
    assert close(split.output, wide.output, 0.2)
    # Of many repeats, what is added up narrowly stops growing; what is added up widely does not.
    text = IDS[:1].repeat(40, 1)
    assert close(gradient_split(narrow, text).total, gradient_split(narrow, IDS[:1]).total, 1e-4)


def test_the_model_is_left_as_it_was() -> None:
    model = llama(tied=True).train()
    weight, body = model.get_input_embeddings().weight, model.model.layers[0].mlp.up_proj.weight
    model.model.layers[1].eval()
    body.requires_grad_(False)
    loss_of(model).backward()
    kept, before = weight.grad.clone(), state_hash(model)
    with torch.no_grad():
        gradient_split(model, IDS)
    assert torch.equal(weight.grad, kept)
    assert body.grad is None
    assert model.training
    assert not model.model.layers[1].mlp.training
    assert weight.requires_grad
    assert not body.requires_grad
    assert state_hash(model) == before
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_a_frozen_model_is_split_and_stays_frozen() -> None:
    model = llama(tied=True).requires_grad_(False)
    split = gradient_split(model, IDS)
    assert close(split.input, two_copies(llama(tied=True))[0], 1e-5)
    assert not any(p.requires_grad or p.grad is not None for p in model.parameters())


def test_states_that_a_model_keeps_are_dropped_again() -> None:
    model = randomised(hf.RecurrentGemmaForCausalLM(configuration("recurrent_gemma", True)))
    gradient_split(model, IDS)
    assert model.model.layers[0].temporal_block.rg_lru.recurrent_states is None


def test_a_run_that_is_broken_off_leaves_nothing() -> None:
    model = llama(tied=True).train()

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gradient_split(model, IDS, progress=stop)
    assert model.training
    assert model.get_input_embeddings().weight.requires_grad


class ThirdUse(hf.LlamaForCausalLM):
    """Its matrix does more than embed and read out."""

    def forward(self, input_ids: Any, **more: Any) -> Any:
        made = super().forward(input_ids, **more)
        made.logits = made.logits + self.model.embed_tokens.weight.sum(dim=1)
        return made


def test_a_third_use_of_the_matrix_is_noticed() -> None:
    with pytest.raises(ew.EmbtieError, match="beside embedding and head"):
        gradient_split(llama(tied=True, kind=ThirdUse), IDS)


def test_parts_that_do_not_stand_the_check_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from embtie_widgets.measures import matrix_uses

    def wrong(ids: Any, grads: Any, rows: int, into: Any) -> Any:
        return into.index_add_(0, ids, 1.01 * grads)

    monkeypatch.setattr(matrix_uses, "scatter_rows", wrong)
    with pytest.raises(ew.EmbtieError, match=r"off by 0\.01 "):
        gradient_split(llama(tied=True), IDS)


@pytest.mark.parametrize(
    ("ids", "labels", "words"),
    [
        ([[3, 32]], None, "rows 0 to 31"),
        ([[3, -1]], None, "rows 0 to 31"),
        ([[1.5, 2.0]], None, "array .1, 2. of float"),
        ([[1, 2], "b"], None, "not of numbers"),
        ([[[1, 2]]], None, "array .1, 1, 2."),
        ([["a", "b"]], None, "list, but not of numbers"),
        ([[3]], None, "no next token"),
        ([[3, 4, 5]], [[3, IGNORED, IGNORED]], "no next token"),
        ([[3, 4, 5]], [[3, 4]], r"labels are \(1, 2\)"),
        ([[3, 4, 5]], [[3, 4, 32]], "0 to 31 and -100"),
        (torch.ones(1, 33, dtype=torch.long), None, "at most 32"),
        (torch.ones(0, 3, dtype=torch.long), None, "no token"),
    ],
)
def test_what_cannot_be_split_is_refused_in_words(ids: Any, labels: Any, words: str) -> None:
    with pytest.raises(ew.EmbtieError, match=words):
        gradient_split(llama(tied=True), ids, labels)


def test_models_that_are_no_decoders_are_refused_in_words() -> None:
    for kind, words in (("t5", "encoder-decoder"), ("eurobert", "looks ahead")):
        with pytest.raises(ew.EmbtieError, match=words):
            gradient_split(tiny(kind, True), IDS)
    with pytest.raises(ew.EmbtieError, match="no output matrix"):
        gradient_split(hf.LlamaModel(llama().config), IDS)
    with pytest.raises(ew.EmbtieError, match="differ in size"):
        gradient_split(tiny("rembert", False), IDS)


def test_numbers_that_are_not_finite_are_refused() -> None:
    model = llama(tied=True)
    with torch.no_grad():
        model.model.norm.weight.fill_(float("inf"))
    with pytest.raises(ew.EmbtieError, match="not finite"):
        gradient_split(model, IDS)
