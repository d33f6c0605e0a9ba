// Rows of text, set by textContent only. Nodes are kept and a text is written only where it changed.
const make = (tag, parent, attributes = {}, text = "") => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
};
const write = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};
const lines = (parent, count, add) => {
  while (parent.children.length > count) parent.lastChild.remove();
  while (parent.children.length < count) add();
  return [...parent.children];
};

const SVG = "http://www.w3.org/2000/svg";
function svg(tag, parent, attributes = {}, text = "") {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
}

function plainTable(root, data) {
  const table = root.querySelector("table");
  write(table.caption, data.caption);
  const [titles] = lines(table.tHead, 1, () => make("tr", table.tHead));
  lines(titles, data.titles.length, () => make("th", titles, { scope: "col" })).forEach((cell, k) => {
    write(cell, data.titles[k]);
    const hint = data.hints?.[k] ?? "";
    if (cell.title !== hint) cell.title = hint;
  });
  const body = table.tBodies[0];
  lines(body, data.rows.length, () => make("tr", body)).forEach((row, i) => {
    const texts = data.rows[i];
    const add = () => (row.children.length ? make("td", row) : make("th", row, { scope: "row" }));
    lines(row, texts.length, add).forEach((cell, k) => {
      write(cell, texts[k]);
      if (k && cell.dataset.title !== data.titles[k]) cell.dataset.title = data.titles[k];
    });
  });
  const list = root.querySelector("ul");
  const bare = data.notes.length === 0;
  if (list.hidden !== bare) list.hidden = bare;
  lines(list, data.notes.length, () => make("li", list)).forEach((item, i) => write(item, data.notes[i]));
}
