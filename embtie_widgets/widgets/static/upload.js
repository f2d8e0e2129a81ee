// A button that sends a file in pieces, each when the kernel asks for it: a server closes the
// connection on a message that is too long for it, and nobody would hear of the file again.

const PIECE = 4 * 2 ** 20;

class UploadView {
  constructor(context) {
    this.model = context.model;
    this.file = null;
    this.root = makeRoot("embtie-inline embtie-upload", context);
    this.input = make("input", { type: "file", accept: this.model.get("accept"), hidden: true });
    this.words = make("span", { "aria-live": "polite" });
    this.button = make("button", { type: "button", title: this.model.get("title") },
      icon("M8 10.5v-8M4.5 6 8 2.5 11.5 6M3 13.5h10"), this.words);
    this.note = make("span", { class: "et-note", role: "status" });
    this.root.append(this.input, this.button, this.note);
    this.button.addEventListener("click", () => this.input.click());
    this.input.addEventListener("change", () => this.begin(this.input.files[0]));
    this.model.on("msg:custom", (content) => this.receive(content));
    this.draw();
  }

  draw(done = 0) {
    const share = this.file && this.file.size ? Math.floor((100 * done) / this.file.size) : 0;
    this.words.textContent = this.file ? `Sending… ${share} %` : this.model.get("label");
    delete this.words.dataset.own;
    allow(this.button, this.file && "a file is on its way");
  }

  begin(file) {
    this.input.value = "";
    if (!file) return;
    this.file = file;
    this.note.textContent = "";
    this.draw();
    this.model.send({ kind: "begin", name: file.name, size: file.size });
  }

  // Every view of the button hears the kernel; only the one that sends acts on it.
  async receive(content) {
    if (!this.file) return;
    if (content.kind === "next") {
      this.draw(content.at);
      const piece = await this.file.slice(content.at, content.at + PIECE).arrayBuffer();
      this.model.send({ kind: "piece" }, undefined, [piece]);
      return;
    }
    this.file = null;
    this.draw();
    this.note.textContent = content.message ?? "";
  }
}

export default widgetOf(UploadView);
