import subprocess
import sys
from pathlib import Path

_REPLACED = """
import sys, time, types
import telling
telling.begun.set()
time.sleep(0.3)
whole = types.ModuleType("transformers")
whole.CONFIG_MAPPING = {}
whole.__spec__ = __spec__
sys.modules["transformers"] = whole
"""
_TWO = """
import threading, telling
from concurrent.futures import ThreadPoolExecutor
from embtie_widgets.sources.library import transformers
with ThreadPoolExecutor(2) as pool:
    first = pool.submit(transformers)
    telling.begun.wait()
    second = pool.submit(transformers)
print(first.result().CONFIG_MAPPING, second.result().CONFIG_MAPPING)
"""


def test_a_thread_that_waits_for_the_import_of_another_gets_the_whole_library(
    tmp_path: Path,
) -> None:
    (tmp_path / "telling.py").write_text("import threading\nbegun = threading.Event()\n")
    (tmp_path / "transformers.py").write_text(_REPLACED)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{_TWO}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.split() == ["{}", "{}"], found.stderr
