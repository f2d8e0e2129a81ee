"""A page that asks for a token, in a browser: it lets in, looks like ours, and no markup that came
from elsewhere runs in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.servers import voila
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
TOKEN = "a-token-of-this-test"
# What would take a page over if it could: what it does is told by the window's name.
_HOSTILE = """() => {
  const refused = [];
  addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
  const box = document.body.appendChild(document.createElement("div"));
  box.innerHTML = `<img src="data:," onerror="name='taken'"><svg onload="name='taken'"></svg>
    <a href="javascript:name='taken'">x</a><form action="https://evil.example"></form>
    <iframe srcdoc="<script>parent.name='taken'</script>"></iframe>
    <img src="https://evil.example/x.png"><object data="data:text/html,x"></object>`;
  const script = document.createElement("script");
  script.textContent = "name='taken'";
  box.append(script);
  box.querySelector("a").click();
  // Later: what a test asks at once may evaluate text.
  setTimeout(() => { try { new Function("name='taken'")(); } catch { refused.push("eval"); } });
  fetch("https://evil.example/").catch(() => {});
  return new Promise((tell) => setTimeout(() => { box.remove(); tell(refused); }, 1000));
}"""


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("asking")
    with voila(folder, base="/embtie/", sign_in="token", token=TOKEN) as address:
        yield address


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
def test_the_token_lets_in_and_foreign_markup_does_nothing(
    chromium: Browser, asking: str, pictures: Path, scheme: str, width: int
) -> None:
    one = Visit(chromium, f"{asking}?embtie=", scheme, width)
    typed = one.page.get_by_label("Token")
    typed.wait_for()
    assert one.page.evaluate("document.activeElement.id") == "token"
    one.page.screenshot(path=pictures / f"sign-in-{scheme}-{width}.png")
    typed.fill("a-wrong-one")
    typed.press("Enter")
    one.page.get_by_role("alert").wait_for()
    assert one.page.get_by_label("Token").get_attribute("aria-invalid") == "true"
    one.page.screenshot(path=pictures / f"refused-{scheme}-{width}.png")
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.page.get_by_label("Token").fill(TOKEN)
    one.page.get_by_role("button", name="Open the page").click()
    one.wait_for_scatter()
    assert one.page.url.startswith(asking)
    assert TOKEN not in one.page.url
    refused = one.page.evaluate(_HOSTILE)
    assert one.page.evaluate("name") == ""
    for kind in ("script-src-attr", "script-src-elem", "img-src", "connect-src", "eval"):
        assert kind in refused
    one.page.goto(f"{asking}voila/tree")
    one.page.get_by_text("That page is not here").wait_for()
    one.page.screenshot(path=pictures / f"nothing-{scheme}-{width}.png")
    one.close()
