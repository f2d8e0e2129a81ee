// What ipywidgets leaves unsaid: states, names and groups of its controls.

const SCROLLING = ".ep-scroll, .ep-guide .math.block, .ep-guide pre";
const DESCRIBED = "input:not([type=radio]), select, textarea, .noUi-handle, .widget-label, .widget-label-basic span";
const STRIPS = ".ep-tabs > div, .ep-exports"; // rows that scroll sideways where there is little room

function tell(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value && element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
  }
}

function nameSliders(root) {
  for (const slider of root.querySelectorAll(".widget-slider")) {
    const name = slider.querySelector(".widget-label")?.textContent;
    for (const part of slider.querySelectorAll(".noUi-handle, .widget-readout")) {
      tell(part, { "aria-label": name, role: part.getAttribute("role") ?? "textbox" });
    }
  }
}

// On or off is a colour there, and a word here.
function tellStates(root) {
  for (const button of root.querySelectorAll(".widget-toggle-button")) {
    const state = button.closest(".ep-tabs") ? "aria-selected"
      : button.matches(".ep-fold") ? "aria-expanded" : "aria-pressed";
    tell(button, { [state]: String(button.classList.contains("mod-active")) });
  }
}

// Words of a label that is there for the eye, or of the tooltip of a row that has no label.
function labelOf(row) {
  const label = row.parentElement.querySelector(":scope > .widget-label");
  const title = label?.title === "null" ? "" : label?.title;
  return label?.textContent || title || headingOf(row);
}

const headingOf = (one) => one.closest(".ep-section, .ep-card")?.querySelector(".ep-heading")?.textContent;

function tellRows(root) {
  root.querySelectorAll(ROWS).forEach(stopOnce);
  for (const row of root.querySelectorAll(".modebar")) tell(row, { "aria-label": "Chart tools", ...OWN_KEYS });
  for (const row of root.querySelectorAll(".widget-toggle-buttons > div")) {
    const tabs = row.parentElement.matches(".ep-tabs");
    const name = tabs ? "Panels" : labelOf(row);
    tell(row, { role: tabs ? "tablist" : "group", "aria-label": name, ...OWN_KEYS });
  }
  for (const row of root.querySelectorAll(".ep-chips")) {
    const name = headingOf(row);
    tell(row, { role: name && "group", "aria-label": name });
  }
}

function tellTabs(root) {
  const place = root.querySelector(".ep-place");
  for (const tab of root.querySelectorAll(".ep-tabs button")) {
    tell(tab, { role: "tab" });
    if (!tab.matches(".mod-active")) continue;
    if (place) tell(place, { role: "tabpanel", "aria-label": tab.textContent });
    bringIntoView(tab, tab.parentElement);
  }
}

// To the middle of its row, once after each change of either; then the reader may scroll on.
function bringIntoView(tab, row) {
  const shown = `${tab.textContent} ${row.clientWidth}`;
  if (row.dataset.shown === shown) return;
  row.dataset.shown = shown;
  const [{ left, width }, whole] = [tab.getBoundingClientRect(), row.getBoundingClientRect()];
  row.scrollLeft += left + width / 2 - whole.left - whole.width / 2;
}

function tellStrips(root) {
  for (const row of root.querySelectorAll(STRIPS)) {
    const after = row.scrollWidth - row.clientWidth - row.scrollLeft;
    row.dataset.strip = [row.scrollLeft > 1 ? "start" : "", after > 1 ? "end" : ""].join(" ").trim();
  }
}

// A box that scrolls is a stop of the Tab key while there is something to scroll and nothing else
// in it to stop at; and it says on which side there is more.
function tellScrolling(root) {
  for (const box of root.querySelectorAll(SCROLLING)) {
    const more = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    const stops = more && !box.querySelector("button, input, select, a[href]");
    if (!stops) {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    } else {
      const name = box.querySelector("[aria-label]")?.getAttribute("aria-label") ?? headingOf(box);
      tell(box, { tabindex: "0", role: "group", "aria-label": `${name ?? "formula"}, scrolls` });
    }
  }
  for (const box of root.querySelectorAll(".ep-asked")) {
    const below = box.scrollHeight - box.scrollTop - box.clientHeight > 8;
    box.toggleAttribute("data-more", below);
  }
}

// A tooltip belongs to what takes pointer and keys, which it describes to who hears the page.
function tellTooltips(root, tooltips) {
  for (const [name, title] of Object.entries(tooltips)) {
    for (const control of root.querySelectorAll(`.${name}`)) {
      for (const part of control.querySelectorAll(DESCRIBED)) {
        if (title) tell(part, { title });
        else part.removeAttribute("title");
      }
    }
  }
}

class AriaView {
  constructor({ model, el, signal }) {
    this.model = model;
    this.signal = signal;
    this.begin(el);
  }

  // What is around it is known once it stands in the page.
  begin(el) {
    const { signal } = this;
    if (signal.aborted) return;
    if (!el.isConnected) {
      requestAnimationFrame(() => this.begin(el));
      return;
    }
    this.root = el.closest(".embtie-app") ?? el.closest(".embtie-panel") ?? el;
    this.focus = new Focus(this.root, signal);
    this.aloud = new Aloud(el);
    this.root.addEventListener("keydown", alongRow, { signal });
    this.root.addEventListener("click", skip, { signal });
    const soon = () => { this.frame ??= requestAnimationFrame(() => this.look()); };
    const news = new MutationObserver(soon);
    const attributeFilter = ["class", "disabled"];
    this.model.on("change:tooltips", soon);
    news.observe(this.root, { childList: true, subtree: true, attributeFilter });
    const sizes = new ResizeObserver(soon);
    sizes.observe(this.root);
    this.root.addEventListener("scroll", soon, { signal, capture: true, passive: true });
    signal.addEventListener("abort", () => {
      news.disconnect();
      sizes.disconnect();
      this.model.off("change:tooltips", soon);
      cancelAnimationFrame(this.frame);
    });
    soon();
  }

  look() {
    this.frame = null;
    for (const part of [nameSliders, tellStates, tellRows, tellTabs, tellStrips, tellScrolling]) part(this.root);
    tellTooltips(this.root, this.model.get("tooltips"));
    this.aloud.follow(this.root);
    this.focus.mend();
  }
}

export default widgetOf(AriaView);
