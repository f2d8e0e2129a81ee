// Parts that every widget uses.  A widget's module is its parts one after another (see assets.py).

// An element with attributes and children; text only ever enters as text nodes.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

// Let a button be used, or switch it off for a reason, with which its tooltip then ends.
function allow(button, whyNot) {
  button.dataset.own ??= button.title;
  button.disabled = Boolean(whyNot);
  button.title = whyNot ? `${button.dataset.own} (not in use: ${whyNot})`.trim() : button.dataset.own;
}

function icon(path) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  for (const [name, value] of Object.entries({
    viewBox: "0 0 16 16", fill: "none", stroke: "currentColor", "stroke-width": "1.5",
    "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true",
  })) svg.setAttribute(name, value);
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

function debounce(wait, action) {
  let timer = 0;
  const later = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), wait);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

// Light or dark, as the host says; JupyterLab and Voila both mark the body.
function pageTheme() {
  const flag = document.body.dataset.jpThemeLight;
  if (flag === "true" || flag === "false") return flag === "true" ? "light" : "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function onPageTheme(changed, signal) {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const watcher = new MutationObserver(changed);
  watcher.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  media.addEventListener("change", changed, { signal });
  signal.addEventListener("abort", () => watcher.disconnect());
}

// On what takes keys itself: keeps the notebook's single-letter shortcuts away while it has them.
const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };

// The root of a widget: styled, and in the theme of the page or of its own trait.
function makeRoot(kind, { model, el, signal }, changed = () => {}) {
  const root = make("div", { class: `embtie ${kind}` });
  const apply = () => {
    const wanted = model.get("theme");
    root.dataset.theme = wanted === "light" || wanted === "dark" ? wanted : pageTheme();
    changed();
  };
  root.dataset.theme = pageTheme();
  onPageTheme(apply, signal);
  model.on("change:theme", apply);
  el.append(root);
  apply();
  return root;
}

// A widget's face from its view class: a view gets a signal that ends when it is taken away.
function widgetOf(View) {
  const render = (context) => {
    const control = new AbortController();
    new View({ ...context, signal: control.signal });
    return () => control.abort();
  };
  return { render };
}

// The clipboard exists on secure pages only; elsewhere the old command still works.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);
  }
}

function copyByCommand(text) {
  const before = document.activeElement;
  const area = make("textarea", { "aria-hidden": "true", tabindex: "-1", readonly: true });
  area.value = text;
  area.style.cssText = "position:fixed;top:0;left:0;width:1px;height:1px;opacity:0";
  document.body.append(area);
  area.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } catch {
    done = false;
  }
  area.remove();
  before?.focus?.();
  return done;
}

// Say on the button itself what came of a click, then return to its own words.
function confirmOn(button, label, words, good) {
  label.dataset.own ??= label.textContent;
  label.textContent = words;
  button.classList.toggle("et-done", good);
  button.classList.toggle("et-failed", !good);
  clearTimeout(Number(button.dataset.timer));
  button.dataset.timer = setTimeout(() => {
    label.textContent = label.dataset.own;
    button.classList.remove("et-done", "et-failed");
  }, 2000);
}
