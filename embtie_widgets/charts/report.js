// The charts of a report: each is drawn when it comes near the window, in the theme of the system.
(() => {
  const NARROW = 620; // pixels of a box in which charts stand one below the other, as in the panels
  const CONFIG = { displaylogo: false, showLink: false, modeBarButtonsToRemove: ["select2d", "lasso2d"] };
  const { charts, templates } = JSON.parse(document.getElementById("embtie-charts").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map(); // box -> the width that it was drawn for

  const specOf = (box) => charts[box.closest("[data-part]").dataset.part][box.dataset.chart];

  function draw(box) {
    const { data, layout } = structuredClone(specOf(box));
    const { narrow, least } = layout.meta ?? {};
    if (least) box.style.minWidth = `${least}px`;
    const width = box.clientWidth;
    if (!width) return;
    drawn.set(box, width);
    const fitted = { ...layout, ...(width < NARROW ? narrow : {}), width };
    Plotly.react(box, data, { ...fitted, template: templates[dark.matches ? "dark" : "light"] }, CONFIG);
  }

  function wear() {
    document.body.dataset.jpThemeLight = String(!dark.matches);
    for (const box of drawn.keys()) draw(box);
  }

  const near = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) if (isIntersecting && !drawn.has(target)) draw(target);
  }, { rootMargin: "600px" });
  const sizes = new ResizeObserver((changed) => {
    for (const { target } of changed) {
      if (drawn.has(target) && drawn.get(target) !== target.clientWidth) draw(target);
    }
  });
  const boxes = [...document.querySelectorAll(".er-plot")];
  const folds = [...document.querySelectorAll("details")];
  addEventListener("beforeprint", () => {
    for (const one of folds) one.open = true;
    for (const box of boxes) if (!drawn.has(box)) draw(box);
  });
  // Keys scroll only what can have the focus: tables and formulas wider than the page, while they are.
  const focusable = new ResizeObserver((changed) => {
    for (const { target } of changed) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const one of document.querySelectorAll(".ep-scroll, .math.block, pre")) focusable.observe(one);
  dark.addEventListener("change", wear);
  wear();
  for (const box of boxes) {
    // A chart that needs room gets a box that can be moved to and fro.
    const inside = document.createElement("div");
    inside.className = "er-wide";
    box.replaceWith(inside);
    inside.append(box);
    near.observe(box);
    sizes.observe(box);
  }
})();
