// An SVG or PNG of a plotly figure, with caption and settings inside.

const SVG_SPACE = "http://www.w3.org/2000/svg";

function svgElement(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG_SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

// plotly stacks several SVGs; one picture has them as groups, on paper, with the caption below.
function svgOf(figure, { caption, settings }) {
  const layers = [...figure.querySelectorAll(".main-svg")];
  const sample = getComputedStyle(figure.querySelector(".main-svg text"));
  const [width, high] = [figure.clientWidth, figure.clientHeight];
  const lines = wrapWords(caption, `12px ${sample.fontFamily}`, width - 32);
  const height = high + 18 * lines.length + 16;
  const root = svgElement("svg", { xmlns: SVG_SPACE, width, height, viewBox: `0 0 ${width} ${height}` });
  root.append(svgElement("metadata", {}, settings));
  root.append(svgElement("rect", { width, height, fill: getComputedStyle(layers[0]).backgroundColor }));
  for (const layer of layers) {
    const copy = layer.cloneNode(true);
    copy.querySelectorAll(".hoverlayer, .drag").forEach((part) => part.remove());
    root.append(svgElement("g", {}, ...copy.childNodes));
  }
  const style = `font-family: ${sample.fontFamily.replaceAll('"', "'")}; font-size: 12px; fill: ${sample.fill}`;
  lines.forEach((line, place) => {
    root.append(svgElement("text", { x: 16, y: high + 14 + 18 * place, style }, line));
  });
  // Clip paths are named by the page's whole address there; in a file they stand beside.
  return new XMLSerializer().serializeToString(root)
    .replace(/url\((?:&quot;|['"])?[^#()]*#([^)'"&]+)(?:&quot;|['"])?\)/g, "url(#$1)");
}

async function pngOf(svg, scale) {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await picture.decode();
  const canvas = make("canvas", { width: picture.width * scale, height: picture.height * scale });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.drawImage(picture, 0, 0);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

// A drawn figure as the bytes of a file.
async function pictureOf(figure, content) {
  const svg = svgOf(figure, content);
  const blob = content.kind === "svg" ? new Blob([svg]) : await pngOf(svg, content.scale);
  return blob.arrayBuffer();
}
