// Groups and their means; the name of each is a button that filters by it.

// How many digits wide a text is at most: in every common font punctuation is about half a digit.
const breadth = (text) => [...text].reduce((sum, sign) => sum + ("[]., ".includes(sign) ? 0.55 : sign === "−" ? 1.35 : 1), 0);

class GroupsView {
  constructor(context) {
    this.model = context.model;
    this.root = makeRoot("embtie-groups", context);
    this.head = make("thead");
    this.body = make("tbody");
    this.table = make("table", {}, this.head, this.body);
    this.scroll = make("div", { class: "et-scroll" }, this.table);
    this.root.append(this.scroll);
    this.body.addEventListener("click", (event) => this.pick(event.target.closest("tr")));
    const draw = debounce(0, () => this.draw());
    for (const name of ["heading", "label", "columns", "rows"]) this.model.on(`change:${name}`, draw);
    this.model.on("change:chosen", () => this.mark());
    context.signal.addEventListener("abort", () => draw.cancel());
    this.draw();
  }

  // A second click on a group takes the filter off.
  pick(line) {
    if (!line) return;
    const { name } = line.dataset;
    this.model.set("chosen", name === this.model.get("chosen") ? "" : name);
    this.model.save_changes();
    this.mark();
  }

  draw() {
    const active = document.activeElement;
    const focused = this.body.contains(active) ? active.closest("tr").dataset.name : null;
    const heads = this.model.get("columns").map(({ label, role }) => make("th", { scope: "col" },
      role ? make("span", { class: "et-swatch", "data-role": role, "aria-hidden": "true" }) : "", label));
    const first = make("th", { scope: "col" }, this.model.get("heading"));
    this.head.replaceChildren(make("tr", {}, first, ...heads));
    this.table.setAttribute("aria-label", this.model.get("label"));
    const rows = this.model.get("rows");
    // Room for what stands beside a number keeps the numbers of a column below one another; no more
    // than it needs, so that they stay below their head.
    const room = heads.map((_, place) => Math.max(0, ...rows.map((row) => breadth(row.cells[place][1]))));
    this.body.replaceChildren(...rows.map((row) => this.rowOf(row, room)));
    this.mark();
    if (focused !== null) this.buttonOf(focused)?.focus({ preventScroll: true });
  }

  rowOf({ name, title, cells }, room) {
    const words = make("span", {}, name);
    const button = make("button", { type: "button", title: title || null, "aria-pressed": "false" }, words);
    const values = cells.map(([text, beside], place) => {
      if (!room[place]) return make("td", {}, text);
      const small = make("small", {}, beside);
      small.style.minWidth = `${room[place]}ch`;
      return make("td", {}, text, " ", small);
    });
    const about = title ? [make("small", { class: "et-about" }, title)] : [];
    const head = make("th", { scope: "row" }, button, ...about);
    return make("tr", { "data-name": name }, head, ...values);
  }

  buttonOf(name) { return this.body.querySelector(`tr[data-name="${CSS.escape(name)}"] button`); }

  mark() {
    const chosen = this.model.get("chosen");
    for (const line of this.body.rows) {
      line.querySelector("button").setAttribute("aria-pressed", line.dataset.name === chosen);
    }
  }
}

export default widgetOf(GroupsView);
