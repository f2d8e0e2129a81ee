// What keys do on a scatter: they go from point to point, choose points, and move the view.

const KEYS_TOLD = "Arrow keys go from point to point, faster while they are held down; Enter or Space "
  + "selects the point or gives it up; Escape leaves it, and then clears the selection. Shift and arrow "
  + "keys move the view, plus and minus zoom, 0 shows everything.";
const KEYS_SHOWN = "Arrows: next point · Enter: select or give up · Esc: leave · Shift + arrows: move the view "
  + "· + − 0: zoom";
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const LONGEST_STRIDE = 24; // pixels that a key which is held down comes to leap over
const SHIFT = 60; // pixels by which the view moves

class Keys {
  constructor(view) {
    this.view = view;
    this.last = -1; // the id of the point that they were on last
    this.stride = 0;
    const { plot, signal } = view;
    plot.addEventListener("keydown", (event) => this.press(event), { signal });
    plot.addEventListener("blur", () => this.leave(), { signal });
    this.hint = make("div", { class: "et-note et-keys", "aria-hidden": "true" }, KEYS_SHOWN);
  }

  press(event) {
    const { view } = this;
    if (event.ctrlKey || event.metaKey || event.altKey || !view.box) return;
    const way = WAYS[event.key];
    const choose = () => !event.repeat && this.choose();
    const action = way ? () => (event.shiftKey ? this.pan(way) : this.step(way, event.repeat)) : {
      Enter: choose, " ": choose,
      "+": () => view.zoomStep("in", this.point), "=": () => view.zoomStep("in", this.point),
      "-": () => view.zoomStep("out", this.point), 0: () => view.zoomStep("reset"),
      Escape: () => this.escape(),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // The point that they are on, or -1.
  get point() { return this.view.tip.keyed ? this.view.tip.point : -1; }

  step(way, held) {
    const { points } = this.view;
    this.stride = held ? Math.min(this.stride + 1, LONGEST_STRIDE) : 0;
    if (this.point < 0) {
      this.go(this.first());
      return;
    }
    const next = (least) => points.toward(this.point, way, this.view.pixel, least);
    const leap = this.stride ? next(this.stride) : -1;
    const to = leap < 0 ? next(0) : leap;
    if (to >= 0) this.go(to);
    else this.view.tip.say("There is no point farther that way.");
  }

  go(i) {
    if (i < 0) return;
    this.last = this.view.points.idOf(i);
    this.view.bring(i);
    this.view.tip.show(i, true);
  }

  // Where to begin: where they were, or at the token that is open, as far as that is in view; else
  // in the middle of the view.
  first() {
    const { view } = this;
    const known = [this.last, view.get("clicked")].map((id) => view.points.indexOf(id));
    const { left, right, bottom, top } = view.view;
    return known.find((i) => view.shows(i))
      ?? view.points.closest((left + right) / 2, (bottom + top) / 2, view.pixel);
  }

  choose() {
    const { view, point } = this;
    if (point < 0) {
      this.go(this.first());
      return;
    }
    view.hands.click(point, view.points.flags[point] ? "remove" : "add");
    view.tip.speakSoon();
  }

  pan([right, up]) {
    this.leave();
    this.view.pan(-right * SHIFT, up * SHIFT);
    this.view.sendView();
  }

  escape() {
    const { view } = this;
    if (view.drag) view.hands.abandon();
    else if (this.point >= 0) this.leave();
    else view.clear();
  }

  leave() {
    if (this.view.tip.keyed) this.view.tip.show(-1);
  }
}
