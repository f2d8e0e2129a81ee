// The scatter's toolbar: what dragging does, and steps of the view.

const MODES = [
  ["pan", "Pan", "Pan: drag moves the view; the wheel zooms at the pointer", "M8 2v12M2 8h12M8 2 6.4 3.6M8 2l1.6 1.6M8 14l-1.6-1.6M8 14l1.6-1.6M2 8l1.6-1.6M2 8l1.6 1.6M14 8l-1.6-1.6M14 8l-1.6 1.6"],
  ["lasso", "Lasso", "Lasso: draw round tokens to select them (shift or ctrl adds, alt removes)", "M8 2.5c3.3 0 6 1.6 6 3.8s-2.7 3.8-6 3.8-6-1.6-6-3.8 2.7-3.8 6-3.8zM5 9.7c-1.2.6-1.3 1.8-.3 2.3.9.5.9 1.4-.2 1.8"],
  ["box", "Box", "Box: drag a rectangle to select tokens (shift or ctrl adds, alt removes)", "M2.5 3.5h11v9h-11z"],
];
const STEPS = [
  ["in", "Zoom in", "M8 3.5v9M3.5 8h9"],
  ["out", "Zoom out", "M3.5 8h9"],
  ["reset", "Show everything (double-click)", "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10"],
];

class Tools {
  constructor(view) {
    const pick = (mode) => () => {
      view.tell({ mode });
      view.showMode();
    };
    const group = (name, buttons) => make(
      "div", { class: "et-group", role: "group", "aria-label": name }, ...buttons);
    this.modes = MODES.map(([mode, words, help, path]) => this.button(words, help, path, pick(mode)));
    const steps = STEPS.map(([step, help, path]) => this.button("", help, path, () => view.zoomStep(step)));
    this.root = make("div", { class: "et-tools", role: "toolbar", "aria-label": "Chart tools" },
      group("What dragging does", this.modes), group("View", steps));
  }

  button(words, help, path, action) {
    const button = make("button", { type: "button", title: help, "aria-label": words || help }, icon(path));
    if (words) button.append(make("span", { class: "et-words" }, words));
    button.addEventListener("click", action);
    return button;
  }

  show(wanted) {
    this.modes.forEach((button, place) => button.setAttribute("aria-pressed", MODES[place][0] === wanted));
  }
}
