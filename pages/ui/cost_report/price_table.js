// A ranked table; Python decided every text. A price that is typed over is told, and a name that is pressed.
const attribute = (node, name, value) => {
  if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
};

// An input shows what Python holds; what was typed and not taken is written over by the next answer.
function holds(input, value, changed) {
  if (input.dataset.told !== value) input.value = input.dataset.told = value;
  input.onchange = () => {
    delete input.dataset.told;
    changed();
    if (!input.value && !input.placeholder) input.value = value; // emptied: Python goes on with what it holds
  };
}

function buildRow(gpu, cells, titles) {
  const line = make("tr", document.createDocumentFragment());
  const head = make("th", line, { scope: "row" });
  const name = make("button", head, { type: "button", "data-gpu": gpu, "data-what": "name" });
  const mark = make("small", head);
  const price = make("td", line, { "data-title": titles[1] });
  const dollars = make("span", price, { class: "dollars" });
  const numeric = { type: "number", min: 0, step: "any", inputmode: "decimal" };
  const input = make("input", dollars, { ...numeric, "data-gpu": gpu, "data-what": "input" });
  const note = make("small", price);
  const boxes = Array.from({ length: cells }, (_, k) => make("td", line, { "data-title": titles[k + 2] }));
  const texts = boxes.map((cell) => make("span", cell));
  const bar = boxes.length ? make("i", boxes[0], { "aria-hidden": "true" }) : null;
  return { line, name, mark, input, note, cells: texts, bar };
}

function drawRow({ line, name, mark, input, note, cells, bar }, row, price_of, tell) {
  attribute(line, "data-strong", row.strong ? 1 : 0);
  write(name, row.name);
  name.onclick = () => tell.chosen(row.id);
  write(mark, row.mark);
  attribute(input, "data-edited", row.edited ? 1 : 0);
  attribute(input, "aria-label", `${price_of} ${row.name} in US dollars`);
  holds(input, row.price === null ? "" : String(row.price), () => tell.edited(row.id, input.value));
  write(note, row.note);
  row.cells.forEach((text, k) => write(cells[k], text));
  if (!bar) return;
  bar.hidden = !row.bar;
  if (row.bar) attribute(bar, "style", row.bar.map((share, k) => `${["--low", "--at", "--high"][k]}: ${(100 * share).toFixed(2)}%;`).join(" "));
}

// A GPU keeps its row wherever it comes to stand; only rows that are shown are made at all.
function priceTable(root, kept, data, tell) {
  const table = root.querySelector("table");
  const body = table.tBodies[0];
  const more = root.querySelector(".more");
  write(table.caption, data.caption);
  const shape = JSON.stringify([data.titles, data.hints]);
  if (kept.shape !== shape) {
    kept.shape = shape;
    kept.rows = new Map();
    table.tHead.replaceChildren();
    const titles = make("tr", table.tHead);
    data.titles.forEach((text, k) => make("th", titles, { scope: "col", title: data.hints[k] }, text));
  }
  const show = () => {
    const held = table.getRootNode().activeElement;
    const { gpu, what } = table.contains(held) ? held.dataset : {};
    let next = body.firstElementChild;
    data.rows.forEach((row, i) => {
      if (!kept.all && i >= data.most && !row.strong) return; // what the reader pinned is never hidden
      if (!kept.rows.has(row.id)) kept.rows.set(row.id, buildRow(row.id, row.cells.length, data.titles));
      const nodes = kept.rows.get(row.id);
      drawRow(nodes, row, data.price_of, tell);
      if (nodes.line === next) next = next.nextElementSibling;
      else body.insertBefore(nodes.line, next);
    });
    while (next) {
      const gone = next;
      next = next.nextElementSibling;
      gone.remove();
    }
    if (gpu && table.getRootNode().activeElement !== held && body.contains(held)) kept.rows.get(gpu)?.[what]?.focus();
    more.hidden = data.rows.every((row, i) => i < data.most || row.strong);
    write(more, kept.all ? "Show fewer" : `Show all ${data.rows.length}`);
    attribute(more, "aria-expanded", kept.all);
  };
  more.onclick = () => {
    kept.all = !kept.all;
    show();
  };
  show();
}
