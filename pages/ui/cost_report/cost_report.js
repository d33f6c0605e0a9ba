// What stands below the verdict: the question, prices to type over, people's time, rent or buy, formulas, quotes.
const memory = new WeakMap();

function mount({ parentElement, data, tell }) {
  const root = parentElement.querySelector(".cost");
  const kept = memory.get(root) ?? { rent: { all: false }, buy: { all: false } };
  memory.set(root, kept);
  for (const { name, options, chosen } of data.rows) pressed(root.querySelector(`[data-row="${name}"]`), options, chosen, (id) => tell("pressed", { name, id }));
  write(root.querySelector(".notice"), data.notice ?? "");
  for (const name of ["rent", "buy"]) {
    const frame = root.querySelector(`[data-prices="${name}"]`);
    frame.hidden = !data[name];
    if (data[name])
      priceTable(frame, kept[name], data[name], {
        edited: (id, value) => tell("edited", { table: name, id, value }),
        chosen: (gpu) => tell("chosen", { gpu }),
      });
  }
  for (const group of data.groups)
    numbers(root.querySelector(`[data-group="${group.name}"]`), group, (field, value) => tell("entered", { field, value }));
  const buy = root.querySelector("[data-buy]");
  buy.hidden = !data.buy;
  write(buy.querySelector("p"), data.lead);
  for (const name of ["terms", "quotes"]) {
    const section = root.querySelector(`[data-${name}]`);
    section.hidden = !data[name];
    if (data[name]) plainTable(section.querySelector(".plain"), data[name]);
  }
}

// One of several, or a row of buttons where nothing stays chosen.
function pressed(place, options, chosen, tell) {
  place.hidden = options.length === 0;
  lines(place, options.length, () => make("button", place, { type: "button" })).forEach((button, i) => {
    const { id, label, help } = options[i];
    write(button, label);
    attribute(button, "title", help ?? "");
    if (chosen !== null) attribute(button, "aria-pressed", id === chosen);
    button.onclick = () => tell(id);
  });
}

function numbers(set, { legend, fields }, tell) {
  write(set.querySelector("legend"), legend);
  while (set.children.length > fields.length + 1) set.lastChild.remove();
  while (set.children.length <= fields.length) {
    const label = make("label", set);
    make("span", label);
    make("input", label, { type: "number", min: 0, step: "any", inputmode: "decimal" });
  }
  fields.forEach(({ field, label, value, empty, help }, k) => {
    const box = set.children[k + 1];
    attribute(box, "title", help ?? "");
    const input = box.querySelector("input");
    write(box.querySelector("span"), label);
    attribute(input, "placeholder", empty);
    if (input.dataset.field !== field) {
      delete input.dataset.told;
      input.dataset.field = field;
    }
    holds(input, value, () => tell(field, input.value));
  });
}
