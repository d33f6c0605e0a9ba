// A table of states. Python decided every cell; this writes them down and tells which one was pressed.
// One cell can be tabbed to; arrow keys, Home and End walk from it, Enter or space presses.
const memory = new WeakMap();
const HOWS = { n: "native", s: "storage", "-": "no" };

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
      return { line, name: make("span", head), note: make("small", head), cells: data.columns.map(() => make("td", line, { tabindex: -1 })), seen: data.columns.map(() => ({})) };
    });
  }
  const reasons = data.reasons.join("\n");
  if (kept.reasons !== reasons) for (const { seen } of kept.rows) for (const cell of seen) cell.look = null;
  kept.reasons = reasons;
  kept.data = data;
  kept.press = (row, column) => setTriggerValue("chosen", { row, column });
  data.rows.forEach((row, i) => {
    const { line, name, note, cells, seen } = kept.rows[i];
    line.dataset.strong = row.strong ? 1 : 0;
    if (name.textContent !== row.name) name.textContent = row.name;
    if (note.textContent !== row.note) note.textContent = row.note;
    // Over a thousand cells change at every release: what stays the same is not written again.
    row.texts.forEach((text, k) => {
      const cell = cells[k];
      const state = row.states[k];
      const how = HOWS[row.hows[k]];
      const why = row.whys[k];
      const edge = row.edges?.[k] ?? "";
      const here = row.here === k ? 1 : 0;
      const look = `${state}|${how}|${edge}|${here}|${why}`;
      if (seen[k].text !== text) cell.textContent = seen[k].text = text;
      if (seen[k].look === look) return;
      seen[k].look = look;
      Object.assign(cell.dataset, { state, how, edge, here });
      cell.title = data.reasons[why];
      if (how === "no") cell.setAttribute("aria-disabled", "true");
      else cell.removeAttribute("aria-disabled");
    });
  });
  walk(table, kept, data);
}

const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] };
const within = (value, size) => Math.max(0, Math.min(size - 1, value));

function walk(table, kept, data) {
  const cells = kept.rows.map((row) => row.cells);
  const tab = (i, k) => {
    const chosen = cells[i]?.[k];
    if (kept.chosen && kept.chosen !== chosen) kept.chosen.tabIndex = -1;
    if (chosen && chosen.tabIndex !== 0) chosen.tabIndex = 0;
    kept.chosen = chosen;
    kept.place = [i, k];
  };
  if (!kept.place || !cells[kept.place[0]]?.[kept.place[1]]) {
    const mine = data.rows.findIndex((row) => row.here >= 0);
    kept.place = mine < 0 ? [0, 0] : [mine, data.rows[mine].here];
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
    if (!cell) return;
    const [i, k] = placeOf(cell);
    tab(i, k);
    if (cell.dataset.how !== "no") kept.press(kept.data.rows[i].id, kept.data.columns[k]);
  };
}
