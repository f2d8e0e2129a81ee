// The card of one token.  All text enters as text nodes.

const SIGNS = {
  all: ["●", ": a neighbour in every list"],
  some: ["○", ": a neighbour in another list too"],
};

class CardView {
  constructor(context) {
    this.model = context.model;
    this.root = makeRoot("embtie-card", context);
    const draw = debounce(0, () => this.draw());
    for (const name of ["token", "note", "hint", "facts", "lists", "status"]) {
      this.model.on(`change:${name}`, draw);
    }
    context.signal.addEventListener("abort", () => draw.cancel());
    this.draw();
  }

  draw() {
    const focused = this.root.contains(document.activeElement);
    const get = (name) => this.model.get(name);
    if (!get("token")) {
      this.root.replaceChildren(make("p", { class: "et-status" }, get("hint")));
      return;
    }
    const name = make("strong", { class: "et-token", tabindex: "-1" }, get("token"));
    const facts = make("dl", {}, ...get("facts").flatMap(([key, value]) => [
      make("dt", {}, key), make("dd", {}, value),
    ]));
    const about = make("div", { class: "et-about" },
      name, make("div", { class: "et-note" }, get("note")), facts);
    const lists = make("div", { class: "et-lists" }, ...get("lists").map((one) => this.listOf(one)));
    const status = make("div", { class: "et-status", role: "status" },
      get("status"), get("lists").length ? " Click one to go on." : "");
    this.root.replaceChildren(make("div", { class: "et-sides" }, about,
      make("div", { class: "et-near" }, lists, status)));
    if (focused) name.focus({ preventScroll: true });
  }

  listOf({ name, role, rows }) {
    const title = make("div", { class: "et-head" },
      make("span", { class: "et-swatch", "data-role": role, "aria-hidden": "true" }), name);
    const items = rows.map(([id, text, value, mark]) => {
      const [sign, said] = SIGNS[mark] ?? ["", ""];
      const words = make("span", { class: "et-token" }, text);
      const button = make("button", {
        type: "button", "data-id": id, title: `${text}${said}`,
        class: mark === "all" ? "et-common" : "",
      }, make("span", { class: "et-sign", "aria-hidden": "true" }, sign), words,
      make("span", { class: "et-value" }, value));
      button.addEventListener("click", () => {
        this.model.set("clicked", id);
        this.model.save_changes();
      });
      return make("li", {}, button);
    });
    return make("div", { class: "et-list" }, title, make("ol", { "aria-label": `Neighbours in ${name}` }, ...items));
  }
}

export default widgetOf(CardView);
