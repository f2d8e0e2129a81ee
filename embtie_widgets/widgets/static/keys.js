// Keys: arrows go through a row of buttons, and the focus is not lost with a control.

const ROWS = ".widget-toggle-buttons > div, .et-tools, .modebar";
const KEYED = "button, input, select, textarea, summary, a[href], [tabindex]";
const NEAR = 2; // how many boxes around a control hold its neighbours
const ARROWS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

const usable = (one) => one.isConnected && !one.disabled && one.checkVisibility();

// Tab stops at one button of a row: the one that has the focus, else the one that is on.
function stopOnce(row) {
  const all = [...row.querySelectorAll("button")];
  const on = all.filter((one) => !one.disabled);
  const stop = on.find((one) => one === document.activeElement)
    ?? on.find((one) => one.matches(".mod-active, [aria-pressed='true']")) ?? on[0];
  for (const one of all) one.tabIndex = one === stop ? 0 : -1;
}

function alongRow(event) {
  const row = event.target.closest?.(ROWS);
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
  const all = [...row.querySelectorAll("button")].filter(usable);
  const here = all.indexOf(event.target);
  const by = ARROWS[event.key];
  const to = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1
    : by === undefined ? -1 : (here + by + all.length) % all.length;
  if (to < 0 || here < 0) return;
  event.preventDefault();
  all[to].focus();
  all[to].scrollIntoView({ block: "nearest", inline: "nearest" }); // one that is half in view, too
  stopOnce(row);
}

// A control that is switched off or drawn anew while it has the focus hands it on: to itself as
// soon as it can take it, to its like in the same place, or to its nearest neighbour.
class Focus {
  constructor(root, signal) {
    root.addEventListener("focusin", ({ target }) => this.keep(target), { signal });
    root.addEventListener("focusout", ({ target, relatedTarget }) => {
      if (target.isConnected && !target.disabled && !relatedTarget) this.last = null;
    }, { signal });
    document.addEventListener("pointerdown", () => { this.last = null; }, { signal, capture: true });
  }

  keep(one) {
    this.last = one;
    this.homes = [];
    for (let at = one.parentElement; at && this.homes.length < NEAR; at = at.parentElement) this.homes.push(at);
  }

  mend() {
    const { last } = this;
    const now = document.activeElement;
    if (!last || (now && now !== document.body && now !== last)) return;
    if (usable(last)) {
      if (now !== last) last.focus({ preventScroll: true });
    } else if (last.disabled || !last.isConnected) {
      this.heir(last)?.focus({ preventScroll: true });
    }
  }

  heir(lost) {
    for (const home of this.homes.filter((one) => one.isConnected)) {
      const all = [...home.querySelectorAll(KEYED)].filter((one) => one.tabIndex >= 0 && usable(one));
      const like = all.find((one) => one.tagName === lost.tagName && one.textContent === lost.textContent);
      if (like ?? all[0]) return like ?? all[0];
    }
    return null;
  }
}

// To the results of the panel that is shown; the address of the page stays as it is, for links.
function skip(event) {
  if (!event.target.closest?.(".ep-skip")) return;
  event.preventDefault();
  const to = event.currentTarget.querySelector(".ep-main");
  to.tabIndex = -1;
  to.focus();
}
