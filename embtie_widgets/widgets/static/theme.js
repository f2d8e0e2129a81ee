// Tells the kernel whether the page is light or dark, now and whenever that changes.

function initialize({ model }) {
  const control = new AbortController();
  const tell = () => {
    if (model.get("theme") === pageTheme() && model.get("known")) return;
    model.set("theme", pageTheme());
    model.set("known", true);
    model.save_changes();
  };
  onPageTheme(tell, control.signal);
  tell();
  return () => control.abort();
}

export default { initialize, render: ({ el }) => { el.style.display = "none"; } };
