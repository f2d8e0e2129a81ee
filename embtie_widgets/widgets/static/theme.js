// Tells the kernel whether the page is light or dark, now and whenever that changes.

// Told when it is shown and not before: on a kernel that had started beforehand, what the kernel
// changes in answer would be lost on widgets that the page has not made yet.
function render({ model, el }) {
  el.style.display = "none";
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

export default { render };
