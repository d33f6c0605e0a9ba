// A ranked table; Python decided every text. A price that is typed over is told, and a name that is pressed.
// An input shows what Python holds; what was typed and not taken is written over by the next answer.
function holds(input, value, changed) {
  if (input.dataset.told !== value) input.value = input.dataset.told = value;
  input.onchange = () => {
    delete input.dataset.told;
    changed();
  };
}

function buildPrices(kept, table, data) {
  table.tHead.replaceChildren();
  const titles = make("tr", table.tHead);
  data.titles.forEach((text, k) => make("th", titles, { scope: "col", title: data.hints[k] }, text));
  table.tBodies[0].replaceChildren();
  kept.rows = data.rows.map((row) => {
    const line = make("tr", table.tBodies[0]);
    const head = make("th", line, { scope: "row" });
    const name = make("button", head, { type: "button" });
    const mark = make("small", head);
    const price = make("td", line, { "data-title": data.titles[1] });
    const dollars = make("span", price, { class: "dollars" });
    const input = make("input", dollars, { type: "number", min: 0, step: "any", inputmode: "decimal" });
    const note = make("small", price);
    const cells = row.cells.map((_, k) => make("td", line, { "data-title": data.titles[k + 2] }));
    const texts = cells.map((cell) => make("span", cell));
    const bar = cells.length ? make("i", cells[0], { "aria-hidden": "true" }) : null;
    return { line, name, mark, input, note, cells: texts, bar };
  });
}

function priceTable(root, kept, data, tell) {
  const table = root.querySelector("table");
  const more = root.querySelector(".more");
  write(table.caption, data.caption);
  const shape = JSON.stringify([data.titles, data.rows.map((row) => row.id)]);
  if (kept.shape !== shape) {
    kept.shape = shape;
    const { gpu, what } = table.getRootNode().activeElement?.dataset ?? {};
    const inside = table.contains(table.getRootNode().activeElement);
    buildPrices(kept, table, data);
    const again = inside ? data.rows.findIndex((row) => row.id === gpu) : -1;
    if (again >= 0) kept.rows[again][what]?.focus();
  }
  data.rows.forEach((row, i) => {
    const { line, name, mark, input, note, cells, bar } = kept.rows[i];
    line.dataset.strong = row.strong ? 1 : 0;
    for (const [what, node] of Object.entries({ name, input })) Object.assign(node.dataset, { gpu: row.id, what });
    write(name, row.name);
    name.onclick = () => tell.chosen(row.id);
    write(mark, row.mark);
    input.dataset.edited = row.edited ? 1 : 0;
    const label = `${data.price_of} ${row.name} in US dollars`;
    if (input.getAttribute("aria-label") !== label) input.setAttribute("aria-label", label);
    holds(input, row.price === null ? "" : String(row.price), () => tell.edited(row.id, input.value));
    write(note, row.note);
    row.cells.forEach((text, k) => write(cells[k], text));
    if (bar) {
      bar.hidden = !row.bar;
      if (row.bar) row.bar.forEach((share, k) => bar.style.setProperty(["--low", "--at", "--high"][k], `${(100 * share).toFixed(2)}%`));
    }
  });
  const show = () => {
    // what the reader pinned is never hidden
    kept.rows.forEach(({ line }, i) => (line.hidden = !kept.all && i >= data.most && !data.rows[i].strong));
    more.hidden = data.rows.every((row, i) => i < data.most || row.strong);
    write(more, kept.all ? "Show fewer" : `Show all ${data.rows.length}`);
    more.setAttribute("aria-expanded", String(kept.all));
  };
  more.onclick = () => {
    kept.all = !kept.all;
    show();
  };
  show();
}
