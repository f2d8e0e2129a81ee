import pytest
from transformers import LlamaConfig

from embtie_widgets.errors import EmbtieError
from embtie_widgets.training.config import TrainingConfig


def test_the_rate_climbs_to_its_peak_and_falls_along_a_cosine_to_its_fraction() -> None:
    config = TrainingConfig(steps=110, warmup=10, lr=1.0, final_fraction=0.1)
    assert config.learning_rate(1) == pytest.approx(0.1)
    assert config.learning_rate(10) == pytest.approx(1.0)
    assert config.learning_rate(60) == pytest.approx(0.55)
    assert config.learning_rate(110) == pytest.approx(0.1)


def test_without_warmup_the_first_step_is_not_lost() -> None:
    assert TrainingConfig(steps=1000, warmup=0, lr=1.0).learning_rate(1) > 0.99


def test_a_transformers_configuration_becomes_a_recipe() -> None:
    made = TrainingConfig.from_value(LlamaConfig(hidden_size=64))
    assert made.model["model_type"] == "llama"
    assert made.model["hidden_size"] == 64


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"batch": 2.5},
        {"lr": float("nan")},
        {"model": {}},
        {"final_fraction": 2.0},
        {"betas": None},
        {"betas": (0.9,)},
        {"betas": (0.9, 1.0)},
        {"betas": "ab"},
        {"checkpoints": None},
        {"checkpoints": (0, -1)},
        {"checkpoints": (0, 1.5)},
    ],
)
def test_a_senseless_recipe_is_refused_with_a_hint(wrong: dict[str, object]) -> None:
    with pytest.raises(EmbtieError) as caught:
        TrainingConfig(**wrong)  # type: ignore[arg-type]
    assert next(iter(wrong)) in caught.value.message
    assert caught.value.hint
