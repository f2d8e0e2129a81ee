// A button that asks the kernel for a file and saves the bytes that come back.

class DownloadView {
  constructor(context) {
    this.model = context.model;
    this.waiting = false;
    this.root = makeRoot("embtie-inline embtie-download", context);
    this.words = make("span", { "aria-live": "polite" });
    this.button = make("button", { type: "button" }, icon("M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10"), this.words);
    this.note = make("span", { class: "et-note", role: "status" });
    this.root.append(this.button, this.note);
    this.button.addEventListener("click", () => this.ask());
    for (const name of ["label", "title", "disabled"]) this.model.on(`change:${name}`, () => this.draw());
    this.model.on("msg:custom", (content, buffers) => this.receive(content, buffers));
    this.draw();
  }

  draw() {
    this.words.textContent = this.waiting ? "Preparing…" : this.model.get("label");
    delete this.words.dataset.own;
    this.button.title = this.model.get("title");
    this.button.disabled = this.waiting || this.model.get("disabled");
  }

  ask() {
    this.waiting = true;
    this.note.textContent = "";
    this.draw();
    this.model.send({ kind: "ask" });
  }

  // Every view of the button hears the answer; only the one that asked acts on it.
  receive(content, buffers) {
    if (!this.waiting) return;
    this.waiting = false;
    this.draw();
    if (content.kind === "file") this.save(content, buffers[0]);
    else this.note.textContent = content.message;
    confirmOn(this.button, this.words, content.kind === "file" ? "Saved" : "Not saved", content.kind === "file");
  }

  save({ filename, mime }, data) {
    const url = URL.createObjectURL(new Blob([data], { type: mime }));
    const link = make("a", { href: url, download: filename, hidden: true });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }
}

export default widgetOf(DownloadView);
