import json
import shutil
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import embtie_widgets
from embtie_widgets.cli import findings, main
from embtie_widgets.cli.doctor import as_text
from embtie_widgets.cli.findings import Finding, package


def doctor(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, object]]]:
    code = main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] == (code == 0)
    return code, {f"{one['section']}: {one['name']}": one for one in report["findings"]}


@pytest.fixture(scope="module")
def broken_pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the bundled pair's files with one byte more in one of them."""
    package_folder = tmp_path_factory.mktemp("package")
    source = Path(embtie_widgets.__file__).parent / "data"
    shutil.copytree(source, package_folder / "data")
    with (package_folder / "data/nano/token_counts.npy").open("ab") as file:
        file.write(b"x")
    return package_folder


def test_a_whole_installation_has_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = doctor(capsys)
    assert [name for name, one in report.items() if one["fault"]] == []
    assert code == 0


def test_the_device_and_every_declared_package_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, report = doctor(capsys)
    assert str(report["Device: usable"]["value"]).endswith("cpu")
    assert {"Packages: torch", "Packages: voila", "Python: python"} <= set(report)
    assert "Packages: pytest" not in report


def test_text_and_json_hold_the_same_findings(capsys: pytest.CaptureFixture[str]) -> None:
    _, report = doctor(capsys)
    main(["doctor"])
    text = capsys.readouterr().out
    assert all(str(one["name"]) in text for one in report.values())


def test_a_missing_package_is_a_fault_with_its_remedy() -> None:
    found = package(Requirement("no-such-package-anywhere>=2"))
    assert found.fault
    assert "pip install 'no-such-package-anywhere>=2'" in found.hint


def test_a_package_out_of_range_is_a_fault() -> None:
    assert package(Requirement("pytest<1")).fault


def test_a_package_in_range_is_none() -> None:
    assert not package(Requirement("pytest>1")).fault


def test_a_missing_requirement_makes_the_exit_code_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(findings.metadata, "requires", lambda _name: ["no-such-package-anywhere"])
    code, report = doctor(capsys)
    assert code == 1
    assert report["Packages: no-such-package-anywhere"]["fault"]


def test_a_changed_file_of_the_bundled_pair_is_named(
    broken_pair: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(embtie_widgets, "__file__", str(broken_pair / "__init__.py"))
    code, report = doctor(capsys)
    assert code == 1
    assert "token_counts.npy" in str(report["Bundled pair: files"]["value"])


def test_the_hub_token_is_never_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecretsecret")
    main(["doctor"])
    text = capsys.readouterr().out
    assert "hub token: set" in text
    assert "hf_secret" not in text


@pytest.mark.parametrize(
    ("off", "said"), [(True, "switched off (HF_HUB_OFFLINE)"), (False, "allowed, not tried")]
)
def test_the_hub_is_called_no_more_than_what_is_known_of_it(
    off: bool, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", off)
    _, report = doctor(capsys)
    assert report["Cache: hub access"]["value"] == said


def test_the_home_folder_is_not_spelt_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "kept"))
    _, report = doctor(capsys)
    assert report["Cache: results"]["value"] == "0.0 MiB in ~/kept"


def test_faults_are_marked_and_named_at_the_end() -> None:
    text = as_text([Finding("S", "good", "1"), Finding("S", "bad", "2", True, "Mend it.")])
    assert "\n  ! bad: 2\n      Mend it.\n" in text
    assert text.endswith("Needs attention: bad.")
