// A table of states. Python decided every cell; this writes them down and tells which one was pressed.
const memory = new WeakMap();

const make = (tag, parent, attributes = {}, text = "") => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
};

export default function ({ parentElement, data, setTriggerValue }) {
  const table = parentElement.querySelector("table");
  const kept = memory.get(table) ?? {};
  memory.set(table, kept);
  parentElement.querySelector(".scroll").setAttribute("aria-label", data.label);
  table.dataset.wide = data.wide ? 1 : 0;
  const shape = JSON.stringify([data.titles, data.rows.map((row) => row.id)]);
  if (kept.shape !== shape) {
    kept.shape = shape;
    table.tHead.replaceChildren();
    const titles = make("tr", table.tHead);
    for (const text of data.titles) make("th", titles, { scope: "col" }, text);
    const body = table.tBodies[0];
    body.replaceChildren();
    kept.rows = data.rows.map(() => {
      const line = make("tr", body);
      const head = make("th", line, { scope: "row" });
      return { line, name: make("span", head), note: make("small", head), cells: data.columns.map(() => make("td", line)) };
    });
  }
  data.rows.forEach((row, i) => {
    const { line, name, note, cells } = kept.rows[i];
    line.dataset.strong = row.strong ? 1 : 0;
    name.textContent = row.name;
    note.textContent = row.note;
    cells.forEach((cell, k) => {
      const [state, how, text, why, edge, here] = row.cells[k];
      if (cell.textContent !== text) cell.textContent = text;
      Object.assign(cell.dataset, { state, how, edge, here });
      cell.title = data.reasons[why] ?? "";
      cell.onclick = how === "no" ? null : () => setTriggerValue("chosen", { row: row.id, column: data.columns[k] });
    });
  });
}
