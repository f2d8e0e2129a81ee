"""Rows that copy the mean row are told, counted, and left out where that is asked for."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embtie_widgets as ew
from embtie_widgets.cli import main
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.cache import entry_key
from embtie_widgets.jobs.geometry_lookup import neighbours_card
from embtie_widgets.jobs.lookup import token_card
from embtie_widgets.jobs.pairs import open_pair
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.reading import to_json

ROWS, WIDTH, K = 40, 8, 3
COPIES = [3, 9, 10, 17, 22, 31, 38, 39]  # in the input and output matrix of A
ALONE = 5  # the token of which B alone has a copy
LEFT = sorted([*COPIES, ALONE])
KEPT = np.setdiff1d(np.arange(ROWS), LEFT)
Make = Callable[..., Any]


def planted(seed: int, copies: list[int]) -> Any:
    """Random rows, of which some are the mean of the others, nearly."""
    drawn = np.random.default_rng(seed).normal(size=(ROWS, WIDTH)) + 0.5
    others = np.setdiff1d(np.arange(ROWS), copies)
    noise = 1e-6 * np.random.default_rng(seed + 1).normal(size=(len(copies), WIDTH))
    drawn[copies] = drawn[others].mean(0) + noise
    return drawn.astype(np.float32)


def written(folder: Path, matrices: dict[str, Any]) -> Make:
    """A request of a kind on these; B has the tokens of A backwards, and then a row more."""
    tied = matrices["tied"][::-1]
    mean = tied.mean(0, keepdims=True)
    more = mean + 0.1 * (tied[:1] - mean)  # so near that the mean stays where it is
    stored = matrices | {"tied": np.concatenate([tied, more])}
    for name, matrix in stored.items():
        np.save(folder / f"{name}.npy", matrix)
    tokens = [f"t{row}" for row in range(ROWS)]
    (folder / "a.txt").write_text("\n".join(tokens) + "\n")
    (folder / "b.txt").write_text("\n".join([*tokens[::-1], "x"]) + "\n")
    a = ew.ModelRef(
        str(folder / "in.npy"),
        output_file=str(folder / "out.npy"),
        tokens_file=str(folder / "a.txt"),
    )
    b = ew.ModelRef(str(folder / "tied.npy"), tokens_file=str(folder / "b.txt"), treat_as_tied=True)
    return lambda kind, **fields: kind(**{"a": a, "b": b} | fields)


@pytest.fixture
def matrices() -> dict[str, Any]:
    """Input, output and tied matrix, each by the tokens of A."""
    return {"in": planted(1, COPIES), "out": planted(3, COPIES), "tied": planted(5, [ALONE])}


@pytest.fixture
def ask(tmp_path: Path, matrices: dict[str, Any]) -> Make:
    return written(tmp_path, matrices)


def neighbours(matrix: Any) -> list[set[int]]:
    """The K nearest of each row by cosine."""
    rows = matrix.astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows @ rows.T - 9 * np.eye(len(rows))
    return [set(np.argsort(-one)[:K].tolist()) for one in cosines]


def overlap(first: Any, second: Any) -> list[float]:
    lists = zip(neighbours(first), neighbours(second), strict=True)
    return [len(one & other) / K for one, other in lists]


def test_the_counts_change_and_still_add_up_to_the_rows(ask: Make) -> None:
    asked = ask(ew.AlignRequest)
    before, after = ew.run(asked), ew.run(replace(asked, leave_out_copies=True))
    assert before.counts["matched"] == ROWS
    assert "left_out_a" not in before.counts
    assert after.counts == before.counts | {"matched": 31, "left_out_a": 9, "left_out_b": 9}
    assert after.counts["matched"] + sum(after.counts.values()) == 2 * ROWS + 1
    assert after.rows_a.tolist() == KEPT.tolist()
    assert after.rows_b.tolist() == (ROWS - 1 - KEPT).tolist()
    assert after.tokens == tuple(f"t{row}".encode() for row in KEPT)
    assert all(len(one.cosine) == 31 for one in after.comparisons.values())


def test_the_neighbours_of_the_others_are_those_without_the_copies(
    ask: Make, matrices: dict[str, Any]
) -> None:
    asked = ask(ew.GeometryRequest, k=K, spectral=False, spaces=False)
    before, after = ew.run(asked), ew.run(replace(asked, leave_out_copies=True))
    for name, two in {"In->Out": ("in", "out"), "Out->Tied": ("out", "tied")}.items():
        anew = overlap(*(matrices[one][KEPT] for one in two))
        np.testing.assert_allclose(after.overlaps[name].per_token, anew)
        assert not np.allclose(before.overlaps[name].per_token[KEPT], anew)


@pytest.mark.parametrize("find", [token_card, neighbours_card])
def test_the_card_of_a_token_is_of_the_others_that_are_left(
    ask: Make, matrices: dict[str, Any], find: Any
) -> None:
    asked = ask(ew.GeometryRequest, k=K, leave_out_copies=True)
    whole, left = (neighbours(matrices["in"][rows]) for rows in (np.arange(ROWS), KEPT))
    crowded = [place for place, row in enumerate(KEPT) if whole[row] & set(COPIES)]
    assert crowded
    for place in crowded:
        near = [other for other, *_ in find(asked, place).neighbours["In"]]
        assert set(near[:K]) == left[place]


def test_norms_are_of_the_rows_that_are_left(
    ask: Make, matrices: dict[str, Any], tmp_path: Path
) -> None:
    counts = tmp_path / "counts.npy"
    np.save(counts, np.arange(ROWS) + 1)
    asked = ask(ew.NormFrequencyRequest, corpus=str(counts), leave_out_copies=True)
    found = ew.run(asked).matrices
    np.testing.assert_allclose(
        found["Tied"].norm, np.linalg.norm(matrices["tied"][KEPT], axis=1), rtol=1e-6
    )
    assert found["In"].counts.tolist() == (KEPT + 1).tolist()


def test_notes_name_the_control_and_then_what_it_did(ask: Make) -> None:
    asked = ask(ew.AlignRequest)
    before = " ".join(ew.run(asked).notes)
    assert "Tied: row 34 is all but the mean row" in before
    assert "“leave out rows that copy the mean” (leave_out_copies) compares without" in before
    after = " ".join(ew.run(replace(asked, leave_out_copies=True)).notes)
    assert "In: 8 of rows 3 to 39 are all but the mean row" in after
    assert "9 of 40 common tokens were left out" in after
    assert "crowd" not in after


def test_where_no_row_copies_the_mean_nothing_is_left_out() -> None:
    usual = ew.AlignRequest(map="orthogonal")
    before, after = ew.run(usual), ew.run(replace(usual, leave_out_copies=True))
    assert after.counts == before.counts | {"left_out_a": 0, "left_out_b": 0}
    for name, one in before.comparisons.items():
        np.testing.assert_array_equal(one.cosine, after.comparisons[name].cosine)
    assert [note for note in after.notes if note not in before.notes] == [
        "No common token has a row that copies the mean row, so none was left out for that."
    ]


def test_where_every_token_has_a_copy_it_is_refused_with_a_way_out(tmp_path: Path) -> None:
    each = {"in": range(14), "out": range(14, 28), "tied": range(28, ROWS)}
    stored = {name: planted(7, list(rows)) for name, rows in each.items()}
    asked = written(tmp_path, stored)(ew.AlignRequest, leave_out_copies=True)
    with pytest.raises(EmbtieError, match="Every one of the 40 common tokens") as told:
        ew.run(asked)
    assert "leave out rows that copy the mean" in told.value.hint


def test_the_open_pair_is_switched_without_opening_or_centring_again(ask: Make) -> None:
    asked = ask(ew.AlignRequest, mu_centered=True)
    without = replace(asked, leave_out_copies=True)
    whole, less = open_pair(asked), open_pair(without)
    assert open_pair(asked) is whole
    assert open_pair(without) is less
    assert less.roles.centring is whole.roles.centring
    keys = {entry_key(asked, one.fingerprint) for one in (whole, less)}
    assert len(keys) == 2
    assert without.other_side == replace(without, mu_centered=False)


def test_links_code_and_command_line_carry_it(
    ask: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ew.GeometryRequest(leave_out_copies=True)
    assert decode(encode(asked)).request == asked
    assert "leave_out_copies=True" in to_code(asked)
    assert not decode("embtie=1&kind=geometry&k=5").request.leave_out_copies
    file = tmp_path / "request.json"
    file.write_text(to_json(ask(ew.AlignRequest, leave_out_copies=True)))
    assert main(["run", str(file)]) == 0
    told = capsys.readouterr().out
    assert "31 matched" in told
    assert "9 left out in A, 9 left out in B" in told
