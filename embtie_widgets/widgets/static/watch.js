// Says that the kernel behind a page has ended; else such a page looks alive and answers nothing.

const PATIENCE = 20000;

class WatchView {
  constructor({ model, el, signal }) {
    this.model = model;
    this.waiting = 0;
    this.note = make("div", { class: "ep-ended", hidden: true }, make("div", { class: "ep-alert", role: "alert" },
      make("strong", {}, "The kernel behind this page has ended or cannot be reached."), " ",
      make("span", {}, "Reload the page: its address brings back the settings.")));
    el.append(this.note);
    const heard = () => this.say(false);
    model.on("msg:custom", heard);
    for (const name of ["pointerdown", "keydown"]) {
      document.addEventListener(name, () => this.ask(), { signal, capture: true });
    }
    signal.addEventListener("abort", () => {
      clearTimeout(this.waiting);
      model.off("msg:custom", heard);
    });
  }

  say(gone) {
    clearTimeout(this.waiting);
    this.waiting = 0;
    this.note.hidden = !gone;
  }

  ask() {
    if (this.waiting || !document.body.dataset.voila) return; // JupyterLab says so itself
    this.waiting = setTimeout(() => this.say(true), PATIENCE);
    try {
      this.model.send({ kind: "there" });
    } catch {
      this.say(true);
    }
  }
}

export default widgetOf(WatchView);
