// Points counted into a pixel array, then toned by how many lie on each other, so that a single
// point is plain to see and a crowd of thousands still shows its shape.

const PARTS = 4;   // positions are kept to a quarter of a pixel
const FULL = 64;   // what a wholly covered pixel counts
const MOST = 16384;  // counts above this are toned alike

const NO_SHADE = 255;

const pack = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
const mix = (from, to, part) => from.map((value, k) => Math.round(value + (to[k] - value) * part));
const rgbOf = (hex) => [1, 3, 5].map((place) => parseInt(hex.trim().slice(place, place + 2), 16));

// A disc for each quarter-pixel shift: places relative to the centre, and how much each is covered.
function makeDiscs(radius, stride) {
  const reach = Math.ceil(radius + 1);
  const discs = [];
  for (let part = 0; part < PARTS * PARTS; part += 1) {
    const [fx, fy] = [((part % PARTS) + 0.5) / PARTS, (Math.floor(part / PARTS) + 0.5) / PARTS];
    const [places, covers] = [[], []];
    for (let dy = -reach; dy <= reach; dy += 1) {
      for (let dx = -reach; dx <= reach; dx += 1) {
        const cover = Math.min(Math.max(radius + 0.5 - Math.hypot(dx + 0.5 - fx, dy + 0.5 - fy), 0), 1);
        if (cover * FULL >= 1) {
          places.push(dy * stride + dx);
          covers.push(Math.round(cover * FULL));
        }
      }
    }
    discs.push({ places: Int32Array.from(places), covers: Int32Array.from(covers) });
  }
  return discs;
}

class Raster {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.margin = 16;  // discs at the border are painted whole, then cut
    this.image = null;
  }

  resize(width, height) {
    if (this.image && this.canvas.width === width && this.canvas.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
    const full = [width + 2 * this.margin, height + 2 * this.margin];
    this.image = this.context.createImageData(...full);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.cover = new Uint32Array(this.pixels.length);
    this.shade = new Uint32Array(this.pixels.length);
    this.stride = full[0];
  }

  clear(color) { this.pixels.fill(pack(color)); }

  line(axis, place, color) {
    const value = pack(color);
    const at = Math.floor(place) + this.margin;
    if (axis === "x") for (let p = at; p < this.pixels.length; p += this.stride) this.pixels[p] = value;
    else this.pixels.fill(value, at * this.stride, (at + 1) * this.stride);
  }

  // Paint the points for which flags[i] === wanted (all when wanted is null); say how many.
  // `view` gives the codes at the left, right, bottom and top.  With `shades`, points without one
  // are left to a call with `blank`.
  points(points, view, { radius, wanted, shades = null, blank = false, ...tone }) {
    const { x, y, n, flags } = points;
    const { stride, margin } = this;
    const [width, height] = [this.canvas.width, this.canvas.height];
    const [scaleX, scaleY] = [width / (view.right - view.left), height / (view.top - view.bottom)];
    const discs = makeDiscs(radius, stride);
    const edge = Math.min(Math.ceil(radius) + 1, margin - 2);
    let painted = 0;
    for (let i = 0; i < n; i += 1) {
      if (wanted !== null && flags[i] !== wanted) continue;
      if (shades && (shades[i] === NO_SHADE) !== blank) continue;
      if (x[i] === NO_VALUE || y[i] === NO_VALUE) continue;
      const px = (x[i] - view.left) * scaleX;
      const py = (view.top - y[i]) * scaleY;
      if (px < -edge || py < -edge || px > width + edge || py > height + edge) continue;
      const [left, up] = [Math.floor(px), Math.floor(py)];
      const part = Math.floor((py - up) * PARTS) * PARTS + Math.floor((px - left) * PARTS);
      this.count(discs[part], (up + margin) * stride + left + margin, shades && !blank ? shades[i] : 0);
      painted += 1;
    }
    this.tone(shades && !blank ? tone.scale : null, tone);
    return painted;
  }

  count({ places, covers }, centre, shade) {
    const { cover } = this;
    for (let j = 0; j < places.length; j += 1) cover[centre + places[j]] += covers[j];
    if (shade) for (let j = 0; j < places.length; j += 1) this.shade[centre + places[j]] += covers[j] * shade;
  }

  // Turn counts into colour over what is there, and set them back to nothing.
  tone(scale, { color, deep, opacity }) {
    const { cover, shade, pixels } = this;
    let most = 8 * FULL;
    for (let p = 0; p < cover.length; p += 1) if (cover[p] > most) most = cover[p];
    const { weights, colors } = toneTable(Math.min(most, MOST), opacity, color, deep);
    for (let p = 0; p < cover.length; p += 1) {
      const count = cover[p];
      if (count === 0) continue;
      const level = Math.min(count, MOST);
      const value = scale ? scale[Math.round(shade[p] / count)] : colors[level];
      pixels[p] = over(pixels[p], value, weights[level]);
      cover[p] = 0;
      shade[p] = 0;
    }
  }

  flush() { this.context.putImageData(this.image, -this.margin, -this.margin); }
}

// One colour over another, weight in 0 .. 256; two channels at a time in whole numbers.
function over(old, value, weight) {
  const rest = 256 - weight;
  const rb = (Math.imul(old & 0xff00ff, rest) + Math.imul(value & 0xff00ff, weight)) >>> 8;
  const g = (Math.imul(old & 0xff00, rest) + Math.imul(value & 0xff00, weight)) >>> 8;
  return 0xff000000 | (rb & 0xff00ff) | (g & 0xff00);
}

// For each count: how much it covers, and its colour.  One point has `opacity`; from there both
// follow the logarithm of the count, first to solid, then to the deep colour.
function toneTable(most, opacity, color, deep) {
  const weights = new Uint16Array(most + 1);
  const colors = new Uint32Array(most + 1);
  const whole = Math.log(most / FULL);
  const steps = Array.from({ length: 65 }, (_, k) => pack(mix(color, deep, k / 64)));
  for (let count = 0; count <= most; count += 1) {
    const part = count > FULL ? Math.log(count / FULL) / whole : 0;
    const solid = count > FULL ? opacity + (1 - opacity) * Math.min(part * 2, 1) : (opacity * count) / FULL;
    weights[count] = Math.round(solid * 256);
    colors[count] = steps[Math.round(Math.max(part * 2 - 1, 0) * 64)];
  }
  return { weights, colors };
}

// The fewer points in view, the larger and the more solid each.
function markStyle(count, ratio) {
  const tens = Math.log10(Math.max(count, 1));
  return {
    radius: Math.min(Math.max(5 - 0.7 * tens, 1.5), 4.5) * ratio,
    opacity: Math.min(Math.max(1.1 - 0.14 * tens, 0.4), 0.85),
  };
}

// Dark to light blue-yellow (safe for the colour-blind), cut at the end that the paper would hide.
const SCALE = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74",
  "#c3b369", "#e1cc55", "#fee838"].map(rgbOf);

function scaleColors(theme) {
  const [from, to] = theme === "dark" ? [3, 9] : [0, 7];
  return Array.from({ length: 256 }, (_, shade) => {
    const place = from + ((to - from) * Math.min(shade, 254)) / 254;
    const low = Math.min(Math.floor(place), to - 1);
    return mix(SCALE[low], SCALE[low + 1], place - low);
  });
}
