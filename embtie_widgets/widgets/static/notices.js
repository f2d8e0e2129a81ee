// Hands what the kernel says went wrong to the page's one place for it.

function render({ model, el }) {
  el.style.display = "none";
  const teller = {};
  const gone = new Set(); // dismissed here, also where no kernel hears of it any more
  const show = () => tell(teller, model.get("messages").filter(({ id, count }) => !gone.has(`${id} ${count}`)).map((one) => ({
    ...one,
    where: model.get("where"),
    dismiss: () => {
      gone.add(`${one.id} ${one.count}`);
      show();
      model.send({ kind: "dismiss", id: one.id });
    },
  })));
  model.on("change:messages", show);
  show();
  return () => {
    model.off("change:messages", show);
    tell(teller, []);
  };
}

export default { render };
