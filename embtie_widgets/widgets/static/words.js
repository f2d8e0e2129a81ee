// The words in lines that fit the width, as measured with the font they are drawn in.
function wrapWords(words, font, width) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = font;
  const lines = [""];
  for (const word of words.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (lines.at(-1) && context.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
