"""The panel of parameter counts, driven through its controls."""

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from embtie_widgets.jobs.families import supported_families
from embtie_widgets.jobs.packaged import configurations
from embtie_widgets.jobs.run import run
from embtie_widgets.panels.parameters import ParametersPanel
from embtie_widgets.requests import ModelRef, ParametersRequest
from tests.fresh import run_fresh
from tests.panels.fake_jobs import Cost, FakeJob, FakeRunner
from tests.panels.test_exports_and_links import open_page, saved
from tests.sources.models import edit_config, edit_tensors, llama
from tests.sources.models import saved as saved_model


class Direct(FakeRunner):
    """Carries each request out on the spot."""

    def submit(self, request: ParametersRequest, listener: object, previews: bool) -> FakeJob:
        job = FakeJob(request, listener)
        self.jobs.append(job)
        job.finish(run(request))
        return job


@pytest.fixture
def runner() -> Direct:
    return Direct()


@pytest.fixture
def panel(runner: Direct) -> ParametersPanel:
    return ParametersPanel(parts={"runner": runner})


def upload(panel: ParametersPanel, content: bytes) -> None:
    panel.upload.value = (
        {
            "name": "config.json",
            "type": "",
            "size": len(content),
            "content": content,
            "last_modified": datetime.now(UTC),
        },
    )


def rows(table: str) -> list[list[str]]:
    """The texts of the cells, row by row."""
    found = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2])
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in found]


def test_it_opens_with_the_bundled_model_and_the_suite(
    panel: ParametersPanel, runner: Direct
) -> None:
    assert panel.request == ParametersRequest()
    assert not runner.jobs
    assert "66.7 %" in panel.headline.value
    assert len(panel.chart.shown["data"][0]["x"]) == 9
    assert "10,485,76" not in panel.numbers.value
    assert "1,048,576" in panel.numbers.value
    assert "70,426,624" in panel.numbers.value


def test_a_model_of_the_catalogue_is_counted_at_once(panel: ParametersPanel) -> None:
    panel.model.ref.value = "meta-llama/Llama-3.1-8B"
    assert "Llama 3.1 8B" in panel.headline.value
    assert "8,030,261,248" in panel.numbers.value
    assert "ship with embtie" in panel.notes.value


def test_an_unknown_model_waits_for_run(runner: Direct) -> None:
    panel = ParametersPanel(parts={"runner": runner, "estimate": lambda _: None})
    panel.model.ref.value = "someone/model"
    assert panel.state.stale
    assert not runner.jobs
    panel = ParametersPanel(parts={"runner": runner, "estimate": lambda _: Cost()})
    panel.headers.value = True
    assert runner.jobs[-1].request.source == "headers"


def test_a_pasted_configuration_takes_the_models_place(panel: ParametersPanel) -> None:
    panel.config.value = json.dumps(configurations()["EleutherAI/pythia-160m"], indent=2)
    assert "162,322,944" in panel.numbers.value
    assert "Counted from the configuration alone" in panel.notes.value
    assert panel.model.ref.disabled
    panel.config.value = ""
    assert not panel.model.ref.disabled
    assert "nano-untied" in panel.headline.value


def test_a_configuration_that_is_no_json_is_told_with_its_line(panel: ParametersPanel) -> None:
    before = panel.numbers.value
    panel.config.value = '{"model_type": "gpt2",\n oh}'
    assert "no valid JSON (line 2)" in panel.notice.words
    assert panel.numbers.value == before


def test_a_file_can_be_chosen_and_a_wrong_one_is_told(panel: ParametersPanel) -> None:
    upload(panel, json.dumps(configurations()["EleutherAI/pythia-410m"]).encode())
    assert "405,334,016" in panel.numbers.value
    upload(panel, b"\xff\xfe")
    assert "no text of at most 1 MB" in panel.notice.words
    assert "405,334,016" in panel.numbers.value


def test_treating_as_tied_is_offered_for_an_input_alone(
    panel: ParametersPanel, tmp_path: Path
) -> None:
    assert panel.model.as_tied.layout.display == "none"
    folder = saved_model(llama(), tmp_path)
    edit_tensors(folder, drop=("lm_head.weight",))
    edit_config(folder, tie_word_embeddings=False)
    panel.model.ref.value = str(folder)
    assert panel.model.as_tied.layout.display == ""


def test_the_scale_changes_the_bars_and_not_the_request(panel: ParametersPanel) -> None:
    panel.scale.value = "number"
    assert panel.chart.shown["data"][0]["x"][0] == 524_288
    assert panel.request == ParametersRequest()


def test_what_is_printed_of_these_models_is_one_tab_away(panel: ParametersPanel) -> None:
    assert "held against them in Paper tables" in panel.numbers.value
    assert list(panel.pages) == ["counts", "families"]


def test_the_families_are_listed_once_their_page_is_opened(panel: ParametersPanel) -> None:
    assert panel.families.value == ""
    panel.view.value = "families"
    listed = rows(panel.families.value)
    assert len(listed) == len(supported_families().rows) >= 25
    [olmo] = [row for row in listed if row[0] == "olmo"]
    assert olmo[1:4] == ["model.embed_tokens.weight", "lm_head.weight", "no"]
    panel.view.value = "counts"
    assert panel.pages["families"].layout.display == "none"


def test_a_name_that_no_file_can_have_waits_for_run(panel: ParametersPanel) -> None:
    panel.model.ref.value = "x" * 1000
    assert panel.state.stale
    assert panel.notice.words == ""


def test_a_foreign_name_is_no_markup(panel: ParametersPanel, tmp_path: Path) -> None:
    folder = saved_model(llama(), tmp_path / "<img src=x>")
    panel.model.ref.value = str(folder)
    assert "<img" not in panel.headline.value + panel.numbers.value + panel.caption.value
    assert "&lt;img" in panel.headline.value


def test_files_hold_numbers_and_settings(
    panel: ParametersPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, data = saved(panel, "CSV", monkeypatch)
    assert name.startswith("embtie-parameters-")
    frame = pd.read_csv(io.BytesIO(data), skiprows=1)
    assert frame["untied"][1] == 70_426_624
    settings = json.loads(data.decode().splitlines()[0].removeprefix("# "))
    assert settings["request"]["kind"] == "parameters"
    assert b"embtie-settings" in saved(panel, "HTML", monkeypatch)[1]


def test_a_link_opens_model_and_view(panel: ParametersPanel, runner: Direct) -> None:
    panel.model.value = ModelRef("Qwen/Qwen3-8B")
    panel.view.value = "families"
    open_page(panel, "")
    other = ParametersPanel(parts={"runner": runner})
    open_page(other, panel.link.page.query)
    assert other.request == panel.request
    assert other.view.value == "families"


def test_the_code_runs_without_the_page(panel: ParametersPanel) -> None:
    panel.model.value = ModelRef("Qwen/Qwen3-8B")
    names: dict[str, object] = {}
    exec(panel.exports.code.text, names)
    assert names["result"] == panel.result


def test_the_first_views_need_no_torch() -> None:
    code = (
        "import embtie_widgets as ew; panel = ew.ParametersPanel();"
        "panel.model.value = ew.ModelRef('Qwen/Qwen3-4B'); panel.run();"
        "assert '17.6' in panel.headline.value"
    )
    run_fresh(code, "torch", "transformers", "pandas")


def test_a_bare_configuration_is_told_beside_the_headline_to_rest_on_defaults(
    panel: ParametersPanel,
) -> None:
    panel.config.value = '{"model_type": "llama"}'
    assert "does not give vocab_size, hidden_size," in panel.headline.value
    panel.config.value = ""
    assert "Beware" not in panel.headline.value
