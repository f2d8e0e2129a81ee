// Says when a served page has lost its server or its kernel, and brings it back where that can be;
// else such a page looks alive and answers nothing.

const WATCH = "watch"; // one teller for all panels of a page: there is one kernel
const PATIENCE = 20000; // for an answer of the kernel
const BLINK = 1500; // a connection that is back by then was never missed
const AGAIN = 5000; // between two tries
const ASK = 8000; // for an answer of the server
const TRY = 20000; // for a line to open: one that is opened is not hung up for the next
const LOOK = 5000; // between two looks at the clock
const SLEPT = 30000; // a clock that has gone on by more meanwhile stood still with the machine

const RESTORE = 3500; // so long the widgets wait for all values (4 s), with a margin
const ANSWERED = { content: { execution_state: "idle" } };

const LOST = {
  said: "The connection to the server is lost; trying again.",
  hint: "What is shown stays, and what you missed comes when it is back.",
};
const SLOW = {
  said: "The server has not answered yet.",
  hint: "It may be busy, or asleep; what you did reaches it when it is back.",
};
const MISSED = {
  said: "More happened while the connection was lost than could be kept.",
  hint: "Reload the page: it comes back as it is by now.",
};
const GONE = {
  said: "The kernel behind this page has ended or cannot be reached.",
  hint: "Reload the page: its address brings back the settings.",
};

const UNHEARD = {
  said: "What you did last may not have reached the server.",
  hint: "The page shows what the server has by now; do again what is missing.",
};
const REFUSED = {
  said: "The server asks who you are.",
  hint: "Reload the page and sign in: its address brings back the settings.",
};

class WatchView {
  constructor({ model, signal }) {
    this.model = model;
    this.signal = signal;
    this.kernel = model.widget_manager?.kernel;
    this.timers = {};
    this.over = false;
    this.number = 0; // of the last question to the kernel
    this.open = new Set(); // the numbers of those that it has not answered
    this.settles = Infinity; // from this answer on, all that was kept for this page has come
    this.tried = -Infinity;
    this.missed = this.unheard = false; // said until it is dismissed
    model.on("msg:custom", this.heard);
    for (const name of ["pointerdown", "keydown"]) {
      document.addEventListener(name, (event) => this.ask(event), { signal, capture: true });
    }
    this.kernel?.connectionStatusChanged?.connect(this.turned);
    addEventListener("online", () => this.wake(), { signal });
    for (const name of ["visibilitychange", "resume"]) {
      document.addEventListener(name, () => { if (!document.hidden) this.wake(); }, { signal });
    }
    let seen = Date.now();
    const clock = setInterval(() => {
      if (Date.now() - seen > SLEPT && !document.hidden) this.wake();
      seen = Date.now();
    }, LOOK);
    signal.addEventListener("abort", () => {
      clearInterval(clock);
      for (const name of Object.keys(this.timers)) this.stop(name);
      model.off("msg:custom", this.heard);
      this.kernel?.connectionStatusChanged?.disconnect(this.turned);
    });
    if (document.getElementById("embtie-messages")?.shown.has(WATCH)) this.retry(0); // of a tab left
  }

  // Only of a served page: JupyterLab says so itself.
  get served() { return Boolean(document.body.dataset.voila) && !this.over; }

  get connected() { return (this.kernel?.connectionStatus ?? "connected") === "connected"; }

  later(name, wait, action) {
    this.stop(name);
    this.timers[name] = setTimeout(() => { delete this.timers[name]; action(); }, wait);
  }

  stop(name) {
    clearTimeout(this.timers[name]);
    delete this.timers[name];
  }

  say(words, more = {}) {
    tell(WATCH, words ? [{ id: WATCH, stays: true, ...words, ...more, dismiss: () => this.shut() }] : []);
  }

  shut() {
    this.missed = this.unheard = false;
    this.say(null);
  }

  heard = ({ number }) => {
    this.stop("answer");
    if (this.over) return;
    const lost = [...this.open].some((one) => one < number); // answers come in order
    this.open.clear();
    this.unheard ||= lost;
    this.say(this.missed ? MISSED : this.unheard ? UNHEARD : null, { reload: this.missed });
    if (number >= this.settles) this.settle();
  };

  turned = (_kernel, status) => {
    if (!this.served) return;
    if (status === "connected") {
      this.stop("blink");
      this.stop("again");
      this.stop("answer");
      this.back();
    } else if (!this.timers.blink && !this.timers.again) {
      this.later("blink", BLINK, () => { this.say(LOST); this.retry(0); });
    }
  };

  async back() {
    this.say(null);
    this.since = Date.now();
    this.settles = this.question();
    this.missed = Boolean((await kernelNews())?.missed);
    if (this.missed) this.say(MISSED, { reload: true });
  }

  // What is shown is what the kernel has, and every control works: one whose last change got no
  // answer, since that was lost, would wait for it and send nothing more.
  async settle() {
    this.settles = Infinity;
    const manager = this.model.widget_manager;
    const models = await Promise.all(Object.values(manager?._models ?? {}));
    for (const model of models) {
      for (let left = model._pending_msgs ?? 0; left > 0; left -= 1) model._handle_status(ANSWERED);
    }
    // Widgets asks for all values when the line is back, but waits for them no longer than this.
    if (Date.now() - this.since > RESTORE) manager?.restoreWidgets?.();
  }

  // Ask the kernel whether it is there; the number of the question.
  question() {
    this.number += 1;
    this.open.add(this.number);
    this.model.send({ kind: "there", number: this.number });
    return this.number;
  }

  ask(event) {
    if (!this.served || this.timers.answer || document.getElementById("embtie-messages")?.contains(event.target)) return;
    this.later("answer", PATIENCE, () => this.inquire(SLOW));
    try {
      this.question();
    } catch {
      this.stop("answer");
      this.inquire(GONE);
    }
  }

  retry(wait) {
    if (!this.served || this.connected) return;
    this.later("again", wait, async () => {
      await this.inquire(LOST);
      if (!this.served || this.connected) return;
      this.retry(AGAIN);
    });
  }

  // The page may have slept, and its line be dead without a word, or its kernel gone.
  async wake() {
    if (!this.served) return;
    if (!this.connected) { this.retry(0); return; }
    const told = await kernelNews();
    if (told?.reached) return;
    if (told) this.act(told, LOST);
    else this.later("answer", AGAIN, () => this.inquire(SLOW));
  }

  async inquire(words) { this.act(await kernelNews(), words); }

  // Do what follows from what the server says of the kernel; where it says nothing, `words` stand.
  act(told, words) {
    if (this.signal.aborted || this.over) return;
    if (told?.there === false) {
      this.over = true;
      this.say({ said: told.message, hint: told.hint }, { reload: true });
    } else if (told?.refused) {
      this.say(REFUSED, { reload: true });
    } else if (told?.there && !(this.connected && told.reached)) {
      this.say(LOST);
      this.reconnect();
    } else if (words !== LOST || !this.connected) {
      this.say(words, { reload: words === GONE });
      if (words === SLOW) this.later("answer", PATIENCE, () => this.inquire(SLOW));
    }
  }

  reconnect() {
    if (Date.now() - this.tried < TRY) return;
    this.tried = Date.now();
    this.kernel.reconnect().catch(() => {}); // the next try is ours
  }
}

// {there: true}, or {there: false} with why it ended, or {refused: true} where one has to sign in;
// undefined where nobody can tell.
async function kernelNews() {
  try {
    const { baseUrl, kernelId } = JSON.parse(document.getElementById("jupyter-config-data").textContent);
    const answer = await fetch(`${baseUrl}api/embtie/kernel/${kernelId}`, { cache: "no-store", signal: AbortSignal.timeout(ASK) });
    if (answer.status === 401 || answer.status === 403) return { refused: true };
    return answer.ok ? await answer.json() : undefined;
  } catch {
    return undefined;
  }
}

export default widgetOf(WatchView);
