// Gives the parts of ipywidgets' sliders the name of their label, which is there for the eye only.

function render({ el, signal }) {
  el.style.display = "none";
  const look = () => {
    for (const slider of el.closest(".embtie-panel")?.querySelectorAll(".widget-slider") ?? []) {
      const name = slider.querySelector(".widget-label")?.textContent;
      for (const part of slider.querySelectorAll(".noUi-handle, .widget-readout")) {
        if (!name || part.getAttribute("aria-label") === name) continue;
        part.setAttribute("aria-label", name);
        if (!part.hasAttribute("role")) part.setAttribute("role", "textbox");
      }
    }
  };
  const news = new MutationObserver(look);
  news.observe(document.body, { childList: true, subtree: true });
  look();
  signal.addEventListener("abort", () => news.disconnect());
}

export default { render };
