"""A report as a zip: read back equal, and with distrust."""

import io
import json
import pickle
import random
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import report as reports
from embtie_widgets.jobs.asked import asked_in
from embtie_widgets.jobs.citation import papers, software
from embtie_widgets.jobs.first import first_result
from embtie_widgets.jobs.report import Saved, read_report, report_zip
from embtie_widgets.requests import AlignRequest, CheckpointsRequest
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.reading import to_json
from embtie_widgets.results.storage import to_bytes

MADE = "2026-11-30T12:00:00+00:00"
ALIGN, STEPS = AlignRequest(), CheckpointsRequest()


def saved() -> Saved:
    result, view = first_result(ALIGN), {"zoom": "0,1,0,1", "find": "x" * 300}
    return Saved(AlignRequest(seed=3), ALIGN, None, result, frozenset(range(100)), view)


@pytest.fixture(scope="module")
def archive() -> bytes:
    return report_zip([Saved(STEPS), saved()], "align", lambda _: "<p>half \ud800</p>", MADE)


def changed(archive: bytes, name: str, change: Callable[[bytes], bytes | None]) -> bytes:
    """The archive with one entry changed, or left out for None."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(file, "w") as new:
        for one in old.namelist():
            data = change(old.read(one)) if one == name else old.read(one)
            if data is not None:
                new.writestr(one, data)
    return file.getvalue()


def told(archive: bytes, **about: Any) -> bytes:
    """The archive with other words in its report.json."""
    return changed(
        archive, "report.json", lambda data: json.dumps(json.loads(data) | about).encode()
    )


def of_align(archive: bytes, **about: Any) -> bytes:
    """The archive with other words about its second panel."""

    def change(data: bytes) -> bytes:
        value = json.loads(data)
        value["panels"][1] |= about
        return json.dumps(value).encode()

    return changed(archive, "report.json", change)


def test_a_report_is_read_back_whole(archive: bytes) -> None:
    opened = read_report(archive)
    assert (opened.made, opened.front) == (MADE, "align")
    empty, whole = opened.panels
    assert empty == Saved(STEPS)
    one = saved()
    assert (whole.request, whole.answered, whole.tokens) == (one.request, ALIGN, one.tokens)
    assert whole.view == one.view
    assert to_bytes(whole.result) == to_bytes(one.result)
    assert "2026-11-30" in opened.words


def test_the_zip_has_page_tables_request_and_link(archive: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        names = set(zipped.namelist())
        about = json.loads(zipped.read("report.json"))
        page = zipped.read("report.html")
    wanted = {"request.json", "result.json", "tokens.csv", "result.npz"}
    assert names == {"report.html", "report.json"} | {f"align/{name}" for name in wanted}
    assert page == b"<p>half \\ud800</p>"
    link = decode(about["panels"][1]["link"])
    assert link is not None
    assert link.request == ALIGN


def test_the_json_alone_opens_like_links(archive: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        opened = read_report(zipped.read("report.json"))
    assert [one.result for one in opened.panels] == [None, None]
    assert opened.panels[1].request == AlignRequest(seed=3)


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"embtie-report": 2}, "version 2"),
        ({"embtie-report": True}, "version True"),
        ({"panels": []}, "no panels"),
        ({"panels": [{}] * 41}, "too many"),
        ({"panels": ["x"]}, "cannot be read"),
        ({"panels": [{"request": {"kind": "nope"}}]}, "kind is 'nope'"),
    ],
)
def test_a_forged_list_is_refused(archive: bytes, about: dict[str, Any], words: str) -> None:
    with pytest.raises(EmbtieError, match=words):
        read_report(told(archive, **about))


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"tokens": [-1]}, "chooses tokens"),
        ({"tokens": [True]}, "chooses tokens"),
        ({"tokens": "all"}, "chooses tokens"),
        ({"view": {"a": 1}}, "looks at"),
        ({"view": {"a": "x" * 5000}}, "looks at"),
        ({"sha256": "0" * 64}, "changed after it was saved"),
        ({"request": json.loads(to_json(STEPS))}, "another kind"),
        ({"answered": {"embtie": 9999, "kind": "align"}}, "version 9999"),
    ],
)
def test_a_forged_panel_is_refused(archive: bytes, about: dict[str, Any], words: str) -> None:
    with pytest.raises(EmbtieError, match=words):
        read_report(of_align(archive, **about))


def test_one_panel_twice_is_refused(archive: bytes) -> None:
    one = json.loads(changed_json(archive))["panels"][0]
    with pytest.raises(EmbtieError, match="twice"):
        read_report(told(archive, panels=[one, one]))


def changed_json(archive: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        return zipped.read("report.json")


def test_words_of_a_report_are_no_markup(archive: bytes) -> None:
    opened = read_report(told(archive, made="<b>x</b>", embtie="<img>", front="<i>"))
    assert (opened.made, opened.version, opened.front) == ("unknown", "unknown", "checkpoints")


def test_names_that_lead_elsewhere_are_never_read(archive: bytes, tmp_path: Path) -> None:
    file = io.BytesIO(archive)
    with zipfile.ZipFile(file, "a") as zipped:
        zipped.writestr("../../evil.txt", "x")
        zipped.writestr("/etc/evil", "x")
    assert read_report(file.getvalue()).front == "align"
    assert list(tmp_path.iterdir()) == []


def test_a_result_that_is_a_pickle_is_refused(archive: bytes) -> None:
    import hashlib

    data = pickle.dumps({"a": 1})
    told_of = of_align(archive, sha256=hashlib.sha256(data).hexdigest())
    with pytest.raises(EmbtieError, match="no archive"):
        read_report(changed(told_of, "align/result.npz", lambda _: data))


def test_a_bomb_is_not_unpacked(archive: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "_MOST_OF_RESULT", 1000)
    with pytest.raises(EmbtieError, match=r"result\.npz.*larger than"):
        read_report(archive)
    monkeypatch.setattr(reports, "_MOST_OF_JSON", 100)
    with pytest.raises(EmbtieError, match=r"report\.json.*larger than"):
        read_report(archive)
    monkeypatch.setattr(reports, "MOST_BYTES", 100)
    with pytest.raises(EmbtieError, match="a report has at most"):
        read_report(archive)


@pytest.mark.parametrize("limit", ["_MOST_OF_RESULT", "_MOST_IN_ALL"])
def test_a_large_result_is_left_out_and_said_so(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, limit, 1000)
    data = report_zip([saved()], "align", page_with_notes, MADE)
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        names = zipped.namelist()
        notes = json.loads(zipped.read("report.json"))["notes"]
        assert zipped.read("report.html").decode() == str(notes)
    assert "align/tokens.csv" in names
    assert "align/result.npz" not in names
    assert "is not in the ZIP, since at most 1 kB" in notes["align"]
    assert read_report(data).panels[0].result is None


def test_a_report_too_large_to_open_says_so_and_what_opens_in_its_place(
    archive: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        assert json.loads(zipped.read("report.json"))["notes"] == {}
    monkeypatch.setattr(reports, "MOST_BYTES", 50_000)
    data = report_zip([saved()], "align", page_with_notes, MADE)
    with pytest.raises(EmbtieError, match="at most 50 kB") as refused:
        read_report(data)
    assert "report.json" in str(refused.value.hint)
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        alone = zipped.read("report.json")
        assert "align/result.npz" in zipped.namelist()
        assert "open its report.json alone" in zipped.read("report.html").decode()
    assert "more than the 50 kB" in json.loads(alone)["notes"]["report"]
    assert read_report(alone).panels[0].request == AlignRequest(seed=3)


def page_with_notes(notes: Mapping[str, str]) -> str:
    return str(dict(notes))


def test_a_missing_or_doubled_entry_is_told(archive: bytes) -> None:
    for name in ("report.json", "align/result.npz"):
        with pytest.raises(EmbtieError, match="There is no"):
            read_report(changed(archive, name, lambda _: None))


def test_a_damaged_file_is_told_wherever_the_damage_is(archive: bytes) -> None:
    draw, refused = random.Random(0), 0
    for _ in range(150):
        data = bytearray(archive)
        for place in draw.sample(range(len(data)), 20):
            data[place] ^= 1 << draw.randrange(8)
        try:
            read_report(bytes(data[: draw.choice([len(data), draw.randrange(len(data))])]))
        except EmbtieError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("way", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_what_is_packed_in_another_way_is_refused(archive: bytes, way: int) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", way) as zipped:
        zipped.writestr("report.json", changed_json(archive))
    with pytest.raises(EmbtieError, match="packed in another way"):
        read_report(file.getvalue())


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"{", b"{}", b"\x00" * 50, b'{"a": [' * 9999])
def test_what_is_no_report_is_one_sentence(data: bytes) -> None:
    with pytest.raises(EmbtieError, match=r"no whole zip|no report"):
        read_report(data)


def test_a_request_is_asked_for_in_every_form(archive: bytes, tmp_path: Path) -> None:
    request = AlignRequest(seed=7)
    (tmp_path / "r.json").write_text(to_json(request))
    (tmp_path / "r.zip").write_bytes(archive)
    query = encode(request, {3, 5}, {"x": "count"})
    for form in (request, to_json(request), tmp_path / "r.json", str(tmp_path / "r.json")):
        assert asked_in(form).panels == (Saved(request),)
    for form in (query, f"?{query}", f"https://a.b/c.d?{query}"):
        (one,) = asked_in(form).panels
        assert (one.request, one.tokens, one.view) == (request, {3, 5}, {"x": "count"})
    (tmp_path / "list.json").write_bytes(changed_json(archive))
    for name, seed in (("r.zip", 0), ("list.json", 3)):  # of the list alone what was asked for
        asked = asked_in(tmp_path / name)
        assert [one.request for one in asked.panels] == [STEPS, AlignRequest(seed=seed)]
        assert (asked.front, asked.panels[1].result) == (1, None)
        assert len(asked.panels[1].tokens) == 100
    for wrong in ("nothing.zip", "nothing.json", "embtie=x&kind=y", 5):
        with pytest.raises(EmbtieError):
            asked_in(wrong)


def test_what_was_a_preview_is_asked_for_whole(tmp_path: Path) -> None:
    one = Saved(ALIGN, AlignRequest(seed=1), ALIGN, first_result(ALIGN))
    (tmp_path / "r.zip").write_bytes(report_zip([one], "align", " ".join, MADE))
    assert asked_in(tmp_path / "r.zip").panels[0].request == ALIGN


def test_embtie_and_the_papers_of_a_kind_are_cited() -> None:
    from embtie_widgets import __version__

    assert __version__ in software().text
    (paper,) = papers(["align"])
    assert paper.arxiv == "2603.26663"
    assert paper.text.startswith("Antonio Lopardo, ")
    assert {one.arxiv for one in papers(["align", "centering"])} >= {"2603.26663", "2601.02031"}
