// Keeps plotly figures as wide as their boxes.  plotly listens to the window, so that is told.

function render({ el, signal }) {
  el.style.display = "none";
  const figures = new Set();
  let timer = 0;
  const misfit = (figure) => figure._fullLayout && figure.clientWidth > 0
    && Math.abs(figure._fullLayout.width - figure.clientWidth) > 1;
  const check = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if ([...figures].some(misfit)) window.dispatchEvent(new Event("resize"));
    }, 60);
  };
  const sizes = new ResizeObserver(check);
  const look = () => {
    const panel = el.closest(".embtie-panel");
    for (const figure of panel?.querySelectorAll(".js-plotly-plot") ?? []) {
      if (!figures.has(figure)) { figures.add(figure); sizes.observe(figure); }
      if (!figure.dataset.fitted && figure._fullLayout) { figure.dataset.fitted = "1"; check(); }
    }
  };
  const news = new MutationObserver(look);
  news.observe(document.body, { childList: true, subtree: true });
  look();
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    news.disconnect();
    sizes.disconnect();
  });
}

export default { render };
