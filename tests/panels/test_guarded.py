"""No callback of ours is bare: in the source, and in every panel when its parts fail."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets as w
import pytest

import embtie_widgets
from embtie_widgets.app.dashboard import TABS, Tab
from embtie_widgets.panels import guard, pair
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.turns import Turns
from tests.panels.fake_jobs import FakeRunner, parts

PACKAGE = Path(embtie_widgets.__file__).parent
REGISTERS = {
    "observe", "on_click", "on_msg", "on_submit", "on_clear", "Thread", "Timer", "UploadButton",
    "add_callback", "call_later", "call_soon", "add_done_callback",
}  # fmt: skip
# What a page calls without registering: it is set as an attribute.
SET = {"clicked", "describe"}
GUARDS = {"guard", "callback", "later", "told", "_turn", "_later"}
# Module and handler, and why it goes bare.
BARE = {
    ("panels/runbar.py", "self._draw"): "of the notice: it would tell itself that it cannot tell",
    ("panels/scatter.py", "self._describe"): "answers with a text; without one no label is shown",
    ("panels/token_views.py", "self.card.place"): "a number, the trait that clicks set",
    ("widgets/aria.py", "self._told"): "puts a text into a table of its own",
    (
        "widgets/aria.py",
        "lambda change: self.follow(change['owner'])",
    ): "adds to that table, and does nothing else",
    (
        "widgets/notices.py",
        "self._receive",
    ): "takes a message off a list, and can do no other thing",
    ("widgets/page.py", "self._receive"): "what it calls is guarded where it is given",
    ("widgets/upload.py", "self._receive"): "the same",
    ("widgets/table.py", "self._receive"): "the same",
    ("widgets/figure.py", "self._receive"): "the same",
    ("widgets/scatter.py", "self._receive"): "the same",
    ("widgets/pictures.py", "self.fail"): "the same",
}
# Controls that change nothing of the panel while what they belong to is not chosen; a revision says
# on its own line what fails.
QUIET = {
    "revision", "by step…", "its name", "its path", "column", "split", "that model", "rate", "seed",
    "setting", "Selected only",
}  # fmt: skip


def _handlers(tree: ast.AST) -> Iterator[ast.expr]:
    """Every expression that is given to be called later."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            name = name.id if isinstance(name, ast.Name) else name
            if name == "Timer":
                yield node.args[1]
            elif name in REGISTERS and name != "Thread" and not _is_decorator(node, tree):
                yield node.args[0]
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Thread"):
            yield from (word.value for word in node.keywords if word.arg == "target")
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Attribute) and target.attr in SET for target in node.targets
        ):
            yield node.value


def _is_decorator(node: ast.Call, tree: ast.AST) -> bool:
    functions = (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))
    return any(node in function.decorator_list for function in functions)


def _is_guarded(handler: ast.expr, guarded: set[str]) -> bool:
    if isinstance(handler, ast.Name):
        return handler.id in guarded
    if not isinstance(handler, ast.Call):
        return False
    name = handler.func.attr if isinstance(handler.func, ast.Attribute) else None
    return (name or getattr(handler.func, "id", "")) in GUARDS


def _bare(source: str) -> list[str]:
    tree = ast.parse(source)
    named = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_guarded(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return [ast.unparse(one) for one in _handlers(tree) if not _is_guarded(one, named)]


def test_every_handler_in_the_source_is_guarded_or_says_why_not() -> None:
    files = [
        *(PACKAGE / "panels").rglob("*.py"),
        *(PACKAGE / "widgets").rglob("*.py"),
        *(PACKAGE / "app" / name for name in ("dashboard.py", "report.py")),  # the server's are not
    ]
    found = {
        (file.relative_to(PACKAGE).as_posix(), handler)
        for file in files
        for handler in _bare(file.read_text(encoding="utf-8"))
    }
    assert len(files) > 90
    assert found == set(BARE)


@pytest.mark.parametrize(
    "source",
    [
        "button.on_click(self._clicked)",
        "control.observe(lambda _: self._show(), 'value')",
        "threading.Timer(3, self._late)",
        "Thread(target=work, daemon=True)",
        "figure.clicked = self._clicked",
        "def f(turned):\n    control.observe(turned, 'value')",
    ],
)
def test_a_bare_handler_is_found(source: str) -> None:
    assert len(_bare(source)) == 1


def _below(widget: Any) -> Iterator[Any]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _below(child)


def _use(control: Any) -> bool:
    """Do what a hand does with it; whether there is anything to do."""
    if isinstance(control, w.Button):
        control.click()
    elif isinstance(control, w.Checkbox | w.ToggleButton):
        control.value = not control.value
    elif isinstance(control, w.Dropdown | w.ToggleButtons):
        others = [one for _, one in control._options_full if one != control.value]
        if not others:
            return False
        control.value = others[0]
    elif isinstance(control, w.FloatText | w.IntText):
        control.value += 1
    elif isinstance(control, w.Text | w.Textarea):
        control.value += "x"
    else:
        return False
    return True


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.kind)
def test_every_control_that_fails_says_so_in_its_panel(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, logged_faults: list[str]
) -> None:
    panel: Panel = tab.make(**parts(FakeRunner()))

    def fail(_turns: Turns) -> None:
        raise ValueError("/home/somebody/secret")

    monkeypatch.setattr(guard, "under_test", lambda: False)
    monkeypatch.setattr(Turns, "hold", fail)
    quiet = []
    for control in list(_below(panel)):
        panel.notice.clear()
        if "ep-fold" in getattr(control, "_dom_classes", ()):
            continue  # shows and hides what is in it, and is no affair of the panel's
        if _use(control) and "went wrong" not in panel.notice.words:
            quiet.append(getattr(control, "description", ""))
        assert "secret" not in panel.notice.words
    assert logged_faults
    logged_faults.clear()
    assert set(quiet) <= QUIET


def test_what_fails_inside_a_control_is_told_by_the_panel_it_is_built_in(
    monkeypatch: pytest.MonkeyPatch, logged_faults: list[str]
) -> None:
    panel = TABS[0].make(**parts(FakeRunner()))

    def fail(*_given: Any) -> None:
        raise ValueError("/home/somebody/secret")

    monkeypatch.setattr(guard, "under_test", lambda: False)
    monkeypatch.setattr(pair, "_hits", fail)
    panel.pair.a.ref.query = "pythia"
    assert "went wrong" in panel.notice.words
    assert "ValueError" in panel.notice.words
    assert "secret" not in panel.notice.words
    assert len(logged_faults) == 1
    logged_faults.clear()
