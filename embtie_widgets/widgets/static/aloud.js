// What a run says aloud: that it has begun, what it is at by then, a word now and then of how far it
// is, and how it ended.  A listener hears other things too, so there is time between two words.

const CALM = 5000; // milliseconds before another stage is told
const EVERY = 30000; // before the same one is told again, with its numbers

class Aloud {
  constructor(el) {
    el.classList.add("ep-aloud");
    this.region = make("div", { role: "status" });
    el.append(this.region);
    [this.stage, this.at] = ["", 0];
  }

  // `data-stage` names the stage of a running job; at rest the line stands for itself.
  follow(root) {
    const line = root.querySelector(".ep-status [data-stage]");
    if (!line) return;
    const { stage } = line.dataset;
    if (stage) this.running(stage, line.textContent);
    else this.resting(line.textContent, root);
  }

  running(stage, words) {
    const since = performance.now() - this.at;
    if (!this.stage || (stage !== this.stage && since > CALM)) this.say(stage, stage);
    else if (since > EVERY) this.say(stage, words);
  }

  resting(words, root) {
    const found = /^Computed/.test(words) ? root.querySelector(".ep-headline p")?.textContent ?? "" : "";
    const said = `${words} ${found}`.trim();
    if (this.stage || said !== this.region.textContent) this.say("", said);
  }

  say(stage, words) {
    [this.stage, this.at] = [stage, performance.now()];
    this.region.textContent = words;
  }
}
