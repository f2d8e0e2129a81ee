import subprocess
import sys

import pytest

import embtie_widgets as ew

HEAVY = ("torch", "transformers", "plotly", "ipywidgets", "pandas")


def fresh(code: str) -> str:
    """What a new interpreter prints when it runs the code."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, embtie_widgets; print([m for m in {HEAVY} if m in sys.modules])"
    assert fresh(code) == "[]"


def test_typing_a_command_loads_nothing_heavy() -> None:
    code = f"import sys, embtie_widgets.cli; print([m for m in {HEAVY} if m in sys.modules])"
    assert fresh(code) == "[]"


def test_every_public_name_is_listed() -> None:
    assert set(ew.__all__) <= set(dir(ew))


@pytest.mark.parametrize("name", ew.__all__)
def test_every_public_name_leads_somewhere(name: str) -> None:
    found = getattr(ew, name)
    assert callable(found)
    assert found.__doc__


def test_a_star_import_gives_every_public_name() -> None:
    code = (
        "from embtie_widgets import *; import embtie_widgets as e; print({*e.__all__} - {*dir()})"
    )
    assert fresh(code) == "set()"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        ew.nonsense  # noqa: B018
