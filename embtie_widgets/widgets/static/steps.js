// A slider over ticks at given places: pointer, arrow keys and two buttons go from tick to tick.

const STEPS_PAD = 12;
const STEPS_LINE = 46;
const STEPS_KEYS = {
  ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10,
  Home: -Infinity, End: Infinity,
};
const STEPS_LEGEND = {
  loaded: "long tick: loaded", same: "◆ same bytes as another", skipped: "× could not be read",
};
const STEPS_SAVE = 60;
const STEPS_CALM = 1000;  // milliseconds from step to step for a reader who wants less motion
const STEPS_PLAY = "M5 3l8 5-8 5z";
const STEPS_PAUSE = "M5.5 3v10M10.5 3v10";

function svg(tag, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}

class StepsView {
  constructor(context) {
    this.model = context.model;
    this.root = makeRoot("embtie-steps", context);
    this.build();
    for (const name of ["places", "readouts", "kinds", "tracks", "marks"]) {
      this.model.on(`change:${name}`, () => this.drawSoon());
    }
    this.model.on("change:index", () => this.mark());
    this.model.on("change:label", () => this.mark());
    this.model.on("change:playable", () => this.offerPlay());
    const sizes = new ResizeObserver(() => this.drawSoon());
    sizes.observe(this.rail);
    context.signal.addEventListener("abort", () => { sizes.disconnect(); this.stop(); });
    this.offerPlay();
    this.draw();
  }

  build() {
    this.saveLater = debounce(STEPS_SAVE, () => this.model.save_changes());
    this.words = make("div", { class: "et-grow et-readout" });
    const noun = this.model.get("noun");
    this.before = this.button(`Previous ${noun}`, "M10 3 5 8l5 5", -1);
    this.after = this.button(`Next ${noun}`, "M6 3l5 5-5 5", 1);
    this.player = make("button", { type: "button", hidden: true });
    this.player.addEventListener("click", () => (this.playing ? this.stop() : this.play()));
    this.picture = svg("svg", { "aria-hidden": "true", focusable: "false" });
    this.rail = make("div", {
      class: "et-rail", role: "slider", tabindex: "0", "aria-orientation": "horizontal", ...OWN_KEYS,
    }, this.picture);
    this.legend = make("div", { class: "et-note" });
    this.root.append(
      make("div", { class: "et-bar" }, this.words, this.player, this.before, this.after), this.rail, this.legend,
    );
    this.rail.addEventListener("keydown", (event) => this.onKey(event));
    this.rail.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.rail.setPointerCapture(event.pointerId);
      this.stop();
      this.toPointer(event);
    });
    this.rail.addEventListener("pointermove", (event) => {
      if (this.rail.hasPointerCapture(event.pointerId)) this.toPointer(event);
    });
  }

  button(name, path, by) {
    const button = make("button", { type: "button", "aria-label": name, title: name }, icon(path));
    button.addEventListener("click", () => { this.stop(); this.move(by); });
    return button;
  }

  offerPlay() {
    this.player.hidden = !this.model.get("playable");
    this.nameButton();
  }

  // From the chosen tick to the last, or from the first where it stands on the last.
  play() {
    const last = this.places.length - 1;
    if (last < 1) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (this.index >= last) this.choose(0);
    this.playing = setInterval(() => {
      this.move(1);
      if (this.index >= this.places.length - 1) this.stop();
    }, calm ? STEPS_CALM : this.model.get("interval"));
    this.nameButton();
  }

  stop() {
    clearInterval(this.playing);
    this.playing = undefined;
    this.nameButton();
  }

  nameButton() {
    const [name, path] = this.playing ? ["Pause", STEPS_PAUSE] : ["Play", STEPS_PLAY];
    this.player.replaceChildren(icon(path), name);
    this.player.title = `${name} the training`;
  }

  get places() { return this.model.get("places"); }

  get index() {
    const index = this.model.get("index");
    return index < this.places.length ? index : -1;
  }

  x(place) { return STEPS_PAD + place * (this.width - 2 * STEPS_PAD); }

  onKey(event) {
    const by = STEPS_KEYS[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.stop();
    this.move(by);
  }

  move(by) {
    const last = this.places.length - 1;
    const from = this.index < 0 ? (by < 0 ? last + 1 : -1) : this.index;
    this.choose(Math.min(Math.max(from + by, 0), last));
  }

  toPointer(event) {
    const at = event.clientX - this.rail.getBoundingClientRect().left;
    const distance = (index) => Math.abs(this.x(this.places[index]) - at);
    let best = Math.max(this.index, 0);
    for (let index = 0; index < this.places.length; index += 1) {
      if (distance(index) < distance(best) - 1e-6) best = index;
    }
    this.choose(best);
  }

  choose(index) {
    if (index < 0 || index >= this.places.length || index === this.model.get("index")) return;
    this.model.set("index", index);
    this.saveSoon();
  }

  // What plays is followed while it moves; elsewhere a kernel hears where the slider has come to.
  saveSoon() {
    if (!this.model.get("playable")) return this.saveLater();
    this.saving ??= setTimeout(() => {
      this.saving = undefined;
      this.model.save_changes();
    }, STEPS_SAVE / 2);
  }

  // Several traits arrive at once; the picture is drawn when all are there.
  drawSoon() {
    this.waiting ??= requestAnimationFrame(() => { this.waiting = undefined; this.draw(); });
  }

  draw() {
    this.width = this.rail.clientWidth;
    if (this.width === 0) return;
    this.picture.setAttribute("viewBox", `0 0 ${this.width} 78`);
    this.picture.replaceChildren();
    this.named = 0;
    for (const track of this.model.get("tracks")) this.drawTrack(track);
    this.drawTicks();
    this.drawMarks();
    this.stem = svg("line", { class: "et-stem", y1: 20, y2: STEPS_LINE });
    this.thumb = svg("circle", { class: "et-thumb", cy: STEPS_LINE, r: 7 });
    this.picture.append(this.stem, this.thumb);
    const kinds = new Set(this.model.get("kinds"));
    const known = Object.keys(STEPS_LEGEND).filter((kind) => kinds.has(kind));
    this.legend.textContent = known.map((kind) => STEPS_LEGEND[kind]).join("  ·  ");
    this.mark();
  }

  drawTrack({ start, end, label, short }) {
    const [left, right] = [this.x(start), this.x(end)];
    this.picture.append(svg("path", {
      class: "et-line", d: `M${left - 5} ${STEPS_LINE}H${right + 5}m0-4v8M${left - 5} ${STEPS_LINE - 4}v8`,
    }));
    if (this.model.get("tracks").length < 2) return;
    const name = svg("text", { x: left - 5, y: 12 }, label);
    this.picture.append(name);
    const wide = () => name.getComputedTextLength();
    if (wide() > right - left + 12) name.textContent = short;
    // One that is wider than its track ends with it, where the one before leaves the room.
    const place = wide() > right - left + 12 ? right + 5 - wide() : left - 5;
    name.setAttribute("x", place);
    if (place < this.named) name.remove();
    else this.named = place + wide() + 8;
  }

  drawTicks() {
    const kinds = this.model.get("kinds");
    const paths = { listed: "", loaded: "", same: "", skipped: "", diamonds: "" };
    this.places.forEach((place, index) => {
      const x = this.x(place).toFixed(2);
      const top = kinds[index] === "listed" ? STEPS_LINE - 7 : STEPS_LINE - 14;
      if (kinds[index] === "skipped") paths.skipped += `M${x} ${top}m-3-3l6 6m0-6l-6 6`;
      else paths[kinds[index]] += `M${x} ${STEPS_LINE}V${top}`;
      if (kinds[index] === "same") paths.diamonds += `M${x} ${top - 5}l4 4.5-4 4.5-4-4.5z`;
    });
    for (const [kind, d] of Object.entries(paths)) {
      if (d) this.picture.append(svg("path", { class: `et-tick et-${kind}`, d }));
    }
  }

  // As many numbers as fit, each clear of the one before.
  drawMarks() {
    let free = -Infinity;
    for (const { place, label } of this.model.get("marks")) {
      const x = this.x(place);
      const text = svg("text", { x, y: 70, "text-anchor": "middle" }, label);
      this.picture.append(text);
      const half = text.getComputedTextLength() / 2;
      const middle = Math.min(Math.max(x, half), this.width - half);
      if (middle - half < free) { text.remove(); continue; }
      text.setAttribute("x", middle);
      this.picture.append(svg("path", { class: "et-line", d: `M${x} ${STEPS_LINE + 4}v7` }));
      free = middle + half + 8;
    }
  }

  mark() {
    const [index, last] = [this.index, this.places.length - 1];
    const noun = this.model.get("noun");
    const none = last < 0 ? `No ${noun}s` : `Choose a ${noun}`;
    const words = index < 0 ? none : this.model.get("readouts")[index];
    this.words.textContent = words;
    allow(this.before, index <= 0 && "nothing is before it");
    allow(this.after, index >= last && "nothing is after it");
    const state = {
      "aria-label": this.model.get("label"), "aria-valuemin": 0, "aria-valuemax": Math.max(last, 0),
      "aria-valuenow": Math.max(index, 0), "aria-valuetext": words, "aria-disabled": last < 0,
    };
    for (const [name, value] of Object.entries(state)) this.rail.setAttribute(name, value);
    if (!this.thumb) return;
    for (const part of [this.thumb, this.stem]) part.style.display = index < 0 ? "none" : "";
    if (index < 0) return;
    const x = this.x(this.places[index]);
    this.thumb.setAttribute("cx", x);
    this.stem.setAttribute("x1", x);
    this.stem.setAttribute("x2", x);
  }
}

export default widgetOf(StepsView);
