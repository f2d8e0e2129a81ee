"""Facts of the catalogue's models that ship with embtie, and what is counted from them.

`python -m embtie_widgets.jobs.packaged` counts the configurations anew; a test holds the file to
what is counted now.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from embtie_widgets.results import Parameters

DATA = Path(__file__).parents[1] / "data"
_COUNTS, _CONFIGURATIONS = DATA / "parameters.json", DATA / "configurations.json"
_SHIPPED = (
    "Counted from facts of its configuration that ship with embtie; its files were not asked."
)


@cache
def packaged_counts() -> Mapping[str, Parameters]:
    """The counts by reference; torch is not needed."""
    value = json.loads(_COUNTS.read_text(encoding="utf-8"))
    return {ref: Parameters(**(one | {"notes": tuple(one["notes"])})) for ref, one in value.items()}


@cache
def configurations() -> Mapping[str, dict[str, Any]]:
    """What of each configuration has a bearing on sizes, by reference."""
    value: dict[str, dict[str, Any]] = json.loads(_CONFIGURATIONS.read_text(encoding="utf-8"))
    return value


def _make() -> None:
    from embtie_widgets.sources.parameters import parameters

    counted = {ref: parameters(ref) for ref in ("nano-untied", "nano-tied")}
    for ref, config in configurations().items():
        one = parameters(config)
        facts = one.settings | {"model": {"source": "embtie", "name": ref}}
        counted[ref] = replace(one, notes=(_SHIPPED,), settings=facts)
    lines = [f"  {json.dumps(ref)}: {json.dumps(asdict(one))}" for ref, one in counted.items()]
    _COUNTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    _make()
