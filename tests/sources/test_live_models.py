"""Model objects in memory, judged by their parameters."""

from typing import Any

import pytest
import torch
import transformers as hf

import embtie_widgets as ew
from tests.sources.models import COMMON, LLAMA, llama, randomised


def test_placeholders_are_refused_by_name_and_never_called_tied() -> None:
    with torch.device("meta"):
        model = hf.LlamaForCausalLM(hf.LlamaConfig(**LLAMA))
    with pytest.raises(ew.EmbtieError, match="weights are not loaded") as caught:
        ew.load(model)
    assert "model.embed_tokens.weight" in str(caught.value)
    assert "lm_head.weight" in str(caught.value)


def test_a_shared_parameter_is_tied() -> None:
    loaded = ew.load(llama(tied=True))
    assert (loaded.tied, loaded.notes) == ("tied", [])
    assert loaded.output is loaded.input
    assert loaded.stored_parameters == 256


def test_equal_copies_in_memory_are_tied_and_said_to_be_two() -> None:
    model = llama()
    model.lm_head.weight.data = model.model.embed_tokens.weight.data.clone()
    loaded = ew.load(model)
    assert (loaded.tied, loaded.stored_parameters) == ("tied", 512)


def test_different_matrices_are_untied_whatever_the_flag() -> None:
    model = llama()
    model.config.tie_word_embeddings = True
    loaded = ew.load(model)
    assert loaded.tied == "untied"
    assert any("says tied" in note for note in loaded.notes)


@pytest.mark.parametrize(
    "make",
    [
        lambda: hf.LlamaModel(hf.LlamaConfig(**LLAMA, tie_word_embeddings=True)),
        lambda: hf.BertModel(hf.BertConfig(**COMMON, intermediate_size=16)),
        lambda: llama(tied=True).model,
    ],
)
def test_a_model_without_head_is_input_only(make: Any) -> None:
    model = randomised(make())
    loaded = ew.load(model)
    assert (loaded.tied, loaded.output) == ("input only", None)
    assert torch.equal(loaded.input, model.get_input_embeddings().weight)


class Awkward(torch.nn.Module):
    """A model whose getters are not written."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(32, 8)

    def get_input_embeddings(self) -> Any:
        raise NotImplementedError


def test_a_getter_that_is_not_written_is_no_end() -> None:
    model = Awkward()
    loaded = ew.load(model)
    assert loaded.tied == "input only"
    assert torch.equal(loaded.input, model.embed_tokens.weight)


def test_a_model_without_token_matrix_is_refused() -> None:
    with pytest.raises(ew.EmbtieError, match="gives no input matrix"):
        ew.load(torch.nn.Linear(4, 4))


def test_resized_models_of_unequal_height_keep_both() -> None:
    model = llama()
    model.lm_head = torch.nn.Linear(8, 20, bias=True)
    loaded = ew.load(model)
    assert loaded.tied == "untied"
    assert loaded.common_rows == 20
    assert "head bias" in loaded.scales


def test_a_head_in_foreign_numbers_is_unavailable() -> None:
    model = llama()
    model.lm_head.weight = torch.nn.Parameter(
        torch.zeros(32, 8, dtype=torch.int8), requires_grad=False
    )
    assert ew.load(model).tied == "head unavailable"


def test_loading_needs_no_gradient_and_leaves_the_model_as_it_was() -> None:
    model = llama()
    loaded = ew.load(model)
    assert not loaded.input.requires_grad
    assert model.model.embed_tokens.weight.requires_grad


def test_a_tokenizer_object_gives_the_keys() -> None:
    class Stub:
        def get_vocab(self) -> dict[Any, int]:
            return {b"\xe6\xb5\x8b": 0, b"a": 1}

    loaded = ew.load(llama(), tokens=Stub())
    assert loaded.tokens is not None
    assert loaded.tokens[:3] == [b"\xe6\xb5\x8b", b"a", None]
    assert len(loaded.tokens) == 32


def test_a_transposed_view_of_a_square_matrix_is_another_matrix() -> None:
    model = llama(vocab_size=8)
    weight = torch.randn(8, 8, generator=torch.Generator().manual_seed(3))
    model.model.embed_tokens.weight = torch.nn.Parameter(weight)
    model.lm_head.weight = torch.nn.Parameter(weight.t())
    loaded = ew.load(model)
    assert loaded.tied == "untied"
    assert torch.equal(loaded.output, weight.t())


def test_an_object_whose_getter_is_not_written_is_refused() -> None:
    class Bare:
        def get_input_embeddings(self) -> Any:
            raise NotImplementedError

    with pytest.raises(ew.EmbtieError, match="gives no input matrix"):
        ew.load(Bare())


def test_a_sparse_matrix_is_refused() -> None:
    model = llama()
    model.lm_head.weight = torch.nn.Parameter(torch.eye(32, 8).to_sparse())
    loaded = ew.load(model)
    assert loaded.tied == "head unavailable"
    assert any("sparse" in note for note in loaded.notes)
