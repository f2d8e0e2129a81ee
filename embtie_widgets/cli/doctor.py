"""`embtie doctor`: what is installed, which device would compute, what is cached."""

import argparse
import json
from dataclasses import asdict
from itertools import groupby

from embtie_widgets import __version__
from embtie_widgets.cli.findings import Finding, examine

SICK = 1


def doctor(arguments: argparse.Namespace) -> int:
    """Print every finding; 1 if something required is missing or damaged."""
    findings = examine()
    well = not any(finding.fault for finding in findings)
    if arguments.json:
        print(json.dumps({"embtie": __version__, "ok": well, "findings": [*map(asdict, findings)]}))
    else:
        print(as_text(findings))
    return 0 if well else SICK


def as_text(findings: list[Finding]) -> str:
    """One paragraph a section, each fault with what to do about it, and a closing line."""
    paragraphs = [
        "\n".join([section, *map(_line, group)])
        for section, group in groupby(findings, key=lambda finding: finding.section)
    ]
    faults = [finding.name for finding in findings if finding.fault]
    closing = f"Needs attention: {', '.join(faults)}." if faults else "Everything needed is there."
    return "\n\n".join([f"embtie {__version__}", *paragraphs, closing])


def _line(finding: Finding) -> str:
    mark = "!" if finding.fault else " "
    hint = f"\n      {finding.hint}" if finding.hint else ""
    return f"  {mark} {finding.name}: {finding.value}{hint}"
