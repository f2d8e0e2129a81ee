"""Where a model's parameters are, tied and untied: two bars for it and for each of a suite.

The token matrices stand first in every bar, so that on the scale of shares their end can be read
off the axis.
"""

from typing import TYPE_CHECKING, Any

from embtie_widgets.charts import figures
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.files import Plots
from embtie_widgets.charts.theme import ROLES, Mark, mark_of
from embtie_widgets.results import ParameterReport, Parameters

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "SCALES",
    "caption",
    "figure",
    "headline",
    "millions",
    "percent",
    "plots",
    "spec",
    "text",
]
SCALES = ("share", "number")
_UNTIED, _TIED, _THICK = -0.2, 0.2, 0.34
# A second sign beside the colour.
_PATTERNS = {"input": "/", "output": "", "tied": "x", "body": ""}
_AXES = {
    "share": "% of the untied model",
    "number": "parameters",
}


def millions(number: int) -> str:
    """A number of parameters as papers give it: 70.4 M."""
    return f"{number / 1e6:,.1f} M"


def percent(share: float) -> str:
    """A share with one place: 73.1 %."""
    return f"{100 * share:.1f} %"


def figure(result: ParameterReport, theme: str = "light", scale: str = "share") -> "Figure":
    """The chart as a plain figure with its caption inside, for exports."""
    return figures.captioned(spec(result, scale), caption(result), theme, 600, 110, -0.16)


def spec(result: ParameterReport | None, scale: str = "share") -> dict[str, Any]:
    """The chart in plotly's terms, "data" and "layout"; without a result its axes alone."""
    return {"data": _traces(result, scale), "layout": _layout(result, scale)}


def plots(result: ParameterReport) -> Plots:
    """The chart with its caption."""
    return Plots(headline(result), ((spec(result), caption(result)),))


def text(_request: Any, result: ParameterReport) -> str:
    """What the command line prints: the sentence, the numbers of every model, the notes."""
    head = ("", "untied", "tied", "saved", "share")
    rows = [
        (name, *(f"{n:,}" for n in (one.untied, one.tied, one.saved)), percent(one.share))
        for name, one in result.rows().items()
    ]
    wide = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = [
        "  ".join(
            [row[0].ljust(wide[0]), *(c.rjust(n) for c, n in zip(row[1:], wide[1:], strict=True))]
        )
        for row in (head, *rows)
    ]
    notes = "\n".join(f"note: {note}" for note in result.notes)
    parts = [headline(result), warning(result), caption(result), "\n".join(lines), notes]
    return "\n\n".join(part for part in parts if part)


def headline(result: ParameterReport) -> str:
    """What tying saves, in one sentence."""
    one = result.model
    if _from_configuration(result):
        return (
            f"By its configuration, a {result.name} has {percent(one.share)} of its untied "
            f"parameters in token matrices; tying saves {millions(one.saved)} of "
            f"{millions(one.untied)}."
        )
    return (
        f"Token matrices are {percent(one.share)} of {result.name} in its untied form; tying saves "
        f"{millions(one.saved)} of {millions(one.untied)} parameters."
    )


def warning(result: ParameterReport) -> str:
    """Which sizes nobody gave, where the headline rests on them; empty where all are given."""
    assumed = result.model.settings["model"].get("assumed", ())
    if not assumed:
        return ""
    some = f"{', '.join(assumed[:-1])} and {assumed[-1]}" if assumed[1:] else assumed[0]
    return (
        f"The configuration does not give {some}: the defaults of its type were taken, which are "
        "those of no particular model."
    )


def _from_configuration(result: ParameterReport) -> bool:
    facts = result.model.settings["model"]
    return facts.get("source") == "configuration" and "name" not in facts


def caption(result: ParameterReport) -> str:
    """What the picture rests on: where the numbers are from, V x d, and what the files hold."""
    facts = result.model.settings
    source = str(facts["model"].get("source", ""))
    revision = facts["model"].get("revision")
    said = [
        f"{result.name}: V = {facts['rows']:,}, d = {facts['width']:,}",
        _SOURCES.get(source, source) + (f" at {revision}" if revision else ""),
        f"status: {facts['status']}",
        "upper bars untied, lower bars tied; exact counts",
    ]
    return "; ".join(said) + "."


_SOURCES = {
    "embtie": "from facts of its configuration that ship with embtie",
    "configuration": "from the configuration alone",
    "hub": "from the headers of its files on the hub",
    "folder": "from the headers of its files",
    "bundled": "from the headers of its files",
    "gguf": "from the header of its file",
    "model": "from the model in memory",
}


def _rows(result: ParameterReport | None) -> dict[str, Parameters]:
    return {} if result is None else result.rows()


def _traces(result: ParameterReport | None, scale: str) -> list[dict[str, Any]]:
    """Always the same four traces, in the order in which they are stacked."""
    rows = list(_rows(result).items())
    untied = [i + _UNTIED for i in range(len(rows))]
    tied = [i + _TIED for i in range(len(rows))]
    return [
        _bars("input", rows, untied, "input", scale),
        _bars("output", rows, untied, "output", scale),
        _bars("tied", rows, tied, "input", scale),
        _bars("body", rows * 2, untied + tied, "body", scale),
    ]


def _bars(
    role: str, rows: list[tuple[str, Parameters]], at: list[float], part: str, scale: str
) -> dict[str, Any]:
    mark: Mark = ROLES.get(role, mark_of(""))
    sizes = [getattr(one, part) for _, one in rows]
    whole = [one.untied / 100 if scale == "share" else 1 for _, one in rows]
    texts = [
        f"{plain(name)}: {size:,} ({percent(size / one.untied)})"
        for (name, one), size in zip(rows, sizes, strict=True)
    ]
    return {
        "type": "bar",
        "orientation": "h",
        "name": {"body": "body", "tied": "tied matrix"}.get(role, f"{role} matrix"),
        "x": [size / all_ for size, all_ in zip(sizes, whole, strict=True)],
        "y": at,
        "width": _THICK,
        "hovertext": texts,
        "hovertemplate": "%{hovertext}<extra>%{fullData.name}</extra>",
        "marker": {
            "color": mark.color,
            "line": {"width": 0},
            "opacity": 0.45 if role == "body" else 1,
            "pattern": {"shape": _PATTERNS[role], "fillmode": "overlay", "solidity": 0.18},
        },
    }


def _layout(result: ParameterReport | None, scale: str) -> dict[str, Any]:
    names = list(_rows(result))
    labels = [plain(_short(name)) for name in names]
    labels[:1] = [f"<b>{label}</b>" for label in labels[:1]]
    return {
        "uirevision": scale,
        "height": 480,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "barmode": "stack",
        "hovermode": "closest",
        "dragmode": "zoom",
        "xaxis": {
            "title": {"text": _AXES[scale]},
            "rangemode": "tozero",
            "range": [0, 100] if scale == "share" else None,
            "autorange": scale != "share",
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
        },
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(range(len(names))),
            "ticktext": labels,
            "range": [max(len(names), 1) - 0.45, -0.55],
            "zeroline": False,
            "showgrid": False,
            "tickfont": {"size": 13},
            "ticklabelstandoff": 6,
        },
        "legend": {
            "orientation": "h",
            "traceorder": "normal",
            "x": 0,
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
        },
    }


def _short(name: str, most: int = 24) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
