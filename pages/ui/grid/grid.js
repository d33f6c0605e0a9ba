// A table of states. Python decided every cell; this writes them down and tells which one was pressed.
// One cell can be tabbed to; arrow keys, Home and End walk from it, Enter or space presses.
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
  table.setAttribute("aria-label", data.label);
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
      if (how === "no") cell.setAttribute("aria-disabled", "true");
      else cell.removeAttribute("aria-disabled");
      cell.onclick = how === "no" ? null : () => setTriggerValue("chosen", { row: row.id, column: data.columns[k] });
    });
  });
  walk(table, kept, data);
}

const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] };
const within = (value, size) => Math.max(0, Math.min(size - 1, value));

function walk(table, kept, data) {
  const cells = kept.rows.map((row) => row.cells);
  const tab = (i, k) => {
    for (const row of cells) for (const cell of row) if (cell.tabIndex === 0 || !cell.hasAttribute("tabindex")) cell.tabIndex = -1;
    if (cells[i]?.[k]) cells[i][k].tabIndex = 0;
    kept.place = [i, k];
  };
  if (!kept.place || !cells[kept.place[0]]?.[kept.place[1]]) {
    const mine = data.rows.findIndex((row) => row.cells.some((cell) => cell[5]));
    kept.place = mine < 0 ? [0, 0] : [mine, data.rows[mine].cells.findIndex((cell) => cell[5])];
  }
  tab(...kept.place);
  const placeOf = (cell) => {
    const i = cells.findIndex((row) => row.includes(cell));
    return [i, cells[i]?.indexOf(cell)];
  };
  table.onkeydown = (event) => {
    const cell = event.target.closest("td");
    if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      cell.click();
      return;
    }
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const [i, k] = placeOf(cell);
    const next = [within(i + step[0], cells.length), within(k + step[1], cells[0].length)];
    tab(...next);
    cells[next[0]][next[1]].focus();
  };
  table.onclick = (event) => {
    const cell = event.target.closest("td");
    if (cell) tab(...placeOf(cell));
  };
}
