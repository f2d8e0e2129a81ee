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

function initialize({ model }) {
  const query = ownQuery();
  model.set("page", { query, origin: location.origin, path: location.pathname, host: hostName() });
  model.save_changes();
  if (!query && model.get("query")) writeQuery(model.get("query"));
  model.on("change:query", () => writeQuery(model.get("query")));
}

export default { initialize, render: ({ el }) => { el.style.display = "none"; } };
