"""axe-core asked in a page: which rules of WCAG 2.2, level A and AA, and which habits it breaks."""

from functools import cache
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

# "Best practices" go beyond WCAG: landmarks, headings in order, no empty head of a column.
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# The parts of a drawing are one picture to who hears it, and `reading` measures their contrast;
# rows of a table are alike.
_APART = [".main-svg > *", "tbody tr:nth-child(n + 6)"]
_ASK = """async ([wanted, exclude]) => {
  const asked = { runOnly: wanted, resultTypes: ["violations"] };
  if (wanted.type === "tag") asked.rules = { "target-size": { enabled: true } };
  const { violations } = await axe.run({ include: [document], exclude }, asked);
  return violations.flatMap(({ id, nodes }) => nodes.map((node) =>
    `${id}: ${node.target.join(" ")} ${node.html.slice(0, 120)}`));
}"""


@cache
def _script() -> str:
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Page, only: str = "") -> list[str]:
    """Every element that breaks a rule, or the `only` rule that is asked for, as "rule: where"."""
    if page.evaluate("typeof axe") != "object":
        page.evaluate(_script())
    rules = {"type": "rule", "values": [only]} if only else {"type": "tag", "values": _TAGS}
    found: list[str] = page.evaluate(_ASK, [rules, _APART])
    return found
