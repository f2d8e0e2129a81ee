// The one place of a page where it says what went wrong: at its foot, whichever part says it, and
// whichever tab is open.  Every widget that tells something has this text in its own module, so what
// they share is kept on the element.

const AREA = "embtie-messages";
const CROSS = "M4 4l8 8M12 4l-8 8";

function messageArea() {
  const known = document.getElementById(AREA);
  if (known) return known;
  const area = make("section", { id: AREA, class: "embtie embtie-messages", "aria-label": "Messages", hidden: true });
  area.count = make("span", { class: "et-note" });
  const all = make("button", { type: "button" }, "Dismiss all");
  area.bar = make("div", { class: "et-bar", hidden: true }, area.count, all);
  area.list = make("div", { class: "et-messages" });
  area.append(area.bar, area.list);
  area.shown = new Map();
  const theme = () => { area.dataset.theme = pageTheme(); };
  onPageTheme(theme, new AbortController().signal);
  theme();
  all.addEventListener("click", () => {
    for (const one of [...area.shown.values()]) if (!one.asked.stays) one.asked.dismiss();
  });
  // Where the keyboard was before it came here, to go back to when the last one is dismissed.
  area.addEventListener("focusin", (event) => {
    if (event.relatedTarget && !area.contains(event.relatedTarget)) area.before = event.relatedTarget;
  });
  document.body.append(area);
  return area;
}

// Show these messages of one teller, and no others of it: {id, said, hint, details, where, count,
// dismiss, reload, stays}.  Several views of a widget tell the same ones, and each is shown once.
function tell(teller, messages) {
  const area = messageArea();
  const ids = new Set(messages.map((one) => one.id));
  for (const [id, one] of [...area.shown]) {
    if (!ids.has(id) && one.tellers.delete(teller) && !one.tellers.size) takeAway(area, id);
  }
  for (const asked of messages) {
    const known = area.shown.get(asked.id);
    const one = known ?? { tellers: new Set(), node: make("div", { class: "et-message", role: "alert" }) };
    one.tellers.add(teller);
    if (!known || JSON.stringify(known.asked) !== JSON.stringify(asked)) one.node.replaceChildren(...messageParts(asked));
    one.asked = asked;
    if (!known) {
      area.shown.set(asked.id, one);
      area.hidden = false; // before the words come, or they are not spoken
      area.list.prepend(one.node);
    }
  }
  countMessages(area);
}

function takeAway(area, id) {
  const { node } = area.shown.get(id);
  const held = node.contains(document.activeElement);
  area.shown.delete(id);
  node.remove();
  countMessages(area);
  if (held) (area.list.querySelector("button") ?? area.before)?.focus?.();
}

function countMessages(area) {
  const many = area.shown.size;
  area.hidden = !many;
  area.bar.hidden = many < 2;
  area.count.textContent = `${many} messages`;
}

function messageParts(asked) {
  const shut = make("button", { type: "button", class: "et-shut", title: "Dismiss", "aria-label": `Dismiss: ${asked.said}` }, icon(CROSS));
  shut.addEventListener("click", asked.dismiss);
  shut.addEventListener("keydown", (event) => { if (event.key === "Escape") asked.dismiss(); });
  const words = make("div", { class: "et-grow" });
  const times = asked.count > 1 ? ` (${asked.count} times)` : "";
  if (asked.where) words.append(make("div", { class: "et-note" }, asked.where));
  words.append(make("strong", {}, asked.said), times, " ", make("span", {}, asked.hint));
  if (asked.details) words.append(make("details", {}, make("summary", {}, "Details"), make("pre", {}, asked.details)));
  if (asked.reload) {
    const reload = make("button", { type: "button", class: "et-reload" }, "Reload");
    reload.addEventListener("click", () => location.reload());
    words.append(reload);
  }
  return [words, shut];
}
