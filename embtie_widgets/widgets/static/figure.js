// A plotly figure: always the newest that the kernel has told, as wide as its box.

const CONFIG = {
  displaylogo: false,
  // Nothing of a figure leaves the page for another host.
  showLink: false,
  showSendToCloud: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"],
};
const ARRAYS = {
  f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array,
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array,
};
const LONGEST_WAIT = 30000;
const NARROW = 620;  // pixels of a box in which charts stand one below the other
const SHARED = Symbol.for("embtie.plotly");

function ended(script) {
  return new Promise((done, failed) => {
    script.addEventListener("load", done, { once: true });
    script.addEventListener("error", failed, { once: true });
  });
}

// From the page's own server, where its template has begun to load it; null where it has not.
async function plotlyOfPage() {
  const script = document.getElementById("embtie-plotly");
  if (script && !window.Plotly) await ended(script).catch(console.warn);
  return (script && window.Plotly) ?? null;
}

function scriptOfKernel(model) {
  return new Promise((done, failed) => {
    const end = () => { clearTimeout(timer); model.off("msg:custom", take); };
    const take = ({ kind }, [bytes]) => {
      if (kind === "script") { end(); done(bytes); }
    };
    const timer = setTimeout(() => { end(); failed(new Error("no script came")); }, LONGEST_WAIT);
    model.on("msg:custom", take);
    model.send({ kind: "script" });
  });
}

// Over the kernel's channel; a Plotly of somebody else's in the page stays what it is.
async function plotlyOfKernel(model) {
  const bytes = await scriptOfKernel(model);
  const url = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
  const others = window.Plotly;
  const script = make("script", { src: url });
  document.head.append(script);
  await ended(script).finally(() => { script.remove(); URL.revokeObjectURL(url); });
  const { Plotly } = window;
  window.Plotly = others;
  return Plotly;
}

// One Plotly for all figures of the page; a kernel that ended before it answered is not waited for.
async function plotly(model) {
  while (!globalThis[SHARED]?.loaded) {
    const coming = globalThis[SHARED] ??= {
      loading: plotlyOfPage().then((found) => found ?? plotlyOfKernel(model)),
    };
    try {
      coming.loaded = await coming.loading;
    } catch (fault) {
      if (globalThis[SHARED] === coming) globalThis[SHARED] = null;
      console.warn(fault);
    }
  }
  return globalThis[SHARED].loaded;
}

// Arrays as plotly takes them; all else as it came, copied, since plotly writes into what it draws.
function unpacked(value) {
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object") return value;
  const Typed = ARRAYS[value.dtype];
  if (Typed && value.bytes) {
    const { buffer, byteOffset, byteLength } = value.bytes;
    return new Typed(buffer.slice(byteOffset, byteOffset + byteLength));
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, unpacked(part)]));
}

class FigureView {
  constructor({ model, el, signal }) {
    this.model = model;
    this.signal = signal;
    this.box = make("div", { class: "embtie-figure" });
    el.append(this.box);
    const draw = () => this.draw();
    const answer = (content) => this.answer(content);
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this.box);
    onPageTheme(draw, signal);
    model.on("change:figure", draw);
    const adapt = () => this.adapt();
    model.on("change:changes", adapt);
    model.on("change:templates", draw);
    model.on("msg:custom", answer);
    signal.addEventListener("abort", () => {
      this.sizes.disconnect();
      model.off("change:figure", draw);
      model.off("change:changes", adapt);
      model.off("change:templates", draw);
      model.off("msg:custom", answer);
      this.Plotly?.purge(this.box);
    });
  }

  // A box without a width is not drawn into: it would take a wrong one.  What comes while one
  // figure is being drawn is drawn after it, the last of it only.
  async draw() {
    this.wanted = true;
    if (this.drawing) return;
    if (!this.box.clientWidth) {
      // A box that was hidden for less than a frame, as while JupyterLab changes its theme, has no
      // change of size to tell of.
      requestAnimationFrame(() => { if (this.wanted && this.box.clientWidth) this.draw(); });
      return;
    }
    this.drawing = this.drawWanted();
    try {
      await this.drawing;
    } finally {
      this.drawing = null;
    }
  }

  async drawWanted() {
    this.Plotly = await plotly(this.model);
    while (this.wanted && !this.signal.aborted) {
      this.wanted = false;
      const { data = [], layout = {}, narrow = {} } = unpacked(this.model.get("figure"));
      const template = unpacked(this.model.get("templates")[pageTheme()] ?? {});
      this.width = this.box.clientWidth;
      const changes = unpacked(this.model.get("changes"));
      const fitted = { ...layout, ...(this.width < NARROW ? narrow : {}), ...changes };
      await this.Plotly.react(this.box, data, { ...fitted, template, width: this.width }, CONFIG);
      sayFigure(this.box);
      if (!this.hears) this.hear();
    }
  }

  // Parts of the layout alone; what is still to be drawn, or drawn anew, takes them along.
  adapt() {
    const changes = unpacked(this.model.get("changes"));
    if (Object.keys(changes).length === 0) return;
    if (this.drawing || this.wanted || !this.hears) this.draw();
    else this.drawing = this.Plotly.relayout(this.box, changes).finally(() => {
      this.drawing = null;
      sayFigure(this.box);
    });
  }

  // A point by the number of its trace and its place there: row and column in a heat map.
  hear() {
    this.hears = true;
    this.box.on("plotly_click", ({ points: [point] }) => {
      const place = [point.pointNumber].flat();
      this.model.send({ kind: "clicked", curve: point.curveNumber, point: place });
    });
  }

  fit() {
    if (this.wanted || this.box.clientWidth !== this.width) this.draw();
  }

  // A hidden view has nothing to show; another one of the same figure may.
  async answer(content) {
    const { kind, request } = content;
    if (kind !== "svg" && kind !== "png") return;
    if (!this.box.clientWidth) {
      this.model.send({ kind: "hidden", request });
      return;
    }
    try {
      await this.drawing; // what the kernel told before it asked
      this.model.send({ kind: "picture", request }, undefined, [await pictureOf(this.box, content)]);
    } catch (fault) {
      console.warn(fault);
      this.model.send({ kind: "failed", request });
    }
  }
}

export default widgetOf(FigureView);
