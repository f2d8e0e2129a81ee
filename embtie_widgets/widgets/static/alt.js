// What a chart says to those who hear the page: what is drawn against what, and the names of its
// traces.  Its numbers stand in the caption, the sentence and the tables around it.

const MOST_NAMES = 12;
const plain = (text) => String(text ?? "").replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim();
const once = (texts) => [...new Set(texts.map(plain).filter(Boolean))];

const listed = (names) => names.slice(0, MOST_NAMES).join("; ")
  + (names.length > MOST_NAMES ? `; ${names.length - MOST_NAMES} more` : "");

function axesOf(layout) {
  const [across, up] = ["x", "y"].map((letter) => once(Object.entries(layout)
    .filter(([name]) => new RegExp(`^${letter}axis\\d*$`).test(name))
    .map(([, axis]) => axis?.title?.text ?? axis?.title)).join(" and "));
  return across && up ? `${up} against ${across}` : across || up;
}

function altOf(box) {
  const { data = [], layout = {} } = box;
  const card = box.closest(".ep-card");
  const heading = plain(card?.querySelector(".ep-heading")?.textContent);
  const seen = data.filter((trace) => trace.visible !== false);
  const named = (traces) => once(traces.map((trace) => trace.name));
  const legend = named(seen.filter((trace) => trace.showlegend !== false));
  const names = legend.length ? legend : named(seen);
  const parts = [axesOf(layout), names.length ? `shows ${listed(names)}` : ""].filter(Boolean);
  const caption = parts.length ? "" : plain(card?.querySelector(".ep-caption")?.textContent);
  return `Chart${heading ? `, ${heading}` : ""}: ${parts.join(". ") || caption || "empty"}.`;
}

// Plotly draws in several layers; the first one speaks for all.
function sayFigure(box) {
  box.querySelectorAll(".main-svg").forEach((layer, place) => {
    layer.setAttribute("role", place ? "presentation" : "img");
    if (place) layer.setAttribute("aria-hidden", "true");
    else layer.setAttribute("aria-label", altOf(box));
  });
}
