import socket
import sys
from pathlib import Path

import pytest

from embtie_widgets.app import serve
from embtie_widgets.charts.figures import quick_imports
from embtie_widgets.errors import EmbtieError


def test_a_taken_port_is_told_before_anything_starts() -> None:
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(EmbtieError) as caught:
            serve.serve(port=port, open_browser=False)
    assert str(port) in caught.value.message
    assert "`embtie --port 0`" in caught.value.hint


def test_port_0_takes_a_free_one_and_a_free_one_stays() -> None:
    free = serve.check_port(0)
    assert 0 < free < 2**16
    assert serve.check_port(free) == free


def test_an_impossible_port_or_host_is_told() -> None:
    with pytest.raises(EmbtieError, match="no port"):
        serve.check_port(99999)
    with pytest.raises(EmbtieError, match="no address"):
        serve.check_port(0, "host.invalid")


def test_a_shared_page_shows_no_traceback_ends_idle_kernels_and_never_moves_its_port() -> None:
    known = serve.settings(8000, "localhost", False, True, 20)
    assert known["VoilaConfiguration"]["show_tracebacks"] is False
    assert known["VoilaConfiguration"]["strip_sources"] is True
    assert "file_allowlist" not in known["VoilaConfiguration"]
    assert known["Voila"]["port_retries"] == 0
    assert known["MappingKernelManager"]["cull_idle_timeout"] == 1200


def test_the_notebook_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert serve.notebook().is_file()
    with pytest.raises(EmbtieError, match="missing"):
        serve.notebook("none.ipynb")


def test_the_template_asks_no_other_host() -> None:
    folder = Path(serve.__file__).parent / "jupyter/voila/templates/embtie"
    for file in folder.iterdir():
        assert "http" not in file.read_text(encoding="utf-8")


def test_quick_imports_hide_the_slow_package_only_inside() -> None:
    before = sys.modules.pop("rfc3987_syntax", None)
    try:
        with quick_imports():
            assert sys.modules["rfc3987_syntax"] is None
        assert "rfc3987_syntax" not in sys.modules
    finally:
        if before is not None:
            sys.modules["rfc3987_syntax"] = before


def test_quick_imports_leave_a_loaded_package_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = type(sys)("rfc3987_syntax")
    monkeypatch.setitem(sys.modules, "rfc3987_syntax", loaded)
    with quick_imports():
        assert sys.modules["rfc3987_syntax"] is loaded
    assert sys.modules["rfc3987_syntax"] is loaded
