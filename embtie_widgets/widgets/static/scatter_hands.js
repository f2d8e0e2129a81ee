// What pointer and wheel do on a scatter.

const MOVED = 4; // pixels from which a press is a drag

class Hands {
  constructor(view) {
    this.view = view;
    const { plot, signal } = view;
    const on = (name, action, options = {}) => {
      plot.addEventListener(name, (event) => action.call(this, event), { signal, ...options });
    };
    on("pointerdown", this.press);
    on("pointermove", this.move);
    on("pointerup", this.release);
    on("pointercancel", this.abandon);
    on("pointerleave", () => !view.drag && this.hover(-1));
    on("wheel", this.wheel, { passive: false });
    on("dblclick", this.double);
  }

  // Data changed under the pointer: nothing there is still true.
  leave() {
    this.view.tip.drop();
    this.view.drag = null;
  }

  // The keys' point stays until the pointer comes to another one.
  hover(i) {
    if (i >= 0 || !this.view.tip.keyed) this.view.tip.show(i);
  }

  at(event) {
    const frame = this.view.plot.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }

  how(event) {
    if (event.altKey) return "remove";
    return event.shiftKey || event.ctrlKey || event.metaKey ? "add" : "set";
  }

  press(event) {
    if (event.button !== 0 || !this.view.box) return;
    const start = this.at(event);
    this.view.drag = { start, last: start, moved: false, path: null, how: this.how(event) };
    this.view.plot.setPointerCapture(event.pointerId);
  }

  move(event) {
    const { view } = this;
    const here = this.at(event);
    const { drag } = view;
    if (!drag) {
      this.hover(view.pointAt(...here));
      return;
    }
    drag.moved ||= Math.hypot(here[0] - drag.start[0], here[1] - drag.start[1]) >= MOVED;
    if (!drag.moved) return;
    view.tip.show(-1);
    const mode = view.get("mode");
    if (mode === "pan") view.pan(here[0] - drag.last[0], here[1] - drag.last[1]);
    else this.extend(drag, mode, here);
    drag.last = here;
  }

  extend(drag, mode, here) {
    const { start } = drag;
    if (mode === "box") {
      drag.path = [start, [here[0], start[1]], here, [start[0], here[1]]];
    } else {
      drag.path ??= [start];
      const before = drag.path.at(-1);
      if (Math.hypot(here[0] - before[0], here[1] - before[1]) >= 2) drag.path.push(here);
    }
    this.view.drawMarks();
  }

  release(event) {
    const { view } = this;
    const { drag } = view;
    view.drag = null;
    if (!drag) return;
    view.plot.focus({ preventScroll: true });
    if (!drag.moved) this.click(view.pointAt(...this.at(event)), drag.how);
    else if (drag.path) this.enclose(drag, view.get("mode"));
    else view.sendView();
  }

  enclose(drag, mode) {
    const { view } = this;
    const corners = drag.path.map((place) => view.codeAt(...place));
    const sorted = (a, b) => (a < b ? [a, b] : [b, a]);
    const found = mode === "box"
      ? view.points.insideBox(sorted(corners[0][0], corners[2][0]), sorted(corners[0][1], corners[2][1]))
      : view.points.insidePolygon(corners);
    view.select(found, drag.how);
  }

  click(i, how) {
    const { view } = this;
    if (i < 0) return;
    view.points.choose([i], how);
    view.sendSelection(how === "remove" ? {} : { clicked: view.points.idOf(i) });
  }

  abandon() {
    this.view.drag = null;
    this.view.drawMarks();
  }

  wheel(event) {
    const { view } = this;
    if (!view.box) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    const delta = Math.min(Math.max(event.deltaY * lines, -300), 300);
    view.tip.show(-1);
    view.zoom(Math.exp(delta * (event.ctrlKey ? 0.01 : 0.0015)), ...this.at(event));
  }

  double(event) {
    if (this.view.pointAt(...this.at(event)) < 0) this.view.resetView();
  }
}
