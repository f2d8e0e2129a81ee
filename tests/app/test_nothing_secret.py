"""What a page of strangers is sent holds no token, no path of the server and no traceback, whatever
is asked of it and however it fails.

Secrets are planted in all that a kernel can know: the hub's token, the names of every folder, the
address of a cluster, the words of faults.  Every panel is asked for much that fails and something
that does not, and every message to the page, every state, report and file is looked through.
"""

import io
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ipywidgets import Widget
from ipywidgets.widgets.widget import _instances

from embtie_widgets.app.dashboard import TABS, Dashboard
from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.report import files_of
from embtie_widgets.requests import Request
from embtie_widgets.requests.kinds import KINDS, Kind
from embtie_widgets.requests.link import Link
from embtie_widgets.sources import bounds
from tests.hub_server import TOKEN, hub_of
from tests.sources.models import llama, saved

MARK = "planted7d1f"
SECRETS = (MARK, TOKEN, "Traceback (most", "site-packages", 'File "/', "/tmp/", f"{Path.home()}/")
SECONDS = 120


@dataclass
class Page:
    """The dashboard, and everything that was sent to whoever looks at it."""

    dashboard: Dashboard
    sent: list[str] = field(default_factory=list)
    _read: int = 0

    def panel(self, kind: str) -> Panel:
        """The panel of a kind, in front."""
        self.dashboard.tabs.value = next(tab.name for tab in TABS if tab.kind == kind)
        return self.dashboard.panel

    def ask(self, request: Request, *, run: bool = True) -> Panel:
        """Open a request as a link does, press Run, and wait for what comes of it."""
        panel = self.panel(request.kind)
        panel.callback(panel.open_link)(Link(request))
        self._at_rest(panel)
        if run:
            panel.runbar.run.click()
            self._at_rest(panel)
        return panel

    def _at_rest(self, panel: Panel) -> None:
        answer = panel._answer
        assert answer is None or answer.event.wait(SECONDS), panel.request
        panel.cancel()

    def news(self) -> str:
        """What was sent since this was asked last."""
        before, self._read = self._read, len(self.sent)
        return "\n".join(self.sent[before:])

    def state(self) -> str:
        """What a page that opens now would get."""
        return "\n".join(repr(widget.get_state()) for widget in list(_instances.values()))


def found_in(text: str) -> list[str]:
    """The secrets in it, with what stands around them."""
    places = [(word, text.find(word)) for word in SECRETS]
    return [f"{word}: ...{text[max(at - 150, 0) : at + 80]}..." for word, at in places if at >= 0]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A public page of an owner who has laid out some of everything."""
    place = tmp_path_factory.mktemp("served") / MARK
    lay_out(place)
    sent: list[str] = []
    with pytest.MonkeyPatch.context() as patch, hub_of(patch, place / "hub") as hub:
        hub.add("owner/model", saved(llama(), place / "for the hub"), "step1", "step2")
        hub.faults.api = (403, "GatedRepo")
        for name in ("MODELS", "CORPORA", "LENSES", "RUNS", "TASKS"):
            patch.setenv(f"EMBTIE_{name}", str(place / name.lower()))
        told = {"SERVED": "1", "PUBLIC": "1", "CATALOGUE": str(place / "mine.toml"),
                "CACHE": str(place / "cache"), "CLUSTER": f"tcp://{MARK}.invalid:1"}  # fmt: skip
        for name, value in told.items():
            patch.setenv(f"EMBTIE_{name}", value)
        patch.setattr(bounds, "_fetched", 0)
        patch.setattr(Widget, "_send", lambda _, msg, buffers=None: sent.append(repr(msg)))
        patch.chdir(place)
        made = Page(Dashboard(), sent)
        yield made
        made.dashboard.close()


def lay_out(place: Path) -> None:
    """What the owner offers, some of it sound."""
    for name in ("models", "corpora", "lenses", "runs", "tasks", "cache"):
        (place / name).mkdir(parents=True)
    saved(llama(), place / "models" / "good")
    shutil.copytree(place / "models" / "good", place / "models" / "cut")
    weights = place / "models" / "cut" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-40])
    shutil.copytree(place / "models" / "good", place / "models" / "odd")
    (place / "models" / "odd" / "config.json").write_text('{"model_type": 3}')
    np.save(place / "models" / "E.npy", np.ones((4, 3), np.float32))
    (place / "models" / "bad.gguf").write_bytes(b"GGUF" + bytes(40))
    (place / "mine.toml").write_text('[[model]]\nref = "owner/model"\n')
    (place / "corpora" / "good.txt").write_text("the cat sat on the mat\n" * 20)
    (place / "corpora" / "bad.txt").write_bytes(b"\xff\xfe\x00" * 20)
    (place / "corpora" / "bad.csv").write_text("a,b\n1\n")
    (place / "lenses" / "bad.safetensors").write_bytes(bytes(40))
    (place / "runs" / "good.csv").write_text("step,input_norm,output_norm\n0,1,2\n1,2,3\n")
    (place / "runs" / "bad.csv").write_bytes(b"\xff\x00,b\n1\n")
    (place / "runs" / "empty").mkdir()
    (place / "tasks" / "piqa").mkdir()
    (place / "tasks" / "piqa" / "piqa.jsonl").write_text("{no json}\n")


MODELS = ("cut", "odd", "bad.gguf", "E.npy", "owner/model", "owner/none", "/etc/passwd", "good")
TEXTS = ("bad.txt", "bad.csv", "none.txt", "../mine.toml", "/etc/passwd", "datasets:a/b")
FILES = ("bad.csv", "none.csv", "empty", "../mine.toml", "/etc/passwd")
NAMED: dict[str, tuple[str, ...]] = {
    "a": MODELS, "model": MODELS, "tokenizer": ("odd", "bad.gguf", "owner/model", "/etc/passwd"),
    "corpus": TEXTS, "file": FILES,
    "data": ("none", "/etc/passwd"), "files": ("piqa", "none", "/etc"),
    "translators_a": ("bad.safetensors", "none", "/etc/passwd", "uploaded:" + "0" * 64),
}  # fmt: skip
SMALL: dict[str, Any] = {
    "steps": 2, "device": "cpu", "positions": 4, "epochs": 1, "count": 2, "letters": 200,
    "limit": 2, "statistics": 200,
    "items": ("centering-time",),
}  # fmt: skip


FULL = ("align", "norm-frequency", "drift")
"""Kinds that are asked for every name of a list; of the others' lists two are taken in turn."""


def source_for(kind: str, name: str, value: str) -> dict[str, str]:
    """The source that a request needs for what it names to be opened."""
    wanted = {
        "model": ("model", "text"), "corpus": ("train",), "tokenizer": ("train",),
        "file": ("run", "file") if value == "empty" else ("file", "run"),
    }.get(name, ())  # fmt: skip
    for source in wanted:
        try:
            KINDS[kind].request(source=source, file=value)
        except (EmbtieError, TypeError):
            continue
        return {"source": source}
    return {}


def requests_of(kind: str) -> Iterator[Request]:
    """Requests of a kind that name each thing in turn, most of them wrong, for little work."""
    known = KINDS[kind].request
    names = {one.name for one in fields(known)}
    least = {name: value for name, value in SMALL.items() if name in names}
    turn = list(KINDS).index(kind)
    for name in sorted(NAMED.keys() & names):
        listed = NAMED[name]
        some = (listed[turn % len(listed)], listed[(turn + 1) % len(listed)])
        for value in listed if kind in FULL else some:
            tasks = {"tasks": ("piqa",)} if name == "files" else {}
            yield known(**{**least, **tasks, **source_for(kind, name, value), name: value})


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "staircase"])
def test_no_secret_reaches_the_page_whatever_is_named(kind: str, page: Page) -> None:
    failed = 0
    for request in requests_of(kind):
        panel = page.ask(request)
        failed += bool(panel.notice.messages)
        assert not found_in(page.news()), request
    assert failed > 0
    assert not found_in(page.state())


FAULTS = (
    RuntimeError(f"{TOKEN} in /tmp/{MARK}"),
    FileNotFoundError(2, "No such file", f"/tmp/{MARK}/a"),
    KeyError(f"{Path.home()}/{MARK}"),
    MemoryError(MARK),
)


@pytest.mark.parametrize("part", ["run", "look", "estimate"])
def test_no_fault_of_our_own_is_told_in_its_words(
    part: str, page: Page, monkeypatch: pytest.MonkeyPatch, logged_faults: list[str]
) -> None:
    whole, faults = Kind.part, cycle(FAULTS)

    def broken(*_: Any) -> Any:
        raise next(faults)

    def part_of(kind: Kind, name: str) -> Any:
        return broken if name == part else whole(kind, name)

    monkeypatch.setattr(Kind, "part", part_of)
    monkeypatch.setattr("embtie_widgets.panels.guard.under_test", lambda: False)
    long = {"staircase": {"epochs": 5_000}, "input-scaling": {"steps": 2_000}}
    for kind, changed in long.items():  # what is quick is run and not looked for
        panel = page.ask(KINDS[kind].request(seed=len(part), **changed), run=part == "run")
        assert panel.notice.messages, kind
        assert not found_in(page.news()), kind
    assert not found_in(page.state())
    assert logged_faults
    logged_faults.clear()


SOUND = {
    "align": {"a": "good", "b": "good", "device": "cpu"},
    "geometry": {"a": "good", "b": "good", "device": "cpu", "k": 2, "spectral": False},
    "norm-frequency": {"corpus": "good.txt"},
    "gradient-flow": {"source": "file", "file": "good.csv"},
    "checkpoints": {"model": "good", "revisions": ("step-1",), "depth": "names"},
    "parameters": {"model": "good", "source": "headers"},
}


@pytest.mark.parametrize("kind", SOUND)
def test_no_secret_is_in_what_a_page_gives_away(kind: str, page: Page) -> None:
    panel = page.ask(KINDS[kind].request(**SOUND[kind]))
    assert panel.result is not None, panel.notice.messages
    given = [page.news(), page.state(), panel.exports.code.text]
    for offer in panel.exports._offers:
        if offer.make is not None and offer.needs(panel.state):
            given += unpacked(offer.make(panel.state.answered, panel.result))
    assert len(given) > 5
    for text in given:
        assert not found_in(text)


def test_no_secret_is_in_the_report_of_all_that_is_open(page: Page) -> None:
    request = KINDS["align"].request(**SOUND["align"])
    if "align" not in {panel.request.kind for panel in page.dashboard.opened()}:
        page.ask(request)
    files = files_of(page.dashboard.opened, lambda: page.dashboard.panel)
    given = [text for make in files.values() for text in unpacked(make())]
    assert len(given) > 5
    for text in given:
        assert not found_in(text)


def unpacked(data: bytes) -> list[str]:
    """A file as text, every member of an archive apart."""
    if not data.startswith(b"PK"):
        return [data.decode("utf-8", "replace")]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        inside = (unpacked(archive.read(name)) for name in archive.namelist())
        return [text for texts in inside for text in texts] + archive.namelist()


def test_what_is_looked_for_would_be_found(page: Page) -> None:
    notice = page.dashboard.panel.notice
    notice.show(EmbtieError(f"in /{MARK}"))
    assert found_in(page.news())
    assert found_in(page.state())
    notice.clear()
