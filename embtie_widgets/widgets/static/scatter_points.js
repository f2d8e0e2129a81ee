// The points of a scatter: 16-bit codes by axis, where they lie, and which are inside a shape.

const NO_VALUE = 65535; // code of a coordinate that is not finite
const TOP = 65534;      // code of the upper end of the range
const CELLS = 256;      // picking cells along each axis

const bytesOf = (view) => (view?.byteLength
  ? new Uint8Array(view.buffer ?? view, view.byteOffset ?? 0, view.byteLength) : new Uint8Array(0));
// Copied: a message's part may start at an odd place, which wider arrays do not allow.
const wordsOf = (Kind, view) => new Kind(bytesOf(view).slice().buffer);

class Points {
  constructor() {
    this.n = 0;
    this.x = this.y = new Uint16Array(0);
    this.ids = new Int32Array(0);
    this.flags = new Uint8Array(0);
    this.chosen = 0;
    this.missing = 0;
    this.starts = null;
  }

  setCodes(x, y) {
    this.x = wordsOf(Uint16Array, x);
    this.y = wordsOf(Uint16Array, y);
    this.n = Math.min(this.x.length, this.y.length);
    this.missing = 0;
    for (let i = 0; i < this.n; i += 1) if (!this.has(i)) this.missing += 1;
    this.starts = null;
  }

  setIds(ids) { this.ids = wordsOf(Int32Array, ids); }

  has(i) { return this.x[i] !== NO_VALUE && this.y[i] !== NO_VALUE; }

  idOf(i) { return this.ids.length ? this.ids[i] : i; }

  indexOf(id) { return this.ids.length ? this.ids.indexOf(id) : (id < this.n ? id : -1); }

  // Selection as it travels: one bit per point, the lowest bit first; nothing means none.
  setSelection(view) {
    const bits = bytesOf(view);
    this.flags = new Uint8Array(this.n);
    this.chosen = 0;
    if (!bits.length) return;
    for (let i = 0; i < this.n; i += 1) {
      this.flags[i] = (bits[i >> 3] >> (i & 7)) & 1;
      this.chosen += this.flags[i];
    }
  }

  selectionBytes() {
    if (!this.chosen) return new DataView(new ArrayBuffer(0));
    const bits = new Uint8Array((this.n + 7) >> 3);
    for (let i = 0; i < this.n; i += 1) if (this.flags[i]) bits[i >> 3] |= 1 << (i & 7);
    return new DataView(bits.buffer);
  }

  // Change the selection: "set" replaces it, "add" and "remove" change those given.
  choose(indices, how) {
    if (how === "set") this.flags.fill(0);
    const value = how === "remove" ? 0 : 1;
    for (const i of indices) this.flags[i] = value;
    this.chosen = 0;
    for (let i = 0; i < this.n; i += 1) this.chosen += this.flags[i];
  }

  // Point numbers sorted by cell (a counting sort), built when the pointer first needs it.
  buildCells() {
    const starts = new Uint32Array(CELLS * CELLS + 1);
    const order = new Uint32Array(this.n - this.missing);
    const cell = (i) => (this.y[i] >> 8) * CELLS + (this.x[i] >> 8);
    for (let i = 0; i < this.n; i += 1) if (this.has(i)) starts[cell(i) + 1] += 1;
    for (let c = 0; c < CELLS * CELLS; c += 1) starts[c + 1] += starts[c];
    const next = starts.slice();
    for (let i = 0; i < this.n; i += 1) if (this.has(i)) order[next[cell(i)]++] = i;
    Object.assign(this, { starts, order });
  }

  // The point nearest to a place (in codes) within a reach (codes by axis), or -1.
  nearest(cx, cy, reachX, reachY) {
    if (!this.starts) this.buildCells();
    const clamp = (code) => Math.min(Math.max(Math.floor(code), 0), TOP) >> 8;
    let [best, distance] = [-1, 1];
    for (let row = clamp(cy - reachY); row <= clamp(cy + reachY); row += 1) {
      const first = this.starts[row * CELLS + clamp(cx - reachX)];
      const last = this.starts[row * CELLS + clamp(cx + reachX) + 1];
      for (let place = first; place < last; place += 1) {
        const i = this.order[place];
        const far = ((this.x[i] - cx) / reachX) ** 2 + ((this.y[i] - cy) / reachY) ** 2;
        if (far < distance || (far === distance && best >= 0 && this.flags[i] > this.flags[best])) {
          [best, distance] = [i, far];
        }
      }
    }
    return best;
  }

  // The point nearest to a place (in codes), however far; `wide` and `high` codes make a pixel.
  closest(cx, cy, [wide, high]) {
    let [best, distance] = [-1, Infinity];
    for (let i = 0; i < this.n; i += 1) {
      const far = ((this.x[i] - cx) / wide) ** 2 + ((this.y[i] - cy) / high) ** 2;
      if (far < distance && this.has(i)) [best, distance] = [i, far];
    }
    return best;
  }

  // The point nearest to point i on one side of it, more than `least` pixels away, or -1.  What lies
  // within 45 degrees of the way goes before what lies farther off it; of two that are equally near,
  // the one to the left of the way.  Points in one place follow one another to the right.
  toward(i, [right, up], [wide, high], least) {
    let [twin, ahead, near, left, aside, beside] = [-1, -1, Infinity, 0, -1, Infinity];
    for (let j = 0; j < this.n; j += 1) {
      if (j === i || !this.has(j)) continue;
      const x = (this.x[j] - this.x[i]) / wide;
      const y = (this.y[j] - this.y[i]) / high;
      const [far, along, across] = [x * x + y * y, x * right + y * up, y * right - x * up];
      if (far === 0 && up === 0 && least === 0 && (right > 0 ? j > i && twin < 0 : j < i)) twin = j;
      if (along <= least) continue;
      if (Math.abs(across) <= along) {
        if (far < near || (far === near && across > left)) [ahead, near, left] = [j, far, across];
      } else if (far < beside) [aside, beside] = [j, far];
    }
    return [twin, ahead, aside].find((j) => j >= 0) ?? -1;
  }

  insideBox([x0, x1], [y0, y1]) {
    const found = [];
    for (let i = 0; i < this.n; i += 1) {
      if (this.has(i) && this.x[i] >= x0 && this.x[i] <= x1 && this.y[i] >= y0 && this.y[i] <= y1) {
        found.push(i);
      }
    }
    return found;
  }

  // Points inside a closed polygon of [x, y] codes (even-odd rule).  Its edges are kept by band of
  // height, so that a point meets only the few edges near it.
  insidePolygon(corners) {
    if (corners.length < 3) return [];
    const heights = corners.map((corner) => corner[1]);
    const [low, high] = [Math.min(...heights), Math.max(...heights)];
    const bands = Array.from({ length: 64 }, () => []);
    const bandOf = (y) => Math.min(Math.max(Math.floor(((y - low) / (high - low || 1)) * 64), 0), 63);
    corners.forEach((a, place) => {
      const b = corners[(place + 1) % corners.length];
      for (let k = bandOf(Math.min(a[1], b[1])); k <= bandOf(Math.max(a[1], b[1])); k += 1) {
        bands[k].push([a[0], a[1], b[0], b[1]]);
      }
    });
    const found = [];
    for (let i = 0; i < this.n; i += 1) {
      const [x, y] = [this.x[i], this.y[i]];
      if (y < low || y > high || !this.has(i)) continue;
      let inside = false;
      for (const [ax, ay, bx, by] of bands[bandOf(y)]) {
        if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
      }
      if (inside) found.push(i);
    }
    return found;
  }
}
