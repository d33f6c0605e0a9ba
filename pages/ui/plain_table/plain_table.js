// Rows of text, set by textContent only.
const make = (tag, parent, attributes, text) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  parent.append(node);
  return node;
};

export default function ({ parentElement, data }) {
  const table = parentElement.querySelector("table");
  table.caption.textContent = data.caption;
  table.tHead.replaceChildren();
  const titles = make("tr", table.tHead, {}, "");
  for (const text of data.titles) make("th", titles, { scope: "col" }, text);
  const body = table.tBodies[0];
  body.replaceChildren();
  for (const [name, ...cells] of data.rows) {
    const row = make("tr", body, {}, "");
    make("th", row, { scope: "row" }, name);
    cells.forEach((text, i) => make("td", row, { "data-title": data.titles[i + 1] }, text));
  }
}
