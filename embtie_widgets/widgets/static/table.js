// The token table: shows what the kernel sends and asks for more; it never sorts or filters.

function cellOf(column, value) {
  const number = column.kind !== "text";
  const cell = make("td", { role: "gridcell", class: number ? "et-number" : "et-token" });
  if (value === null || value === undefined) {
    cell.classList.add("et-none");
    cell.textContent = "–";
    cell.title = "no value";
    return cell;
  }
  const text = String(value);
  cell.textContent = text.length > 80 ? `${text.slice(0, 79)}…` : text;
  if (!number) cell.title = text;
  return cell;
}

// A token that a spreadsheet would carry out as a formula has an apostrophe before it.
function tsvOf(columns, rows) {
  const clean = (value) => String(value ?? "").replace(/[\t\r\n]+/g, " ");
  const inert = (value, place) => (place && columns[place - 1].kind === "text"
    ? clean(value).replace(/^[=+@-](?=.)/s, "'$&") : clean(value));
  const lines = [["id", ...columns.map((column) => clean(column.label))], ...rows.map((row) => row.map(inert))];
  return lines.map((line) => line.join("\t")).join("\n");
}

class TableView {
  constructor(context) {
    this.model = context.model;
    this.signal = context.signal;
    this.active = 0;
    this.root = makeRoot("embtie-table", context);
    this.buildBar();
    this.buildGrid();
    this.buildFoot();
    const rows = () => this.drawRows();
    const listen = {
      columns: () => { this.drawHead(); rows(); },
      rows: () => { this.active = 0; rows(); },
      sort: () => this.drawHead(), descending: () => this.drawHead(),
      selected: () => this.markRows(), clicked: () => this.markRows(),
      query: () => this.showQuery(), status: () => this.drawStatus(),
      nothing: rows, shown: () => this.drawPager(), page: () => this.drawPager(),
      page_size: () => this.drawPager(), total: () => this.drawPager(),
      height: () => this.drawHeight(),
    };
    for (const [name, action] of Object.entries(listen)) this.model.on(`change:${name}`, action);
    this.drawHead();
    this.drawRows();
    this.drawStatus();
    this.drawPager();
    this.drawHeight();
    this.showQuery();
  }

  tell(changes) {
    for (const [name, value] of Object.entries(changes)) this.model.set(name, value);
    this.model.save_changes();
  }

  buildBar() {
    const asks = `Search ${this.model.get("noun")}`;
    this.search = make("input", {
      type: "search", class: "et-search", "aria-label": asks, placeholder: asks,
      autocomplete: "off", spellcheck: "false",
    });
    const ask = () => {
      later.cancel();
      if (this.search.value !== this.model.get("query")) {
        this.tell({ query: this.search.value, page: 0 });
      }
    };
    const later = debounce(200, ask);
    this.search.addEventListener("input", later);
    this.search.addEventListener("blur", ask); // what is done next comes after what was typed
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") ask();
      if (event.key === "ArrowDown") this.focusRow(0);
      if (event.key === "Escape" && this.search.value) {
        this.search.value = "";
        ask();
        event.preventDefault();
      }
    });
    this.status = make("span", { class: "et-status et-grow", role: "status" });
    this.root.append(make("div", { class: "et-bar" }, this.search, this.status));
  }

  buildGrid() {
    this.head = make("thead");
    this.body = make("tbody");
    this.grid = make("table", {
      role: "grid", "aria-multiselectable": "true", "aria-label": "Tokens",
    }, this.head, this.body);
    this.empty = make("div", { class: "et-empty", hidden: true });
    this.scroll = make("div", { class: "et-scroll" }, this.grid, this.empty);
    this.root.append(this.scroll);
    this.body.addEventListener("click", (event) => this.onRowClick(event));
    this.body.addEventListener("keydown", (event) => this.onRowKey(event));
  }

  buildFoot() {
    const label = make("span", { "aria-live": "polite" }, "Copy rows");
    this.copyButton = make("button", {
      type: "button", title: "Copy the selected rows, or all rows on this page, as a table (TSV)",
    }, icon("M6 5.5h7v8H6zM3 10.5V2.5h7"), label);
    this.copyButton.addEventListener("click", () => this.copy(label));
    this.copyLabel = label;
    this.back = make("button", { type: "button", "aria-label": "Previous page" }, "‹");
    this.next = make("button", { type: "button", "aria-label": "Next page" }, "›");
    this.place = make("span", { class: "et-status" });
    this.back.addEventListener("click", () => this.turn(-1));
    this.next.addEventListener("click", () => this.turn(1));
    this.pager = make("div", { class: "et-pager" }, this.back, this.place, this.next);
    this.root.append(make("div", { class: "et-bar et-foot" },
      this.copyButton, make("span", { class: "et-grow" }), this.pager));
  }

  drawHead() {
    const focused = this.head.contains(document.activeElement)
      ? document.activeElement.dataset.name : null;
    const sort = this.model.get("sort");
    const down = this.model.get("descending");
    const cells = this.model.get("columns").map((column) => {
      const on = column.name === sort;
      const button = make("button", {
        type: "button", "data-name": column.name, title: column.title || `Sort by ${column.label}`,
      }, make("span", {}, column.label),
      make("span", { class: "et-arrow", "aria-hidden": "true" }, on ? (down ? "▼" : "▲") : ""));
      button.addEventListener("click", () => this.sortBy(column));
      return make("th", {
        scope: "col", role: "columnheader", class: column.kind === "text" ? "" : "et-number",
        "aria-sort": on ? (down ? "descending" : "ascending") : "none",
      }, button);
    });
    const pick = make("th", { scope: "col", role: "columnheader", class: "et-pick" },
      make("span", { class: "et-hidden-label" }, "Selected"));
    this.head.replaceChildren(make("tr", { role: "row" }, pick, ...cells));
    if (focused !== null) this.head.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
  }

  // Numbers start with the largest, words with the first letter.
  sortBy(column) {
    const same = column.name === this.model.get("sort");
    const descending = same ? !this.model.get("descending") : column.kind !== "text";
    this.tell({ sort: column.name, descending, page: 0 });
  }

  drawRows() {
    const focused = this.body.contains(document.activeElement);
    const columns = this.model.get("columns");
    const rows = this.model.get("rows");
    this.body.replaceChildren(...rows.map((row, index) => this.rowOf(columns, row, index)));
    this.empty.hidden = rows.length > 0;
    this.empty.textContent = this.model.get("nothing");
    allow(this.copyButton, rows.length === 0 && "there is no row");
    this.scroll.scrollTop = 0;
    this.markRows();
    if (focused) this.focusRow(this.active);
  }

  rowOf(columns, row, index) {
    const name = columns.length ? String(row[1]) : String(row[0]);
    const box = make("input", { type: "checkbox", tabindex: "-1", "aria-label": `Select ${name}` });
    const line = make("tr", { role: "row", "data-id": row[0], "data-index": index, ...OWN_KEYS });
    line.append(make("td", { role: "gridcell", class: "et-pick" }, box));
    columns.forEach((column, place) => line.append(cellOf(column, row[place + 1])));
    return line;
  }

  markRows() {
    const chosen = new Set(this.model.get("selected"));
    const clicked = this.model.get("clicked");
    this.active = Math.min(this.active, Math.max(this.body.rows.length - 1, 0));
    for (const line of this.body.rows) {
      const id = Number(line.dataset.id);
      line.setAttribute("aria-selected", chosen.has(id));
      line.querySelector("input").checked = chosen.has(id);
      line.classList.toggle("et-clicked", id === clicked);
      line.tabIndex = Number(line.dataset.index) === this.active ? 0 : -1;
    }
  }

  drawStatus() { this.status.textContent = this.model.get("status"); }

  drawHeight() { this.root.style.setProperty("--et-height", `${this.model.get("height")}px`); }

  showQuery() {
    if (document.activeElement !== this.search) this.search.value = this.model.get("query");
  }

  pages() { return Math.max(Math.ceil(this.model.get("shown") / this.model.get("page_size")), 1); }

  drawPager() {
    const page = this.model.get("page");
    const size = this.model.get("page_size");
    const shown = this.model.get("shown");
    const [first, last] = [page * size + 1, Math.min((page + 1) * size, shown)];
    const show = (value) => value.toLocaleString("en-US");
    this.pager.hidden = shown <= size;
    this.place.textContent = `${show(first)}–${show(last)} of ${show(shown)}`;
    allow(this.back, page <= 0 && "this is the first page");
    allow(this.next, page >= this.pages() - 1 && "this is the last page");
    this.grid.setAttribute("aria-rowcount", this.model.get("total"));
  }

  turn(step) {
    const page = Math.min(Math.max(this.model.get("page") + step, 0), this.pages() - 1);
    if (page !== this.model.get("page")) this.tell({ page });
  }

  focusRow(index) {
    const line = this.body.rows[index];
    if (!line) return;
    this.active = index;
    for (const other of this.body.rows) other.tabIndex = other === line ? 0 : -1;
    line.focus();
  }

  toggle(id) {
    const chosen = new Set(this.model.get("selected"));
    if (!chosen.delete(id)) chosen.add(id);
    this.tell({ selected: [...chosen] });
    this.markRows();
  }

  addRange(from, to) {
    const [first, last] = [Math.min(from, to), Math.max(from, to)];
    const ids = this.model.get("rows").slice(first, last + 1).map((row) => row[0]);
    this.tell({ selected: [...new Set([...this.model.get("selected"), ...ids])] });
  }

  onRowClick(event) {
    const line = event.target.closest("tr");
    if (!line) return;
    const id = Number(line.dataset.id);
    const from = this.active;
    this.focusRow(Number(line.dataset.index));
    if (event.shiftKey) this.addRange(from, Number(line.dataset.index));
    else if (event.target.closest(".et-pick") || event.ctrlKey || event.metaKey) this.toggle(id);
    else this.tell({ clicked: id });
    this.markRows();
  }

  onRowKey(event) {
    const line = event.target.closest("tr");
    const index = Number(line.dataset.index);
    const last = this.body.rows.length - 1;
    const moves = {
      ArrowDown: () => this.focusRow(Math.min(index + 1, last)),
      ArrowUp: () => (index > 0 ? this.focusRow(index - 1) : this.search.focus()),
      Home: () => this.focusRow(0),
      End: () => this.focusRow(last),
      PageDown: () => this.turn(1),
      PageUp: () => this.turn(-1),
      Enter: () => this.tell({ clicked: Number(line.dataset.id) }),
      " ": () => this.toggle(Number(line.dataset.id)),
      Escape: () => this.model.send({ kind: "clear" }),
      "/": () => this.search.focus(),
    };
    const copies = event.key.toLowerCase() === "c" && (event.ctrlKey || event.metaKey);
    const move = copies ? () => this.copy(this.copyLabel) : moves[event.key];
    if (!move || (event.shiftKey && event.key === "Enter")) return;
    event.preventDefault();
    move();
    this.markRows();
  }

  async copy(label) {
    const chosen = new Set(this.model.get("selected"));
    const rows = this.model.get("rows");
    const picked = rows.filter((row) => chosen.has(row[0]));
    const taken = picked.length ? picked : rows;
    const done = await copyText(tsvOf(this.model.get("columns"), taken));
    confirmOn(this.copyButton, label, done ? `Copied ${taken.length}` : "Copying is blocked", done);
  }
}

export default widgetOf(TableView);
