// One table cell per GPU and format. Python decided every state; this writes them down.
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
  const shape = JSON.stringify([data.ids, data.gpus.map((gpu) => gpu.id)]);
  if (kept.shape !== shape) {
    kept.shape = shape;
    const head = table.tHead;
    head.replaceChildren();
    const titles = make("tr", head);
    for (const text of ["GPU", ...data.formats]) make("th", titles, { scope: "col" }, text);
    const body = table.tBodies[0];
    body.replaceChildren();
    kept.rows = data.gpus.map((gpu) => {
      const row = make("tr", body);
      const name = make("th", row, { scope: "row" }, gpu.name);
      make("small", name, {}, gpu.memory);
      return { row, cells: data.formats.map(() => make("td", row)) };
    });
  }
  data.gpus.forEach((gpu, i) => {
    const { row, cells } = kept.rows[i];
    row.dataset.pinned = gpu.pinned ? 1 : 0;
    cells.forEach((cell, k) => {
      const [state, how, text, why] = gpu.cells[k];
      if (cell.textContent !== text) cell.textContent = text;
      cell.dataset.state = state;
      cell.dataset.how = how;
      cell.dataset.here = gpu.pinned && k === data.current ? 1 : 0;
      cell.title = data.reasons[why];
      cell.onclick = how === "no" ? null : () => setTriggerValue("chosen", { gpu: gpu.id, format: data.ids[k] });
    });
  });
}
