// Axes, reference lines and marks over the points, drawn on a canvas of their own.

// Round numbers that cover [low, high], about `wanted` of them.
function ticksOf(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1);
  if (!(rough > 0) || !Number.isFinite(rough)) return { step: 1, values: [] };
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((k) => k * power >= rough * 0.999) * power;
  const values = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) values.push(k * step);
  return { step, values };
}

function numberText(value, step) {
  const digits = Math.min(Math.max(-Math.floor(Math.log10(step) + 1e-9), 0), 12);
  const text = Math.abs(value) >= 1e7 || (step < 1e-6 && value !== 0)
    ? value.toExponential(2)
    : value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (/^-[0.,]*$/.test(text) ? text.slice(1) : text).replace("-", "−");
}

function overlap(one, other) {
  return one.x < other.x + other.wide && other.x < one.x + one.wide
    && one.y < other.y + other.high && other.y < one.y + one.high;
}

function covers({ x, y, wide, high }, { axis, at }) {
  return axis === "x" ? at >= x && at <= x + wide : at >= y && at <= y + high;
}

class Overlay {
  constructor(canvas, styles) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.styles = styles;
  }

  resize(width, height, ratio) {
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, width, height);
  }

  font(size, weight = 400) { this.context.font = `${weight} ${size}px ${this.styles.font}`; }

  text(words, x, y, { color, align = "center", base = "alphabetic" }) {
    const { context } = this;
    Object.assign(context, { textAlign: align, textBaseline: base, fillStyle: color });
    context.fillText(words, x, y);
  }

  stroke(from, to, color, width = 1, dash = []) {
    const { context } = this;
    context.save();
    Object.assign(context, { strokeStyle: color, lineWidth: width });
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    context.restore();
  }

  // The room that tick labels need at the left.
  leftRoom(ticks, step) {
    this.font(12);
    const widths = ticks.map((value) => this.context.measureText(numberText(value, step)).width);
    return Math.ceil(Math.max(24, ...widths)) + 34;
  }

  axes(box, ticksX, ticksY, labels, toX, toY) {
    const { fg, muted, line } = this.styles;
    const bottom = box.top + box.height;
    this.stroke([box.left + 0.5, box.top], [box.left + 0.5, bottom + 0.5], line);
    this.stroke([box.left, bottom + 0.5], [box.left + box.width, bottom + 0.5], line);
    this.font(12);
    for (const value of ticksX.values) {
      const x = toX(value);
      this.stroke([x, bottom], [x, bottom + 5], line);
      this.text(numberText(value, ticksX.step), x, bottom + 18, { color: muted });
    }
    for (const value of ticksY.values) {
      const y = toY(value);
      this.stroke([box.left - 5, y], [box.left, y], line);
      this.text(numberText(value, ticksY.step), box.left - 9, y, { color: muted, align: "right", base: "middle" });
    }
    this.font(13, 500);
    this.text(this.fit(labels.x, box.width), box.left + box.width / 2, bottom + 38, { color: fg });
    this.context.save();
    this.context.translate(14, box.top + box.height / 2);
    this.context.rotate(-Math.PI / 2);
    this.text(this.fit(labels.y, box.height), 0, 0, { color: fg, base: "middle" });
    this.context.restore();
  }

  fit(words, room) {
    let cut = words;
    while (cut.length > 1 && this.context.measureText(cut).width > room) cut = `${cut.slice(0, -2)}…`;
    return cut;
  }

  // Means and floors: a line across, and its name on paper of its own right beside it.
  references(box, lines, toX, toY) {
    const [right, bottom] = [box.left + box.width, box.top + box.height];
    const dashes = { solid: [], dash: [7, 5], dot: [2, 4] };
    const inside = lines.map((line) => ({ ...line, at: line.axis === "x" ? toX(line.value) : toY(line.value) }))
      .filter(({ axis, at }) => (axis === "x"
        ? at >= box.left && at <= right : at >= box.top && at <= bottom));
    for (const { axis, at, style = "dash" } of inside) {
      const [from, to] = axis === "x" ? [[at, box.top], [at, bottom]] : [[box.left, at], [right, at]];
      this.stroke(from, to, this.styles.fg, 1.5, dashes[style]);
    }
    this.font(12, 500);
    const taken = [];
    for (const line of inside.filter(({ label }) => label)) {
      const places = this.labelPlaces(box, line);
      const free = places.filter((place) => !taken.some((other) => overlap(place, other)));
      const rivals = inside.filter((other) => other !== line && other.axis === line.axis);
      const best = free.find((place) => !rivals.some((other) => covers(place, other))) ?? free[0] ?? places[0];
      taken.push(best);
      this.plate(line.label, best);
    }
  }

  // Where a line's name may stand, the best place first: always touching the line, so that no
  // name is taken for that of another.
  labelPlaces(box, { axis, at, label }) {
    const [wide, high, gap] = [this.context.measureText(label).width + 8, 18, 3];
    const [right, bottom] = [box.left + box.width, box.top + box.height];
    const beside = (low, high_, size) => [at + gap, at - gap - size]
      .filter((start) => start >= low && start + size <= high_);
    const along = axis === "x"
      ? [box.top + 4, bottom - high - 4, box.top + 26, bottom - high - 26]
      : [right - wide - 4, box.left + 4, right - 2 * wide - 12];
    const places = along.flatMap((start) => (axis === "x"
      ? beside(box.left, right + 12, wide).map((x) => ({ x, y: start, wide, high }))
      : beside(box.top, bottom, high).reverse().map((y) => ({ x: start, y, wide, high }))));
    return places.length ? places : [{ x: right - wide, y: box.top, wide, high }];
  }

  plate(words, { x, y, wide, high }) {
    const { context, styles } = this;
    context.globalAlpha = 0.88;
    context.fillStyle = styles.bg;
    context.fillRect(x, y, wide, high);
    context.globalAlpha = 1;
    this.text(words, x + 4, y + high / 2 + 1, { color: styles.fg, align: "left", base: "middle" });
  }

  ring(x, y, radius, color) {
    const { context } = this;
    for (const [width, stroke] of [[4.5, this.styles.bg], [2, color]]) {
      Object.assign(context, { lineWidth: width, strokeStyle: stroke });
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  shape(path) {
    const { context, styles } = this;
    if (path.length < 2) return;
    context.beginPath();
    path.forEach(([x, y], place) => (place ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.globalAlpha = 0.12;
    context.fillStyle = styles.accent;
    context.fill();
    context.globalAlpha = 1;
    Object.assign(context, { strokeStyle: styles.accent, lineWidth: 1.5 });
    context.setLineDash([5, 4]);
    context.stroke();
    context.setLineDash([]);
  }

  // The colour scale with its ends, in the upper right corner.
  scale(box, colors, label, [low, high]) {
    const width = Math.min(150, box.width * 0.35);
    const [x, y] = [box.left + box.width - width - 10, box.top + 26];
    const { context, styles } = this;
    context.globalAlpha = 0.85;
    context.fillStyle = styles.bg;
    context.fillRect(x - 8, y - 24, width + 16, 56);
    context.globalAlpha = 1;
    for (let k = 0; k < width; k += 1) {
      context.fillStyle = `rgb(${colors[Math.floor((k / width) * 254)].join(" ")})`;
      context.fillRect(x + k, y, 1.5, 9);
    }
    this.font(12, 500);
    this.text(this.fit(label, width), x, y - 7, { color: styles.fg, align: "left" });
    const step = (high - low) / 100 || 1;
    this.text(numberText(low, step), x, y + 22, { color: styles.fg, align: "left" });
    this.text(numberText(high, step), x + width, y + 22, { color: styles.fg, align: "right" });
  }
}
