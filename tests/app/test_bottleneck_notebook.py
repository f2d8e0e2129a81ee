"""The story of what reaches the hidden state, run as it stands but with shorter trainings."""

import re
from typing import Any

import pytest

from tests.app.stories import assert_ran, executed, lines

STEPS, SYMBOLS = 40, 32


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBTIE_CACHE", str(tmp_path_factory.mktemp("cache")))
        return executed(
            "bottleneck.ipynb",
            tmp_path_factory.mktemp("story"),
            ("STEPS, SYMBOLS = 1_500, 256", f"STEPS, SYMBOLS = {STEPS}, {SYMBOLS}"),
        )


def numbers(line: str) -> list[float]:
    return [float(n) for n in re.findall(r"[-+]?\d+\.\d+(?:e-?\d+)?", line)]


def test_every_cell_runs(ran: Any) -> None:
    assert_ran(ran)


def test_by_hand_a_random_gradient_gives_the_line_and_the_parts_add_up(ran: Any) -> None:
    lost, whole = (numbers(line) for line in lines(ran, "basis"))
    assert lost[0] == pytest.approx(lost[1], abs=1e-3)
    assert whole == [1.0]


def test_the_bundled_models_are_measured_against_the_line(ran: Any) -> None:
    found = {line.split(":")[0]: numbers(line) for line in lines(ran, "bundled")}
    assert set(found) == {"untied", "tied"}
    for r, c, energy, line, random in found.values():
        assert r**2 + c**2 == pytest.approx(1, abs=1e-3)
        assert energy == pytest.approx(c**2, abs=1e-3)
        assert random == pytest.approx(line, abs=2e-3)
        assert 0.95 < r < line  # more than by chance is transmitted, and little


def test_the_plain_way_gives_the_same(ran: Any) -> None:
    plain, ours = numbers(lines(ran, "plain")[0])
    assert ours == pytest.approx(plain, abs=1e-5)


def test_the_head_learns_from_what_the_state_does_not_see(ran: Any) -> None:
    assert numbers(lines(ran, "own")[0])[0] > 0.9


def test_every_way_of_a_head_is_held_against_the_full_one(ran: Any) -> None:
    told = [line for line in lines(ran, "excess") if line.startswith("above")]
    losses = {line.split(":")[0]: numbers(line)[0] for line in lines(ran, "excess")}
    assert len(told) == len(losses) - 2  # all but the full one, and one key for what is above
    for line in told:
        way = line.split(": ")[1]
        name = next(
            name
            for name in losses
            if name.startswith(way.split(",")[0]) and _rank(name) == _rank(line)
        )
        assert numbers(line)[0] == pytest.approx(losses[name] - losses["full"], abs=2e-3)


def _rank(line: str) -> list[str]:
    return re.findall(r"rank (\d+)", line)


def test_copies_of_a_symbol_are_no_data(ran: Any) -> None:
    shares: dict[str, list[float]] = {"positions": [], "sequences": []}
    for line in lines(ran, "spamlang"):
        shares[line.split(",")[0].removeprefix("same ")].append(numbers(line)[-1])
    assert shares["positions"][0] > 90 > 75 > shares["positions"][-1]
    assert max(shares["sequences"]) - min(shares["sequences"]) < 10


def test_classes_that_never_occur_leave_less_of_the_gradient_and_the_task_learnable(
    ran: Any,
) -> None:
    lost, right = zip(*(numbers(line)[-2:] for line in lines(ran, "never")), strict=True)
    assert list(lost) == sorted(lost)
    assert min(right) > 50
