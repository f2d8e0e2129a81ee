// Stands in for the host: the same messages as a notebook's widget manager, over window.toKernel.

const toBase64 = (view) => {
  const bytes = new Uint8Array(view.buffer ?? view, view.byteOffset ?? 0, view.byteLength);
  let text = "";
  for (let start = 0; start < bytes.length; start += 32768) {
    text += String.fromCharCode(...bytes.subarray(start, start + 32768));
  }
  return btoa(text);
};
const fromBase64 = (text) => {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let place = 0; place < raw.length; place += 1) bytes[place] = raw.charCodeAt(place);
  return new DataView(bytes.buffer);
};

class MockModel {
  constructor(name) {
    this.name = name;
    this.state = {};
    this.changed = {};
    this.listeners = new Map();
  }

  get(key) { return this.state[key]; }

  set(key, value) {
    if (this.state[key] === value) return;
    this.state[key] = value;
    this.changed[key] = value;
    this.fire(`change:${key}`, value);
  }

  save_changes() {
    const state = {};
    const buffers = [];
    const paths = [];
    for (const [key, value] of Object.entries(this.changed)) {
      if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
        paths.push([key]);
        buffers.push(toBase64(value));
      } else {
        state[key] = structuredClone(value);
      }
    }
    this.changed = {};
    if (Object.keys(state).length + paths.length === 0) return;
    const data = { method: "update", state, buffer_paths: paths };
    window.toKernel(JSON.stringify({ name: this.name, data, buffers }));
  }

  send(content, _callbacks, buffers = []) {
    const data = { method: "custom", content };
    window.toKernel(JSON.stringify({ name: this.name, data, buffers: buffers.map(toBase64) }));
  }

  on(event, callback) {
    if (!this.listeners.has(event)) this.listeners.set(event, []);
    this.listeners.get(event).push(callback);
  }

  off(event, callback) {
    const left = (this.listeners.get(event) ?? []).filter((other) => callback && other !== callback);
    this.listeners.set(event, left);
  }

  fire(event, ...values) {
    for (const callback of [...(this.listeners.get(event) ?? [])]) callback(...values);
  }

  // What the kernel sends: an update (all values first, then the events) or a custom message.
  receive(data, buffers) {
    const views = buffers.map(fromBase64);
    if (data.method === "custom") {
      this.fire("msg:custom", data.content, views);
      return;
    }
    const state = structuredClone(data.state);
    (data.buffer_paths ?? []).forEach((path, place) => {
      const holder = path.slice(0, -1).reduce((part, key) => part[key], state);
      holder[path.at(-1)] = views[place];
    });
    Object.assign(this.state, state);
    for (const [key, value] of Object.entries(state)) this.fire(`change:${key}`, value);
  }
}

window.models = {};
window.views = {};

// Load the widget's own module and style, as the host would, and draw it in a box of its own.
window.mountWidget = async (name, data, buffers, css, esm) => {
  const model = new MockModel(name);
  window.models[name] = model;
  model.receive(data, buffers);
  const style = document.createElement("style");
  style.textContent = css;
  document.head.append(style);
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  URL.revokeObjectURL(url);
  const ended = await widget.initialize?.({ model });
  const box = document.createElement("div");
  box.id = name;
  const closed = await widget.render?.({ model, el: box });
  document.body.append(box); // hosts attach a view only once it is rendered
  window.views[name] = { remove: () => { closed?.(); ended?.(); box.remove(); } };
};
