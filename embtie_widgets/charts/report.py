"""A report: what panels show, with how it was made, as one page that needs nothing else.

The page carries its charts as data and plotly's script once.  It may run these two scripts, told
by their hashes, and no other; it may fetch nothing, from nowhere.
"""

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from embtie_widgets.charts.figures import figure
from embtie_widgets.charts.theme import templates

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Part:
    """One panel in a report.

    title, lead   its name and its question
    origin        where its result comes from, if not from a run just made; plain text
    shown         its views as markup, with a `slot` for each of the `charts`
    charts        these, in plotly's terms, as the panel draws them
    facts         how it was made, as markup
    request, code  the request as JSON, and the lines that run it
    link          the query of the link that opens it; empty where no link can hold it
    method        its guide, as markup
    """

    title: str
    lead: str
    origin: str
    shown: str
    charts: Sequence[Mapping[str, Any]]
    facts: str
    request: str
    code: str
    link: str
    method: str


def slot(number: int) -> str:
    """The place of a chart in the markup of a part."""
    return f'<div class="er-plot" data-chart="{number}"></div>'


def report_page(
    title: str, made: str, parts: Sequence[Part], citation: str, style: str, settings: str
) -> str:
    """The parts as one HTML file: `made` says by what and when, `citation` is markup, `style` the
    style sheet of the panels, and `settings`, JSON, what the block "embtie-settings" holds."""
    plotly, own = _plotly(), _text("report.js")
    charts = [[_chart(one) for one in part.charts] for part in parts]
    known = {"charts": charts, "templates": templates()}
    alone = len(parts) == 1
    inside = "\n".join(_section(i, part, alone) for i, part in enumerate(parts))
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(plotly, own)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title>"
        f"<style>{style}\n{_text('report.css')}</style></head>\n"
        '<body><main class="embtie-panel er-page">\n'
        f"{_head(title, made, parts)}\n{inside}\n"
        f'<section class="er-part" id="cite"><h2>How to cite</h2>{citation}</section>\n</main>\n'
        f"{_data('embtie-settings', json.loads(settings))}\n{_data('embtie-charts', known)}\n"
        f"<script>{plotly}</script>\n<script>{own}</script>\n</body>\n</html>\n"
    )


def _head(title: str, made: str, parts: Sequence[Part]) -> str:
    names = [part.title for part in parts] if len(parts) > 1 else []
    links = "".join(f'<a href="#part-{i}">{html.escape(name)}</a>' for i, name in enumerate(names))
    listed = f'<nav aria-label="panels">{links}</nav>' if links else ""
    return (
        f'<header class="er-head"><p class="er-mark">embtie report</p><h1>{html.escape(title)}</h1>'
        f'<p class="er-made">{html.escape(made)}</p>{listed}'
        "<noscript><p>The charts need scripts, which are off here; the tables do not.</p>"
        "</noscript></header>"
    )


def _section(number: int, part: Part, alone: bool) -> str:
    """One part; alone, it has its name from the page."""
    name = "" if alone else f"<h2>{html.escape(part.title)}</h2>"
    origin = f'<p class="er-origin">{html.escape(part.origin)}</p>' if part.origin else ""
    link = f"<h4>The link</h4><pre>?{html.escape(part.link)}</pre>" if part.link else ""
    made = (
        f"{part.facts}<h4>The request</h4><pre>{html.escape(part.request)}</pre>"
        f"<h4>In Python</h4><pre>{html.escape(part.code)}</pre>{link}"
    )
    return (
        f'<section class="er-part" id="part-{number}" data-part="{number}">'
        f'{name}<p class="er-lead">{html.escape(part.lead)}</p>{origin}{part.shown}'
        f"{_fold('How this was made', made)}{_fold('Method and how to read it', part.method)}"
        "</section>"
    )


def _fold(title: str, inside: str) -> str:
    return f'<details class="er-fold"><summary>{title}</summary>{inside}</details>' * bool(inside)


def _chart(spec: Mapping[str, Any]) -> Any:
    """A chart as plotly writes it: numbers as bytes, and no template, which the page brings."""
    drawn = json.loads(figure(spec, "light").to_json())
    drawn["layout"].pop("template", None)
    return drawn


def _data(name: str, value: Any) -> str:
    """JSON in a block that it cannot end."""
    inside = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{inside}</script>'


def _policy(*scripts: str) -> str:
    hashes = (hashlib.sha256(one.encode()).digest() for one in scripts)
    named = " ".join(f"'sha256-{base64.b64encode(one).decode()}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {named}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def _plotly() -> str:
    """Plotly's script, as its package brings it."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


@cache
def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
