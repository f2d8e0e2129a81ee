// The label beside the point that the pointer or the keys are on: where it lies at once, its words
// once the kernel has told them.  Who goes by keys hears them too.

const AT_REST = 300; // milliseconds without a step before a point is spoken: a walk is no chatter

class Tip {
  constructor(view) {
    this.view = view;
    this.point = -1;
    this.keyed = false;
    this.root = make("div", { class: "et-tip", hidden: true, role: "tooltip" });
    this.said = make("div", { class: "et-hidden-label", role: "status" });
    this.askSoon = debounce(40, () => this.point >= 0 && view.model.send({ kind: "hover", id: this.asked }));
    this.speakSoon = debounce(AT_REST, () => this.speak());
  }

  // At point i, or nowhere for -1; `keyed` where the keys have gone there.
  show(i, keyed = false) {
    if (i === this.point && keyed === this.keyed) return;
    const moved = i !== this.point;
    [this.point, this.keyed] = [i, keyed];
    this.root.hidden = i < 0;
    if (moved && i >= 0) this.ask();
    if (keyed) this.speakSoon();
    this.view.drawMarks();
  }

  // Data changed below it: nothing it says is still true.
  drop() {
    [this.point, this.keyed] = [-1, false];
    this.root.hidden = true;
  }

  ask() {
    const { view, point } = this;
    this.asked = view.points.idOf(point);
    this.where = ["x", "y"].map((axis) => {
      const value = view.toValue(view.points[axis][point], axis);
      return `${view.get(`${axis}_label`)}: ${numberText(value, 0.001)}`;
    });
    this.token = "";
    this.fill(this.where.join("\n"));
    this.askSoon();
  }

  hear({ id, text }) {
    if (id !== this.asked || this.point < 0 || !text) return;
    [this.token] = text.split("\n");
    this.fill(text);
    if (this.keyed) this.speakSoon();
  }

  fill(text) {
    this.root.textContent = text;
    this.place();
  }

  place() {
    if (this.point < 0) return;
    const { view: { plot }, root } = this;
    const [x, y] = this.view.placeOf(this.point);
    const { offsetWidth: wide, offsetHeight: high } = root;
    const left = x + 14 + wide > plot.clientWidth ? x - 14 - wide : x + 14;
    root.style.left = `${Math.max(left, 4)}px`;
    root.style.top = `${Math.min(Math.max(y - high - 8, 4), plot.clientHeight - high - 4)}px`;
  }

  // The token, whether it is selected, and where it lies; all else is for the eye, and in its card.
  speak() {
    if (!this.keyed || this.point < 0) return;
    const state = this.view.points.flags[this.point] ? "selected" : "not selected";
    this.say([this.token, state, ...this.where].filter(Boolean).join(", "));
  }

  say(words) { this.said.textContent = words; }
}
