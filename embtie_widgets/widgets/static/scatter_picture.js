// A picture of what a scatter shows, larger by `scale`: title, chart, the line below it, caption.

async function sendPicture(view, { request, scale, caption = "" }) {
  if (!view.styled) view.readStyles();
  if (!view.styled || view.plot.clientWidth === 0) { // a hidden view has nothing to show
    view.model.send({ kind: "hidden", request });
    return;
  }
  view.drawNow(); // what has changed while the page slept
  const before = view.ratio;
  view.ratio = scale;
  view.drawPoints();
  view.drawMarks(true);
  const sheet = sheetOf(view, scale, caption);
  view.ratio = before;
  view.drawNow();
  const blob = await new Promise((done) => sheet.toBlob(done, "image/png"));
  view.model.send({ kind: "png", request }, undefined, [await blob.arrayBuffer()]);
}

function sheetOf(view, scale, caption) {
  const { overlay: { styles }, box } = view;
  const [width, height] = [view.plot.clientWidth, view.plot.clientHeight];
  const lines = caption ? wrapWords(caption, `12px ${styles.font}`, width - 24) : [];
  const [head, foot] = [view.get("title") ? 34 : 8, 30 + 18 * lines.length];
  const sheet = make("canvas", { width: width * scale, height: (height + head + foot) * scale });
  const draw = new Overlay(sheet, styles);
  draw.context.scale(scale, scale);
  draw.context.fillStyle = styles.bg;
  draw.context.fillRect(0, 0, width, height + head + foot);
  draw.context.drawImage(view.pixels, box.left, head + box.top, box.width, box.height);
  draw.context.drawImage(view.marks, 0, head, width, height);
  draw.font(16, 600);
  draw.text(draw.fit(view.get("title"), width - 24), 12, 23, { color: styles.fg, align: "left" });
  draw.font(12);
  [view.status.textContent, ...lines].forEach((line, place) => {
    draw.text(line, 12, head + height + 18 * (place + 1), { color: styles.muted, align: "left" });
  });
  return sheet;
}
