"""Our markdown as HTML: formulas become MathML, and nothing in a text is ever markup."""

from collections.abc import Sequence
from typing import Any

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin


def rendered(text: str) -> str:
    """The text without its title, as HTML below an h2: its sections are h3."""
    tool = _tool()
    tokens = _without_title(tool.parse(text))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{int(token.tag[1]) + 1}"
        if token.children:
            token.children = _with_links(token.children)
    html: str = tool.renderer.render(tokens, tool.options, {})
    return html


def _tool() -> MarkdownIt:
    tool = MarkdownIt("commonmark", {"html": False}).enable("table")
    return tool.use(dollarmath_plugin, renderer=_formula, allow_space=False, double_inline=True)


def _formula(latex: str, how: dict[str, Any]) -> str:
    return convert(latex, display="block" if how["display_mode"] else "inline")


def _without_title(tokens: list[Token]) -> list[Token]:
    titled = bool(tokens) and tokens[0].type == "heading_open" and tokens[0].tag == "h1"
    return tokens[3:] if titled else tokens


def _with_links(tokens: Sequence[Token]) -> list[Token]:
    """Links to the web open beside the page; those to a file are for readers of the repository."""
    kept, dropping = [], False
    for token in tokens:
        if token.type == "link_open":
            dropping = "://" not in str(token.attrs["href"])
            token.attrSet("target", "_blank")
            token.attrSet("rel", "noopener noreferrer")
        if not (dropping and token.type in ("link_open", "link_close")):
            kept.append(token)
    return kept
