"""References as people paste them: each is answered with the right way to write it."""

from pathlib import Path

import pytest

import embtie_widgets as ew
from tests.hub_server import hub_of

APART = "Write 'lab/model', and its revision apart: 'step5'."


@pytest.mark.parametrize(
    ("ref", "right"),
    [
        ("lab/model/", "Write 'lab/model'."),
        ("lab/model@step5", APART),
        ("https://huggingface.co/lab/model", "Write 'lab/model'."),
        ("https://huggingface.co/lab/model/", "Write 'lab/model'."),
        ("huggingface.co/lab/model/tree/main", "Write 'lab/model'."),
        ("HTTPS://some.host:8080/lab/model/tree/step5?x=1#y", APART),
        ("https://huggingface.co/lab/model/resolve/step5/config.json", APART),
        ("https://huggingface.co/lab/model/blob/step5/model.safetensors", APART),
        ("https://huggingface.co/", "such as EleutherAI/pythia-70m"),
        ("https://[broken/lab/model", "Write 'lab/model'."),
        ("https://host/../%00/a", "such as EleutherAI/pythia-70m"),
    ],
)
@pytest.mark.parametrize("call", [ew.load, ew.parameters])
def test_what_is_pasted_is_answered_with_what_to_write(ref: str, right: str, call: object) -> None:
    with pytest.raises(ew.EmbtieError) as caught:
        call(ref)  # type: ignore[operator]
    assert right in caught.value.hint
    assert "no folder or file" not in caught.value.message


@pytest.mark.parametrize("ref", ["https://me:secret@host/a/b", "https://host/a/b?token=secret"])
def test_no_secret_of_an_address_is_said_again(ref: str) -> None:
    with pytest.raises(ew.EmbtieError) as caught:
        ew.load(ref)
    assert "Write 'a/b'." in caught.value.hint
    assert "secret" not in str(caught.value)


def test_a_folder_of_that_spelling_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab" / "model@step5").mkdir(parents=True)
    for ref in ("lab/model@step5", "lab/model@step5/"):
        with pytest.raises(ew.EmbtieError) as caught:
            ew.load(ref)
        assert "Write 'lab" not in caught.value.hint


@pytest.mark.parametrize(
    ("ref", "meant"), [("nano-tide", "nano-tied"), ("Nano-Untied", "nano-untied"), ("gpt2", None)]
)
def test_a_bundled_name_with_a_slip_is_asked_after(
    ref: str, meant: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_of(monkeypatch, tmp_path), pytest.raises(ew.EmbtieError) as caught:
        ew.load(ref)
    assert (f"Did you mean {meant}?" in caught.value.hint) == (meant is not None)
