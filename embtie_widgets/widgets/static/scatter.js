// The token scatter: its view and its drawing.

const DEEPEST = 64; // how far one can zoom in: as far as the codes stay finer than a pixel
const WIDEST = 1.5; // how far one can zoom out, in widths of the whole
const FARTHEST = 1000; // how far away a view can lie: what is farther has no ticks to be told apart
class ScatterView {
  constructor(context) {
    this.model = context.model;
    this.signal = context.signal;
    this.points = new Points();
    this.view = { left: 0, right: TOP, bottom: 0, top: TOP };
    this.drag = null;
    this.frame = 0;
    this.sendViewSoon = debounce(150, () => this.sendView());
    this.build(context);
    this.listen();
    this.readData();
    this.readView();
    const sizes = new ResizeObserver(() => this.draw());
    sizes.observe(this.plot);
    this.signal.addEventListener("abort", () => {
      sizes.disconnect();
      cancelAnimationFrame(this.frame);
    });
  }

  get(name) { return this.model.get(name); }

  tell(changes) {
    for (const [name, value] of Object.entries(changes)) this.model.set(name, value);
    this.model.save_changes();
  }

  // ---- page ----

  build(context) {
    this.root = makeRoot("embtie-scatter", context, () => this.restyle());
    this.title = make("strong", { class: "et-title et-grow" });
    this.tools = new Tools(this);
    this.pixels = make("canvas", { class: "et-pixels", "aria-hidden": "true" });
    this.marks = make("canvas", { class: "et-marks", "aria-hidden": "true" });
    this.tip = new Tip(this);
    this.plot = make("div", { class: "et-plot", tabindex: "0", role: "application", ...OWN_KEYS },
      this.pixels, this.marks, this.tip.root);
    this.status = make("div", { class: "et-status", role: "status" });
    this.keys = new Keys(this);
    this.root.append(make("div", { class: "et-bar" }, this.title, this.tools.root), this.plot,
      this.status, this.keys.hint, this.tip.said);
    this.raster = new Raster(this.pixels);
    this.overlay = new Overlay(this.marks, {});
    this.hands = new Hands(this);
    this.showMode();
  }

  listen() {
    const redraw = () => this.draw();
    const data = () => { this.dirty = true; this.draw(); };
    const actions = {
      x: data, y: data, ids: data, point_color: data, x_range: redraw, y_range: redraw,
      selection: () => { this.points.setSelection(this.get("selection")); this.draw(); },
      view: () => this.readView(), mode: () => this.showMode(), role: redraw, clicked: redraw,
      x_label: redraw, y_label: redraw, title: redraw, lit_word: redraw, reference_lines: redraw, height: redraw,
      color_label: redraw, color_range: redraw,
    };
    for (const [name, action] of Object.entries(actions)) this.model.on(`change:${name}`, action);
    this.model.on("msg:custom", (content) => this.receive(content));
  }

  receive(content) {
    if (content.kind === "hover") this.tip.hear(content);
    if (content.kind === "png") sendPicture(this, content);
  }

  restyle() {
    this.styled = false;
    if (this.plot) this.draw();
  }

  // Colours come from the style sheet, which counts only once the view stands in the page.
  readStyles() {
    const read = getComputedStyle(this.root);
    const value = (name) => read.getPropertyValue(`--et-${name}`).trim();
    this.styled = value("bg") !== "";
    if (!this.styled) return;
    for (const name of ["bg", "fg", "muted", "grid", "accent"]) this.overlay.styles[name] = value(name);
    this.overlay.styles.line = value("edge");
    this.overlay.styles.font = read.fontFamily;
    this.colors = Object.fromEntries(
      ["bg", "grid", "dim", "input", "output", "tied", "neutral"].map((name) => [name, rgbOf(value(name))]),
    );
    this.shades = scaleColors(this.root.dataset.theme);
    this.packed = Uint32Array.from(this.shades.map(pack));
  }

  showMode() {
    this.tools.show(this.get("mode"));
    this.plot.dataset.mode = this.get("mode");
  }

  // ---- data and view ----

  readData() {
    this.dirty = false;
    this.points.setCodes(this.get("x"), this.get("y"));
    this.points.setIds(this.get("ids"));
    this.points.setSelection(this.get("selection"));
    const shades = bytesOf(this.get("point_color"));
    this.pointShades = shades.length === this.points.n && shades.length ? shades : null;
    this.hands.leave();
  }

  toValue(code, axis) {
    const [low, high] = this.get(`${axis}_range`);
    return low + (code / TOP) * (high - low);
  }

  toCode(value, axis) {
    const [low, high] = this.get(`${axis}_range`);
    return ((value - low) / (high - low)) * TOP;
  }

  readView() {
    const ends = this.get("view").map((value, place) => this.toCode(value, place < 2 ? "x" : "y"));
    const [left, right, bottom, top] = ends;
    this.view = ends.length && this.canShow(left, right) && this.canShow(bottom, top)
      ? { left, right, bottom, top } : { left: 0, right: TOP, bottom: 0, top: TOP };
    this.draw();
  }

  // A link may ask for any view; half a width to spare for what is lost in its digits.
  canShow(from, to) {
    const span = to - from;
    return span > TOP / DEEPEST / 2 && span < TOP * WIDEST * 2
      && Math.max(Math.abs(from), Math.abs(to)) < TOP * FARTHEST;
  }

  sendView() {
    const { left, right, bottom, top } = this.view;
    const whole = left === 0 && right === TOP && bottom === 0 && top === TOP;
    this.tell({ view: whole ? [] : [this.toValue(left, "x"), this.toValue(right, "x"),
      this.toValue(bottom, "y"), this.toValue(top, "y")] });
  }

  zoom(factor, px, py) {
    const { left, right, bottom, top } = this.view;
    const [cx, cy] = this.codeAt(px, py);
    const limit = (from, to, centre) => {
      const span = Math.min(Math.max((to - from) * factor, TOP / DEEPEST), TOP * WIDEST);
      const start = centre - ((centre - from) / (to - from)) * span;
      return [start, start + span];
    };
    const [l, r] = limit(left, right, cx);
    const [b, t] = limit(bottom, top, cy);
    this.view = { left: l, right: r, bottom: b, top: t };
    this.draw();
    this.sendViewSoon();
  }

  pan(dx, dy) {
    const { left, right, bottom, top } = this.view;
    const [x, y] = [(-dx / this.box.width) * (right - left), (dy / this.box.height) * (top - bottom)];
    this.view = { left: left + x, right: right + x, bottom: bottom + y, top: top + y };
    this.draw();
  }

  // Move the view so far that a point is in it, with some room around.
  bring(i) {
    if (this.shows(i)) return;
    const { box } = this;
    const room = Math.min(24, box.width / 4, box.height / 4);
    const over = (at, start, size) => Math.min(at - start - room, 0) || Math.max(at - start - size + room, 0);
    const [x, y] = this.placeOf(i);
    this.pan(-over(x, box.left, box.width), -over(y, box.top, box.height));
    this.sendViewSoon();
  }

  // At a point, or at the middle of the view.
  zoomStep(step, i = -1) {
    const { box } = this;
    const place = this.shows(i) ? this.placeOf(i) : [box.left + box.width / 2, box.top + box.height / 2];
    if (step === "reset") this.resetView();
    else this.zoom(step === "in" ? 1 / 1.5 : 1.5, ...place);
  }

  resetView() {
    this.view = { left: 0, right: TOP, bottom: 0, top: TOP };
    this.draw();
    this.sendView();
  }

  codeAt(px, py) {
    const { box, view } = this;
    return [view.left + ((px - box.left) / box.width) * (view.right - view.left),
      view.top - ((py - box.top) / box.height) * (view.top - view.bottom)];
  }

  placeOf(i) {
    const { box, view, points } = this;
    return [box.left + ((points.x[i] - view.left) / (view.right - view.left)) * box.width,
      box.top + ((view.top - points.y[i]) / (view.top - view.bottom)) * box.height];
  }

  shows(i) {
    if (i < 0 || i >= this.points.n || !this.points.has(i)) return false;
    const [x, y] = this.placeOf(i);
    const { box } = this;
    return x >= box.left && y >= box.top && x <= box.left + box.width && y <= box.top + box.height;
  }

  // How many codes make a pixel, along each axis.
  get pixel() {
    const { left, right, bottom, top } = this.view;
    return [(right - left) / this.box.width, (top - bottom) / this.box.height];
  }

  // ---- selection ----

  select(indices, how) {
    this.points.choose(indices, how);
    this.sendSelection();
  }

  sendSelection(more = {}) {
    this.tell({ selection: this.points.selectionBytes(), ...more });
    this.draw();
  }

  clear() {
    this.points.choose([], "set");
    this.sendSelection({ clicked: -1 });
  }

  // ---- drawing ----

  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.plot.clientWidth === 0) return;
      if (!this.styled) this.readStyles();
      if (this.styled) this.drawNow();
      else this.draw();
    });
  }

  drawNow() {
    if (this.dirty) this.readData();
    this.plot.style.height = `${this.get("height")}px`;
    this.ratio = window.devicePixelRatio || 1;
    this.measure();
    const drawn = this.drawPoints();
    this.drawMarks();
    this.tip.place();
    this.say();
    this.root.dataset.drawn = drawn;
    this.root.dispatchEvent(new CustomEvent("et-drawn", { bubbles: true, detail: { drawn } }));
  }

  measure() {
    const [width, height] = [this.plot.clientWidth, this.plot.clientHeight];
    const { left, right, bottom, top } = this.view;
    const high = height - 56;
    const ticksY = ticksOf(this.toValue(bottom, "y"), this.toValue(top, "y"), high / 55);
    const room = this.overlay.leftRoom(ticksY.values, ticksY.step);
    const wide = Math.max(width - room - 14, 10);
    const ticksX = ticksOf(this.toValue(left, "x"), this.toValue(right, "x"), wide / 90);
    this.box = { left: room, top: 10, width: wide, height: Math.max(high, 10) };
    this.ticks = [ticksX, ticksY];
    Object.assign(this.pixels.style, {
      left: `${room}px`, top: "10px", width: `${wide}px`, height: `${this.box.height}px`,
    });
  }

  drawPoints() {
    const { raster, points, view, colors, ratio, box } = this;
    raster.resize(Math.round(box.width * ratio), Math.round(box.height * ratio));
    raster.clear(colors.bg);
    const [ticksX, ticksY] = this.ticks;
    for (const value of ticksX.values) raster.line("x", (this.toX(value) - box.left) * ratio, colors.grid);
    for (const value of ticksY.values) raster.line("y", (this.toY(value) - box.top) * ratio, colors.grid);
    let style = markStyle(this.countInView(), ratio);
    const paint = (options) => raster.points(points, view, { ...style, ...options });
    const chosen = { ...this.toneOf(this.get("role")), scale: this.packed, shades: this.pointShades };
    let [drawn, wanted] = [0, null];
    if (points.chosen) {
      drawn += paint({ ...this.toneOf("dim"), opacity: 0.35, wanted: 0 });
      const lit = markStyle(points.chosen, ratio);
      style = { ...lit, radius: Math.max(lit.radius, style.radius) };
      wanted = 1;
    }
    if (this.pointShades) drawn += paint({ ...chosen, ...this.toneOf("dim"), blank: true, wanted });
    drawn += paint({ ...chosen, wanted });
    raster.flush();
    return drawn;
  }

  // Where many points meet, colours move away from the paper.
  toneOf(name) {
    const color = this.colors[name];
    const far = this.root.dataset.theme === "dark" ? [255, 255, 255] : [0, 0, 0];
    return { color, deep: mix(color, far, name === "dim" ? 0.12 : 0.55) };
  }

  countInView() {
    const { x, y, n } = this.points;
    const { left, right, bottom, top } = this.view;
    let count = 0;
    for (let i = 0; i < n; i += 1) {
      if (x[i] >= left && x[i] <= right && y[i] >= bottom && y[i] <= top) count += 1;
    }
    return count;
  }

  toX(value) {
    const { box, view } = this;
    return box.left + ((this.toCode(value, "x") - view.left) / (view.right - view.left)) * box.width;
  }

  toY(value) {
    const { box, view } = this;
    return box.top + ((view.top - this.toCode(value, "y")) / (view.top - view.bottom)) * box.height;
  }

  // The overlay; without what only the pointer sees when it is for a picture.
  drawMarks(picture = false) {
    const { overlay, box, points } = this;
    overlay.resize(this.plot.clientWidth, this.plot.clientHeight, this.ratio);
    const [toX, toY] = [(value) => this.toX(value), (value) => this.toY(value)];
    overlay.axes(box, ...this.ticks, { x: this.get("x_label"), y: this.get("y_label") }, toX, toY);
    overlay.references(box, this.get("reference_lines"), toX, toY);
    if (this.pointShades) overlay.scale(box, this.shades, this.get("color_label"), this.get("color_range"));
    if (points.n - points.missing === 0) {
      overlay.font(14);
      overlay.text("No points to show", box.left + box.width / 2, box.top + box.height / 2,
        { color: overlay.styles.muted });
    }
    this.drawRing(points.indexOf(this.get("clicked")), overlay.styles.fg);
    if (picture) return;
    this.drawRing(this.tip.point, overlay.styles.accent, this.tip.keyed ? 10 : 7);
    if (this.drag?.path) overlay.shape(this.drag.path);
  }

  drawRing(i, color, radius = 7) {
    if (this.shows(i)) this.overlay.ring(...this.placeOf(i), radius, color);
  }

  say() {
    const count = (value) => value.toLocaleString("en-US");
    const { n, missing, chosen } = this.points;
    const parts = [`${count(n - missing)} tokens`];
    if (missing) parts.push(`${count(missing)} without a value, not drawn`);
    if (chosen) parts.push(`${count(chosen)} ${this.get("lit_word") || "selected"}`);
    const words = parts.join(" · ");
    if (this.status.textContent !== words) this.status.textContent = words;
    const title = this.get("title");
    if (this.title.textContent !== title) this.title.textContent = title;
    this.plot.setAttribute("aria-label",
      `${title || "Scatter"}: ${this.get("y_label")} against ${this.get("x_label")}. ${words}. ${KEYS_TOLD}`);
  }

  pointAt(px, py) {
    const { box, points } = this;
    if (!box) return -1;
    const [cx, cy] = this.codeAt(px, py);
    const reach = 8;
    const [wide, high] = this.pixel;
    return points.nearest(cx, cy, reach * wide, reach * high);
  }
}

export default widgetOf(ScatterView);
