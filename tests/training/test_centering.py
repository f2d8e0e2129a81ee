"""What each method does to a run, against laws that hold to rounding and loops written by hand."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.centering import soft_cap, z_loss
from embtie_widgets.requests.centering import METHODS, NONE, PARTS
from embtie_widgets.training.centering import (
    CoupledAdam,
    MuCentering,
    MuLoss,
    PlainSgd,
    SoftCap,
    ZLoss,
    method_plugs,
)
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run, build_model, held_out_loss
from embtie_widgets.training.interventions import Intervention, Step, intervention_of
from tests.training.running import Trained, finish, trained

Train = Callable[..., Trained]
SHIFT = 0.3


class Shifted(Intervention):
    """A start at which the output matrix has a mean row, and the watch on it after each step."""

    def __init__(self) -> None:
        self.means: list[Tensor] = []

    def on_build(self, model: Any, run: str) -> None:
        with torch.no_grad():
            output(model).add_(SHIFT)
        self.means = [output(model).detach().mean(0)]

    def after_step(self, step: Step) -> None:
        self.means.append(output(step.model).detach().mean(0))


class Gradients(Intervention):
    """The gradient of the output matrix at each step, and the loss that gave it."""

    def __init__(self) -> None:
        self.seen: list[Tensor] = []
        self.losses: list[float] = []

    def on_loss(self, loss: Tensor, logits: Tensor, step: Step) -> Tensor:
        self.losses.append(float(loss.detach()))
        return loss

    def on_gradients(self, step: Step) -> None:
        self.seen.append(output(step.model).grad.clone())


def output(model: Any) -> Any:
    return model.get_output_embeddings().weight


@pytest.fixture
def train(recipe_of: Any, corpus: Corpus) -> Train:
    """Runs in float64, each step logged, without weight decay, from a matrix with a mean row."""

    def run(*plugs: Intervention, tied: bool = False, **changes: Any) -> Trained:
        settings = {"precision": "float64", "log_every": 1, "weight_decay": 0.0, **changes}
        first = [] if any(isinstance(plug, Shifted) for plug in plugs) else [Shifted()]
        return trained(recipe_of(**settings), corpus, [*first, *plugs], tied=tied)

    return run


def losses(done: Trained) -> list[float]:
    return [row["loss"] for row in done.rows]


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_centring_changes_no_prediction_of_an_untied_run(train: Train, decay: float) -> None:
    plain, centred = (train(*plugs, weight_decay=decay) for plugs in ((), (MuCentering(),)))
    assert losses(centred) == pytest.approx(losses(plain), rel=1e-12)
    assert losses(plain)[-1] != pytest.approx(losses(plain)[0], rel=1e-3)
    for one, other in zip(
        plain.run.model.parameters(), centred.run.model.parameters(), strict=True
    ):
        if one is not output(plain.run.model):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)
    assert output(centred.run.model).mean(0).norm() < 1e-15
    assert output(plain.run.model).mean(0).norm() > 0.9 * SHIFT


def test_what_the_optimiser_remembers_is_left_by_centring(train: Train) -> None:
    states = [
        {name: run.optimiser.state[output(run.model)][name] for name in ("exp_avg", "exp_avg_sq")}
        for run in (train().run, train(MuCentering()).run)
    ]
    for name, value in states[0].items():
        assert value.abs().max() > 0
        torch.testing.assert_close(states[1][name], value, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(("tied", "plugs"), [(True, ()), (False, (SoftCap(0.2),))])
def test_centring_changes_the_predictions_of_a_tied_or_a_capped_run(
    train: Train, tied: bool, plugs: tuple[Intervention, ...]
) -> None:
    plain, centred = (train(*plugs, *more, tied=tied) for more in ((), (MuCentering(),)))
    assert losses(centred)[0] == losses(plain)[0]
    assert losses(centred)[1] != pytest.approx(losses(plain)[1], rel=1e-5)


def test_a_tied_matrix_is_centred_as_the_one_that_it_is(train: Train) -> None:
    model = train(MuCentering(), tied=True).run.model
    assert model.get_input_embeddings().weight is output(model)
    assert output(model).mean(0).norm() < 1e-15


def test_centring_waits_for_its_step(train: Train) -> None:
    watch = Shifted()
    train(MuCentering(interval=3), watch, steps=7)
    lengths = [float(mean.norm()) for mean in watch.means]
    assert [length < 1e-15 for length in lengths] == [False] * 3 + [True, False, False, True, False]


@pytest.mark.parametrize("tied", [True, False])
def test_the_mean_of_real_tokens_comes_off_all_stored_rows(
    recipe: TrainingConfig, tied: bool
) -> None:
    model = build_model(recipe, tied=tied, seed=1).double()
    with torch.no_grad():
        output(model)[:30] += 1
    before = output(model).detach().clone()
    MuCentering(rows=30).after_step(step_of(model))
    torch.testing.assert_close(output(model).detach(), before - before[:30].mean(0))
    assert output(model)[:30].mean(0).norm() < 1e-12
    assert output(model).mean(0).norm() > 0.1


def step_of(model: Any, number: int = 1) -> Step:
    nothing = torch.zeros(0)
    return Step(number, "run", model, nothing, nothing, logged=False)


@pytest.mark.parametrize("rows", [None, 30])
@pytest.mark.parametrize("tied", [True, False])
def test_the_mu_loss_pulls_each_row_by_two_lambda_mu_over_their_number(
    train: Train, tied: bool, rows: int | None
) -> None:
    plain, pulled = Gradients(), Gradients()
    train(plain, tied=tied, steps=1)
    start = train(MuLoss(0.5, rows), pulled, tied=tied, steps=1, lr=0.0).run.model
    mu = output(start).detach()[:rows].mean(0)
    assert mu.norm() > SHIFT
    wanted = torch.zeros_like(pulled.seen[0])
    wanted[:rows] = 2 * 0.5 * mu / len(wanted[:rows])
    torch.testing.assert_close(pulled.seen[0] - plain.seen[0], wanted, rtol=1e-9, atol=1e-12)
    assert pulled.losses[0] - plain.losses[0] == pytest.approx(0.5 * float(mu.square().sum()))


def test_penalties_stay_out_of_the_logged_loss(train: Train) -> None:
    for plug in (MuLoss(10.0), ZLoss(10.0)):
        assert losses(train(plug))[0] == losses(train())[0]
        assert losses(train(plug))[2] != losses(train())[2]


@pytest.mark.parametrize("order", [1, -1])
def test_the_z_loss_is_that_of_capped_logits_in_either_order(train: Train, order: int) -> None:
    kept: list[Tensor] = []

    class Raw(Intervention):
        def on_logits(self, logits: Tensor, step: Step) -> Tensor:
            kept.append(logits.detach())
            return logits

    seen = Gradients()
    done = train(Raw(), *[SoftCap(0.05), ZLoss(0.5)][::order], seen, steps=1)
    capped = soft_cap(kept[0], 0.05)
    assert seen.losses[0] - losses(done)[0] == pytest.approx(0.5 * float(z_loss(capped)))
    assert float(z_loss(kept[0])) != pytest.approx(float(z_loss(capped)), rel=1e-6)
    assert losses(done)[0] != pytest.approx(losses(train(steps=1))[0], rel=1e-6)


@pytest.mark.parametrize(
    ("method", "tied", "moves"),
    [
        ("none", False, True),  # each entry is divided by a measure of its own
        ("sgd", False, False),  # the gradient's rows add up to 0
        ("coupled-adam", False, False),  # all rows are divided by the same
        ("sgd", True, True),  # the inputs' part does not add up to 0
        ("coupled-adam", True, True),
        ("sgd+z-loss", False, True),  # its gradient adds up to 2 logsumexp h
        ("sgd+soft-cap", False, True),  # each logit's gradient has a factor of its own
    ],
)
def test_who_moves_the_mean_row(train: Train, method: str, tied: bool, moves: bool) -> None:
    watch = Shifted()
    done = train(watch, *method_plugs(method, 0.1, 2.0), tied=tied, steps=20, lr=0.05)
    way = float((watch.means[-1] - watch.means[0]).norm())
    assert way > 1e-6 if moves else way < 1e-14
    assert abs(losses(done)[-1] - losses(done)[0]) > 1e-3


def test_under_coupled_adam_weight_decay_alone_shortens_the_mean_row(train: Train) -> None:
    watch = Shifted()
    done = train(watch, CoupledAdam(), weight_decay=0.5, lr=0.05)
    left = 1.0
    for row in done.rows:
        left *= 1 - 0.5 * row["lr"]
    torch.testing.assert_close(watch.means[-1], left * watch.means[0], rtol=1e-12, atol=0)


@pytest.mark.parametrize("tied", [True, False])
def test_coupled_adam_is_adamw_with_one_second_moment_for_all_rows(
    recipe_of: Any, corpus: Corpus, tied: bool
) -> None:
    recipe = recipe_of(precision="float64", steps=8, weight_decay=0.1)
    seen = Every()
    done = trained(recipe, corpus, [CoupledAdam(), seen], tied=tied).run.model
    start = build_model(recipe, tied=tied, seed=1)
    rows = {id(start.get_input_embeddings().weight), id(output(start))}
    for number, weight in enumerate(start.parameters()):
        gradients = [each[number] for each in seen.clipped]
        by_hand(weight, gradients, recipe, coupled=id(weight) in rows)
    for one, other in zip(done.parameters(), start.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


class Every(Intervention):
    """All gradients of each step, as the optimiser had them."""

    def on_build(self, model: Any, run: str) -> None:
        self.clipped: list[list[Tensor]] = []

    def after_step(self, step: Step) -> None:
        self.clipped.append([each.grad.clone() for each in step.model.parameters()])


def by_hand(weight: Any, gradients: list[Tensor], recipe: TrainingConfig, coupled: bool) -> None:
    """The steps of one parameter, with a second moment in full that is averaged when it is used."""
    (beta1, beta2), value = recipe.betas, weight.data
    first, second = torch.zeros_like(value), torch.zeros_like(value)
    for step, gradient in enumerate(gradients, 1):
        rate = recipe.learning_rate(step)
        first = beta1 * first + (1 - beta1) * gradient
        second = beta2 * second + (1 - beta2) * gradient**2
        used = second.mean(0, keepdim=True) if coupled else second
        scale = (used / (1 - beta2**step)).sqrt() + recipe.eps
        value.mul_(1 - rate * recipe.weight_decay).sub_(rate * first / (1 - beta1**step) / scale)


@pytest.mark.parametrize("tied", [True, False])
def test_plain_descent_takes_the_rate_times_the_gradient_and_nothing_else(
    recipe_of: Any, corpus: Corpus, tied: bool
) -> None:
    recipe, seen = recipe_of(precision="float64", weight_decay=0.1), Every()
    done = trained(recipe, corpus, [PlainSgd(), seen], tied=tied).run.model
    start = build_model(recipe, tied=tied, seed=1)
    for number, (one, other) in enumerate(zip(done.parameters(), start.parameters(), strict=True)):
        wanted = other.data.clone()
        for step, gradients in enumerate(seen.clipped, 1):
            wanted -= recipe.learning_rate(step) * gradients[number]
        torch.testing.assert_close(one.data, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("method", [*PARTS, "mu-centering+soft-cap+coupled-adam"])
def test_a_method_goes_on_from_its_state_to_the_same_bits(
    recipe_of: Any, corpus: Corpus, method: str, precision: str
) -> None:
    recipe = recipe_of(precision=precision)
    for tied in (True, False):
        whole = trained(recipe, corpus, method_plugs(method), tied=tied)
        first, second = (
            Run(recipe, build_model(recipe, tied=tied, seed=seed), corpus, "tied", plugs)
            for seed, plugs in ((1, method_plugs(method)), (2, method_plugs(method)))
        )
        for _ in range(3):
            first.advance()
        second.load_state_dict(first.state_dict())
        assert finish(second) == whole.rows[-2:]
        ends = zip(second.model.parameters(), whole.run.model.parameters(), strict=True)
        assert all(torch.equal(one, other) for one, other in ends)


@pytest.mark.parametrize("method", METHODS)
def test_the_name_of_a_method_gives_its_plug_ins(method: str) -> None:
    assert [plug.kind for plug in method_plugs(method)] == ([] if method == NONE else [method])


def test_the_plug_ins_of_a_method_have_its_settings_and_are_made_again_from_them() -> None:
    plugs = method_plugs("soft-cap + z-loss + mu-loss + mu-centering", 0.1, 5.0, 2, 40)
    assert plugs == (MuCentering(2, 40), MuLoss(0.1, 40), ZLoss(0.1), SoftCap(5.0))
    assert method_plugs("sgd+soft-cap") == (SoftCap(30.0), PlainSgd())
    assert method_plugs("coupled-adam") == (CoupledAdam(),)
    assert method_plugs("z-loss") == (ZLoss(1e-4),)
    for plug in (*plugs, PlainSgd(), CoupledAdam()):
        assert intervention_of(plug.to_dict()) == plug


@pytest.mark.parametrize("wrong", ["", "centering", "none+sgd", "sgd+coupled-adam", 3])
def test_a_method_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(EmbtieError):
        method_plugs(wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MuCentering(0),
        lambda: MuCentering(1, 0),
        lambda: MuLoss(-1.0),
        lambda: MuLoss(1.0, 1.5),  # type: ignore[arg-type]
        lambda: ZLoss(float("nan")),
        lambda: SoftCap(0.0),
    ],
)
def test_senseless_settings_are_refused(make: Callable[[], Intervention]) -> None:
    with pytest.raises(EmbtieError):
        make()


@pytest.mark.parametrize("plug", [MuCentering(rows=49), MuLoss(rows=49)])
def test_more_rows_than_the_matrix_has_are_refused(
    recipe: TrainingConfig, corpus: Corpus, plug: Intervention
) -> None:
    with pytest.raises(EmbtieError, match="48"):
        trained(recipe, corpus, [plug])


def test_coupled_adam_asks_for_adamw_and_keeps_no_model_alive(
    recipe: TrainingConfig, corpus: Corpus
) -> None:
    plug = CoupledAdam()
    trained(recipe, corpus, [plug])
    assert not any(isinstance(value, Tensor) for value in vars(plug).values())
    assert plug._matrices == ()
    with pytest.raises(EmbtieError, match="SGD"):
        trained(recipe, corpus, [PlainSgd(), CoupledAdam()])


def test_a_capped_model_is_evaluated_with_its_cap_and_without_its_penalties(
    recipe: TrainingConfig, corpus: Corpus
) -> None:
    model = build_model(recipe, tied=False, seed=1)
    with torch.no_grad():
        output(model).mul_(50)
        ids = torch.as_tensor(corpus.ids[:161])
        inputs, targets = ids[:-1].reshape(20, 8), ids[1:]
        capped = soft_cap(model(input_ids=inputs).logits, 0.5)
    wanted = torch.nn.functional.cross_entropy(capped.flatten(0, 1), targets)
    text = Corpus(ids.numpy())
    plugs = [MuLoss(9.0), ZLoss(9.0), SoftCap(0.5)]
    assert held_out_loss(model, text, 4, 8, plugs) == pytest.approx(float(wanted), rel=1e-5)
    assert held_out_loss(model, text, 4, 8) != pytest.approx(float(wanted), rel=1e-2)
