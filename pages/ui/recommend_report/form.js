// What the Recommend page asks for. Python decides every field, text and value; what is typed is told.
const ROWS = { views: "view", presets: "preset", purposes: "purpose", duels: "duel" };

function mount({ parentElement, data, tell }) {
  const root = parentElement.querySelector(".form");
  for (const [row, name] of Object.entries(ROWS)) {
    const place = root.querySelector(`[data-row="${row}"]`);
    const shown = data[row] ?? [];
    place.hidden = shown.length === 0;
    lines(place, shown.length, () => make("button", place, { type: "button" })).forEach((button, i) => {
      write(button, shown[i].label);
      button.title = shown[i].help ?? "";
      const on = shown[i].on ?? (name === "view" || name === "purpose" ? shown[i].id === data[name] : null);
      if (on !== null) button.setAttribute("aria-pressed", String(on));
      button.onclick = () => tell(name, { id: shown[i].id });
    });
  }
  write(root.querySelector(".notice"), data.notice ?? "");
  const groups = root.querySelector(".groups");
  lines(groups, data.groups.length, () => make("legend", make("fieldset", groups)).parentElement).forEach((set, i) =>
    fields(set, data.groups[i], (field, value) => tell("entered", { field, value })),
  );
}

function fields(set, { legend, fields }, tell) {
  write(set.querySelector("legend"), legend);
  const shape = fields.map(({ field, kind, options }) => `${kind} ${field} ${(options ?? []).map(([id]) => id)}`).join();
  if (set.dataset.shape !== shape) {
    const held = set.getRootNode().activeElement?.dataset?.field;
    set.dataset.shape = shape;
    while (set.children.length > 1) set.lastChild.remove();
    for (const one of fields) build(set, one);
    if (held) set.querySelector(`[data-field="${held}"]`)?.focus();
  }
  fields.forEach(({ field, kind, label, value, empty, help }, k) => {
    const box = set.children[k + 1];
    const input = box.querySelector("[data-field]");
    write(box.querySelector("span"), label);
    box.title = help;
    if (kind === "check") {
      input.checked = value;
      input.onchange = () => tell(field, input.checked);
      return;
    }
    if (kind === "number") input.placeholder = empty;
    // shows what Python holds; what was typed and not taken is written over by the next answer
    if (input.dataset.told !== value) input.value = input.dataset.told = value;
    input.onchange = () => {
      delete input.dataset.told;
      tell(field, input.value);
      if (!input.value && !input.placeholder) input.value = value; // emptied: Python goes on with what it holds
    };
  });
}

function build(set, { field, kind, options }) {
  const box = make("label", set, { class: kind });
  make("span", box);
  if (kind === "select") {
    const list = make("select", box, { "data-field": field });
    for (const [id, label] of options) make("option", list, { value: id }, label);
  } else {
    const numeric = { type: "number", min: 0, step: "any", inputmode: "decimal" };
    make("input", box, { "data-field": field, ...(kind === "check" ? { type: "checkbox" } : numeric) });
  }
}
