// The page's address: told to the kernel when the page opens, kept up to date afterwards.

// What belongs to the host stays in the address; everything else there is ours, or (a token) should
// not be passed on.
const KEPT = ["theme", "template", "voila-theme", "voila-template"];

function hostName() {
  if (document.body.dataset.voila) return "voila";
  if (document.getElementById("jupyter-config-data")) return "lab";
  return "other";
}

function ownQuery() {
  const found = new URLSearchParams(location.search);
  for (const name of [...KEPT, "token"]) found.delete(name);
  return found.toString();
}

function writeQuery(query) {
  if (hostName() === "lab") return; // there the address belongs to the workspace
  const all = new URLSearchParams(query);
  const now = new URLSearchParams(location.search);
  for (const name of KEPT) if (now.has(name)) all.set(name, now.get(name));
  const words = all.toString();
  history.replaceState(history.state, "", `${location.pathname}${words ? `?${words}` : ""}${location.hash}`);
}

// Told when it is shown and not before: on a kernel that had started beforehand, what the kernel
// changes in answer would be lost on widgets that the page has not made yet.
function render({ model, el }) {
  el.style.display = "none";
  const write = () => writeQuery(model.get("query"));
  // A panel that is shown again: the address is that of another one.
  if (model.get("page").host) write();
  const query = ownQuery();
  model.set("page", { query, origin: location.origin, path: location.pathname, host: hostName() });
  model.save_changes();
  if (!query && model.get("query")) write();
  model.on("change:query", write);
  return () => model.off("change:query", write);
}

export default { render };
