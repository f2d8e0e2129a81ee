// A button that opens and closes a part of the page; the kernel shows the part.

class DisclosureView {
  constructor(context) {
    this.model = context.model;
    this.root = makeRoot("embtie-inline embtie-disclosure", context);
    this.sign = make("span", { class: "et-sign", "aria-hidden": "true" });
    this.words = make("span");
    this.button = make("button", { type: "button" }, this.sign, this.words);
    this.root.append(this.button);
    this.button.addEventListener("click", () => this.toggle());
    for (const name of ["sign", "label", "title"]) this.model.on(`change:${name}`, () => this.draw());
    this.model.on("change:opened", () => this.follow());
    this.draw();
  }

  draw() {
    this.sign.textContent = this.model.get("sign");
    this.sign.hidden = !this.model.get("sign");
    this.words.textContent = this.model.get("label");
    this.button.title = this.model.get("title");
    this.button.setAttribute("aria-expanded", String(this.model.get("opened")));
  }

  toggle() {
    this.model.set("opened", !this.model.get("opened"));
    this.model.save_changes();
  }

  // A part that is closed by a button of its own takes that button away, and the focus with it.
  follow() {
    this.draw();
    const lost = this.asked && !this.model.get("opened");
    this.asked = this.model.get("opened");
    if (lost) requestAnimationFrame(() => this.catchFocus());
  }

  catchFocus() {
    const now = document.activeElement;
    if (!now || now === document.body || !now.checkVisibility()) this.button.focus();
  }
}

export default widgetOf(DisclosureView);
