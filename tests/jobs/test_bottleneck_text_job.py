"""What heads of loaded models transmit, carried out end to end on a text."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import bottleneck_text
from embtie_widgets.jobs.bottleneck import look_up
from embtie_widgets.jobs.bottleneck_cost import estimate_bottleneck
from embtie_widgets.jobs.first import first_result
from embtie_widgets.requests import BottleneckRequest, CorpusRef, ModelRef
from embtie_widgets.requests.code import to_code
from embtie_widgets.results.bottleneck import BottleneckReport
from embtie_widgets.results.storage import from_bytes, to_bytes
from tests.jobs.lens_models import WORDS, words, write_model
from tests.jobs.trainings import Ear


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def asked(tmp_path: Path) -> BottleneckRequest:
    """An untied and a tied model on a pasted text of 300 words."""
    untied, tied = (write_model(tmp_path / name, name == "tied") for name in ("untied", "tied"))
    return BottleneckRequest(
        model=ModelRef(untied), other=ModelRef(tied), text=words(300), positions=100, gram=20,
        length=20, steps_at=(0.5, 2.0),
    )  # fmt: skip


def not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was opened")

    monkeypatch.setattr(bottleneck_text, "open_model", refuse)


def test_both_models_are_measured_the_first_shown_before_the_second(
    asked: BottleneckRequest,
) -> None:
    heard = Ear()
    report = ew.run(asked, progress=heard)
    assert list(report.models) == ["untied", "tied"]
    assert [one.tied for one in report.models.values()] == [False, True]
    assert [list(part.models) for part in heard.parts] == [["untied"]]
    assert heard.parts[0].progress == "1 of 2 models"
    assert (report.progress, report.failed, report.settings["cached"]) == ("", {}, False)
    for one in report.models.values():
        found = one.bottleneck
        assert len(found.per_position) == 95  # five pieces of 20, each without its last place
        assert found.spectrum.positions[-1] == 20
        assert found.steps.losses.shape == (2, 3)
        assert (found.rows, found.width, len(one.tokens)) == (41, 16, 41)
        assert one.tokens[1] == WORDS[0].encode()
        assert one.about["text"]["name"] == "pasted text"


def test_it_is_what_the_library_says_of_the_same_text(asked: BottleneckRequest) -> None:
    one = ew.run(asked).models["untied"].bottleneck
    pieces = [one.ids[one.piece == piece] for piece in np.unique(one.piece)]
    ends = [one.targets[one.piece == piece][-1:] for piece in np.unique(one.piece)]
    ids = [np.concatenate(both) for both in zip(pieces, ends, strict=True)]
    plain = ew.bottleneck(asked.model.ref, ids)
    assert plain.destroyed == pytest.approx(one.destroyed, abs=1e-9)
    assert plain.per_position == pytest.approx(one.per_position, abs=1e-6)


def test_counts_and_groups_are_those_of_the_targets(asked: BottleneckRequest) -> None:
    report = ew.run(asked)
    one = report.models["untied"]
    found, groups = one.bottleneck, {group["group"]: group for group in one.groups}
    assert one.counts.sum() == 100
    assert any("counted in the text read" in note for note in report.notes)
    often = one.counts[found.targets] >= 10
    group = groups["10 to 99 times"]
    assert group["tokens"] == often.sum() > 0
    assert group["destroyed"] == pytest.approx(found.per_position[often].mean(), abs=1e-6)
    assert group["target_kept"] == pytest.approx(found.target_kept[often].mean(), abs=1e-6)
    kinds = [group for group in one.groups if group["by"] == "kind of token"]
    assert sum(group["tokens"] for group in kinds) == len(found.targets)


def test_it_comes_back_whole_from_its_bytes(asked: BottleneckRequest) -> None:
    report = ew.run(asked)
    again = from_bytes(to_bytes(report))
    assert isinstance(again, BottleneckReport)
    assert again.settings == report.settings
    for name, one in report.models.items():
        assert np.array_equal(
            again.models[name].bottleneck.per_position, one.bottleneck.per_position
        )
    assert len(again.to_frame()) == 190


def test_asked_again_or_looked_for_it_is_there_and_no_model_is_opened(
    asked: BottleneckRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert look_up(asked) is None
    first = ew.run(asked)
    not_opened(monkeypatch)
    for again in (ew.run(asked), look_up(asked)):
        assert again.settings == first.settings | {"cached": True}
    assert look_up(replace(asked, text=words(300, 1))) is None


def test_another_model_beside_it_opens_that_one_alone(
    asked: BottleneckRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ew.run(asked)
    opened, own = [], bottleneck_text.open_model

    def counting(ref: ModelRef, **how: object) -> object:
        opened.append(ref)
        return own(ref, **how)

    monkeypatch.setattr(bottleneck_text, "open_model", counting)
    third = ModelRef(write_model(tmp_path / "third", seed=3))
    assert list(ew.run(replace(asked, other=third)).models) == ["untied", "third"]
    assert opened == [third]


def test_another_text_in_the_same_file_is_another_result(
    asked: BottleneckRequest, tmp_path: Path
) -> None:
    path = tmp_path / "read.txt"
    path.write_text(words(300))
    request = replace(asked, text="", corpus=CorpusRef(str(path)))
    one = ew.run(request)
    path.write_text(words(300, 5))
    other = ew.run(request)
    assert one.hashes != other.hashes
    assert not other.settings["cached"]


def test_a_model_that_fails_leaves_the_other_its_numbers_and_is_not_kept(
    asked: BottleneckRequest, tmp_path: Path
) -> None:
    silent = ModelRef(write_model(tmp_path / "silent", tokenizer=False))
    report = ew.run(replace(asked, other=silent))
    assert list(report.models) == ["untied"]
    assert "tokenizer" in report.failed["silent"]
    assert look_up(replace(asked, other=silent)) is None
    with pytest.raises(EmbtieError, match="tokenizer"):
        ew.run(replace(asked, model=silent, other=None))


def test_what_is_mistyped_is_told_before_a_model_is_opened(
    asked: BottleneckRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    not_opened(monkeypatch)
    with pytest.raises(EmbtieError, match=r"missing\.txt"):
        ew.run(replace(asked, text="", corpus=CorpusRef("missing.txt")))


def test_cancelled_after_the_first_model_that_one_is_known(
    asked: BottleneckRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Cancelled):
        ew.run(asked, progress=Ear(lambda stage, _: stage == "opening tied"))
    assert look_up(asked) is None
    alone = replace(asked, other=None)
    not_opened(monkeypatch)
    assert list(ew.run(alone).models) == ["untied"]


def test_what_it_costs_is_known_once_its_models_were_looked_for(
    asked: BottleneckRequest,
) -> None:
    assert estimate_bottleneck(asked) is None
    ew.run(asked)
    cost, more = (
        estimate_bottleneck(one) for one in (asked, replace(asked, gram=5_000, positions=5_000))
    )
    assert more.seconds > cost.seconds > 0
    assert more.bytes - cost.bytes > 2 * 8 * 5_000**2 * 0.9
    assert estimate_bottleneck(BottleneckRequest(source="run", file="somewhere")) is None


def test_a_visitor_is_shown_no_result_of_somebodys_text(
    asked: BottleneckRequest, tmp_path: Path
) -> None:
    path = tmp_path / "read.txt"
    path.write_text(words(300))
    request = replace(asked, text="", corpus=CorpusRef(str(path)))
    ew.run(request)
    assert look_up(request) is None


def test_copied_code_gives_the_same_numbers(asked: BottleneckRequest) -> None:
    names: dict[str, object] = {}
    exec(to_code(asked), names)
    made = next(value for value in names.values() if isinstance(value, BottleneckReport))
    assert made.models["tied"].bottleneck.destroyed == pytest.approx(
        ew.run(asked).models["tied"].bottleneck.destroyed
    )


def test_the_shipped_figure_is_what_the_shipped_pair_gives_today() -> None:
    request = BottleneckRequest()
    shipped, now = first_result(request), ew.run(request)
    assert (shipped.hashes, shipped.notes, shipped.failed) == (now.hashes, now.notes, {})
    assert estimate_bottleneck(request).seconds > 0
    for name, then in shipped.models.items():
        one, today = then.bottleneck, now.models[name].bottleneck
        assert (then.tokens, then.tied) == (now.models[name].tokens, now.models[name].tied)
        assert one.destroyed == pytest.approx(today.destroyed, abs=1e-5)
        assert one.random == pytest.approx(one.line, abs=2e-3)
        np.testing.assert_allclose(one.per_position, today.per_position, atol=1e-4)
        np.testing.assert_allclose(one.steps.losses, today.steps.losses, rtol=1e-3)
        np.testing.assert_array_equal(one.spectrum.positions, today.spectrum.positions)
