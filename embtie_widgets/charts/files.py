"""Charts as files that carry what they show was made with: an offline page, a stamped picture."""

import html
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embtie_widgets.charts.figures import figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_PNG_HEAD = 33  # signature and first chunk, after which others may stand
_KEYWORD = b"embtie\0"
_STYLE = (
    "body{margin:24px auto;max-width:960px;padding:0 16px;color:#1b2330;background:#fff;"
    "font:15px/1.5 system-ui,sans-serif}h1{font-size:20px}"
    ".wide{overflow-x:auto}.caption{font-size:13px;color:#55606f;overflow-wrap:anywhere}"
)
_FIT = (
    "const box = document.getElementById('{plot_id}'), narrow = NARROW;"
    "if (box.clientWidth < 620) {"
    "box.parentElement.style.height = narrow.height + 'px'; Plotly.relayout(box, narrow); }"
)


@dataclass(frozen=True)
class Plots:
    """What of a result is drawn outside its panel: every chart, in plotly's terms as in the panel,
    "data" and "layout", with its caption, under one title."""

    title: str
    charts: tuple[tuple[Mapping[str, Any], str], ...]


def result_page(plots: Plots, settings: str) -> str:
    """The charts as one HTML file that needs nothing else; `settings`, JSON, are inside.

    A chart is as wide as the window allows, and its caption breaks its lines there.  The settings
    stand in the script block of type application/json with the id "embtie-settings".
    """
    title = html.escape(plots.title)
    inside = json.dumps(json.loads(settings)).replace("<", "\\u003c")
    shown = ((figure(spec, "light"), said) for spec, said in plots.charts)
    drawn = "\n".join(_section(plot, said, not i) for i, (plot, said) in enumerate(shown))
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n{drawn}\n"
        f'<script type="application/json" id="embtie-settings">{inside}</script>\n'
        "</body>\n</html>\n"
    )


def _section(plot: "Figure", caption: str, first: bool) -> str:
    """One chart and its caption; plotly's script comes with the first.  On a narrow page a chart
    takes its narrow layout, and one that needs a width can be moved to and fro."""
    fits = plot.layout.meta or {}
    drawn = plot.to_html(
        full_html=False,
        include_plotlyjs=first,
        config={"responsive": True},
        post_script=_FIT.replace("NARROW", json.dumps(fits["narrow"]))
        if "narrow" in fits
        else None,
    )
    if "least" in fits:
        drawn = (
            f'<div class="wide"><div style="min-width:{fits["least"]:.0f}px">{drawn}</div></div>'
        )
    return f'{drawn}\n<p class="caption">{html.escape(caption)}</p>'


def stamped(png: bytes, settings: str) -> bytes:
    """The picture with `settings`, JSON, in a text chunk named "embtie"."""
    ascii_only = json.dumps(json.loads(settings)).encode("ascii")
    body = b"tEXt" + _KEYWORD + ascii_only
    size = struct.pack(">I", len(body) - 4)
    chunk = size + body + struct.pack(">I", zlib.crc32(body))
    return png[:_PNG_HEAD] + chunk + png[_PNG_HEAD:]


def stamp_of(png: bytes) -> Any:
    """The settings inside such a picture, None where there are none."""
    start = png.find(b"tEXt" + _KEYWORD)
    if start < 4:
        return None
    (size,) = struct.unpack(">I", png[start - 4 : start])
    return json.loads(png[start + 4 + len(_KEYWORD) : start + 4 + size])
