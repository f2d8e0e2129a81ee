// A text box with suggestions from the kernel: a combobox with a list of at most fifty.

class SearchView {
  constructor(context) {
    this.model = context.model;
    this.active = -1;
    this.signal = context.signal;
    this.root = makeRoot("embtie-search", context);
    this.build();
    const { signal } = context;
    for (const name of ["scroll", "resize"]) {
      window.addEventListener(name, () => this.open && this.place(), { signal, capture: true });
    }
    const looks = ["label", "placeholder", "disabled", "status"];
    for (const name of looks) this.model.on(`change:${name}`, () => this.draw());
    for (const name of ["value", "value_label", "title"]) this.model.on(`change:${name}`, () => this.showValue());
    this.model.on("change:hits", () => this.drawHits());
    this.draw();
    this.showValue();
    this.drawHits();
  }

  build() {
    const key = `et-${Math.random().toString(36).slice(2)}`;
    this.key = key;
    this.words = make("label", { for: `${key}-box`, class: "et-label" });
    this.box = make("input", {
      type: "text", id: `${key}-box`, role: "combobox", autocomplete: "off", spellcheck: "false",
      "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${key}-list`,
    });
    this.list = make("ul", { id: `${key}-list`, role: "listbox", class: "et-hits", popover: "manual" });
    this.note = make("span", { class: "et-note", role: "status" });
    this.root.append(this.words, this.box, this.note, this.list);
    this.askSoon = debounce(150, () => this.ask(this.box.value));
    const on = (name, action) => this.box.addEventListener(name, (event) => action.call(this, event));
    on("input", () => { this.typed = true; this.show(); this.askSoon(); });
    on("focus", () => this.box.select());
    on("click", () => { if (!this.open) { this.ask(""); this.show(); } });
    on("keydown", this.onKey);
    on("blur", this.leave);
    // The host may give the box its width, and the browser its start again, after this.
    on("blur", () => requestAnimationFrame(() => this.showEnd()));
    const sizes = new ResizeObserver(() => this.showEnd());
    sizes.observe(this.box);
    this.signal.addEventListener("abort", () => sizes.disconnect());
    // Before the box loses its focus, which would close the list under the pointer.
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.choose(Number(option.dataset.index));
    });
  }

  draw() {
    const label = this.model.get("label");
    this.words.textContent = label;
    this.words.hidden = !label;
    this.box.placeholder = this.model.get("placeholder");
    this.box.disabled = this.model.get("disabled");
    if (!label) this.box.setAttribute("aria-label", this.model.get("placeholder") || "Search");
    this.note.textContent = this.model.get("status");
  }

  showValue() {
    if (this.typed && document.activeElement === this.box) return;
    this.box.value = this.model.get("value_label") || this.model.get("value");
    this.box.title = this.model.get("title") || this.model.get("value");
    this.showEnd();
  }

  // Of a path that is too long for the box its end tells it from others; a title begins at its start.
  showEnd() {
    if (document.activeElement === this.box) return;
    this.box.scrollLeft = this.box.value === this.model.get("value") ? this.box.scrollWidth : 0;
  }

  ask(query) {
    this.askSoon.cancel();
    if (query === this.model.get("query")) return;
    this.model.set("query", query);
    this.model.save_changes();
  }

  drawHits() {
    this.active = -1;
    const lines = this.model.get("hits").map((hit, index) => {
      const option = make("li", {
        role: "option", id: `${this.key}-${index}`, "data-index": index, "aria-selected": "false",
        title: hit.label || hit.value,
      }, make("span", { class: "et-hit" }, hit.label || hit.value));
      if (hit.detail) option.append(make("span", { class: "et-note" }, hit.detail));
      if (hit.off) {
        option.setAttribute("aria-disabled", "true");
        option.append(make("span", { class: "et-note et-off" }, hit.off));
      }
      return option;
    });
    this.list.replaceChildren(...lines);
    this.mark();
    if (this.open) this.show();
  }

  show() {
    this.open = true;
    const any = this.model.get("hits").length > 0;
    this.box.setAttribute("aria-expanded", any);
    this.list.classList.toggle("et-open", any);
    if (any && !this.list.matches(":popover-open")) this.list.showPopover?.();
    if (!any && this.list.matches(":popover-open")) this.list.hidePopover?.();
    if (any) this.place();
  }

  hide() {
    this.open = false;
    this.active = -1;
    this.box.setAttribute("aria-expanded", "false");
    this.list.classList.remove("et-open");
    if (this.list.matches(":popover-open")) this.list.hidePopover();
    this.mark();
  }

  // On the page's top layer, so that no box of the host cuts the list off.
  place() {
    const frame = this.box.getBoundingClientRect();
    const below = window.innerHeight - frame.bottom - 8;
    const up = below < 160 && frame.top > below;
    Object.assign(this.list.style, {
      left: `${frame.left}px`, width: `${frame.width}px`,
      maxHeight: `${Math.min(up ? frame.top - 8 : below, 320)}px`,
      top: up ? "auto" : `${frame.bottom + 4}px`,
      bottom: up ? `${window.innerHeight - frame.top + 4}px` : "auto",
    });
  }

  mark() {
    [...this.list.children].forEach((option, index) => {
      option.setAttribute("aria-selected", index === this.active);
      if (index === this.active) option.scrollIntoView({ block: "nearest" });
    });
    if (this.active < 0) this.box.removeAttribute("aria-activedescendant");
    else this.box.setAttribute("aria-activedescendant", `${this.key}-${this.active}`);
  }

  step(by) {
    const count = this.list.children.length;
    if (!this.open) {
      if (!this.typed) this.ask("");
      this.show();
    }
    if (count) this.active = (this.active + by + (this.active < 0 && by < 0 ? 1 : 0) + count) % count;
    this.mark();
  }

  onKey(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      this.step(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (this.open && this.active >= 0) this.choose(this.active);
      else this.takeText();
    } else if (event.key === "Escape") {
      if (this.open) event.preventDefault();
      this.typed = false;
      this.hide();
      this.showValue();
    }
  }

  choose(index) {
    const hit = this.model.get("hits")[index];
    if (hit && !hit.off) this.commit(hit.value, hit.label || hit.value);
  }

  // Free text counts on Enter; where only suggestions count, the first one does.
  takeText() {
    const text = this.box.value.trim();
    if (!this.typed) this.hide();
    else if (this.model.get("free_text")) this.commit(text, text);
    else if (this.model.get("query") === this.box.value) this.choose(0);
    else this.ask(this.box.value);
  }

  commit(value, label) {
    this.askSoon.cancel();
    this.typed = false;
    this.model.set("value", value);
    this.model.set("value_label", label);
    this.model.save_changes();
    this.hide();
    this.showValue();
  }

  leave() {
    if (this.typed && this.model.get("free_text")) this.takeText();
    this.typed = false;
    this.askSoon.cancel();
    this.hide();
    this.showValue();
  }
}

export default widgetOf(SearchView);
