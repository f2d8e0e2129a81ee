// A button that copies a text; where the page may not, it lays the text out to be taken by hand.

const PATIENCE = 700; // a kernel that is busy is not waited for: what stands here is copied

class CopyView {
  constructor(context) {
    this.model = context.model;
    this.root = makeRoot("embtie-inline embtie-copy", context);
    this.words = make("span", { "aria-live": "polite" });
    this.button = make("button", { type: "button" }, icon("M6 5.5h7v8H6zM3 10.5V2.5h7"), this.words);
    this.byHand = make("input", {
      type: "text", readonly: true, hidden: true, "aria-label": "Text to copy by hand",
    });
    this.root.append(this.button, this.byHand);
    this.button.addEventListener("click", () => this.copy());
    for (const name of ["label", "title", "disabled"]) this.model.on(`change:${name}`, () => this.draw());
    this.draw();
  }

  draw() {
    this.words.textContent = this.model.get("label");
    delete this.words.dataset.own;
    this.button.title = this.model.get("title");
    this.button.disabled = this.model.get("disabled");
  }

  // What was typed just before may still be on its way; the kernel answers after it.
  upToDate() {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.model.off("msg:custom", done);
        resolve();
      };
      const timer = setTimeout(done, PATIENCE);
      this.model.on("msg:custom", done);
      try {
        this.model.send({ kind: "ask" });
      } catch {
        done();
      }
    });
  }

  async copy() {
    await this.upToDate();
    const text = this.model.get("text");
    const done = await copyText(text);
    confirmOn(this.button, this.words, done ? "Copied" : "Press Ctrl+C", done);
    this.byHand.hidden = done;
    if (done) return;
    this.byHand.value = text;
    this.byHand.focus();
    this.byHand.select();
  }
}

export default widgetOf(CopyView);
