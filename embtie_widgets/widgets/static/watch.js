// Says when a served page has lost its server or its kernel, and brings it back where that can be;
// else such a page looks alive and answers nothing.

const WATCH = "watch"; // one teller for all panels of a page: there is one kernel
const PATIENCE = 20000; // for an answer of the kernel
const BLINK = 1500; // a connection that is back by then was never missed
const AGAIN = 5000; // between two tries
const ASK = 8000; // for an answer of the server

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

class WatchView {
  constructor({ model, signal }) {
    this.model = model;
    this.signal = signal;
    this.kernel = model.widget_manager?.kernel;
    this.timers = {};
    this.over = false;
    model.on("msg:custom", this.heard);
    for (const name of ["pointerdown", "keydown"]) {
      document.addEventListener(name, (event) => this.ask(event), { signal, capture: true });
    }
    this.kernel?.connectionStatusChanged?.connect(this.turned);
    addEventListener("online", () => this.retry(0), { signal });
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.retry(0); }, { signal });
    signal.addEventListener("abort", () => {
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
    tell(WATCH, words ? [{ id: WATCH, stays: true, ...words, ...more, dismiss: () => this.say(null) }] : []);
  }

  heard = () => {
    this.stop("answer");
    if (!this.over) this.say(null);
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
    const told = await kernelNews();
    if (told?.missed) this.say(MISSED, { reload: true });
  }

  ask(event) {
    if (!this.served || this.timers.answer || document.getElementById("embtie-messages")?.contains(event.target)) return;
    this.later("answer", PATIENCE, () => this.inquire(SLOW));
    try {
      this.model.send({ kind: "there" });
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

  // What the server says of the kernel; where it says nothing, `words` stand.
  async inquire(words) {
    const told = await kernelNews();
    if (this.signal.aborted || this.over) return;
    if (told?.there === false) {
      this.over = true;
      this.say({ said: told.message, hint: told.hint }, { reload: true });
    } else if (told?.there && !this.connected) {
      this.say(LOST);
      this.kernel.reconnect().catch(() => {}); // the next try is ours
    } else {
      this.say(words, { reload: words === GONE });
    }
  }
}

// {there: true}, or {there: false} with why it ended; undefined where nobody can tell.
async function kernelNews() {
  try {
    const { baseUrl, kernelId } = JSON.parse(document.getElementById("jupyter-config-data").textContent);
    const answer = await fetch(`${baseUrl}api/embtie/kernel/${kernelId}`, { cache: "no-store", signal: AbortSignal.timeout(ASK) });
    return answer.ok ? await answer.json() : undefined;
  } catch {
    return undefined;
  }
}

export default widgetOf(WatchView);
