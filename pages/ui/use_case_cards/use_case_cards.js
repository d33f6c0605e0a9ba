// Cards of text, set by textContent only; an address is taken only if it is https or our own Fit page.
const make = (tag, parent, attributes = {}, text = "") => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
};
const SURE = ["running", "trained", "benchmarked", "demonstrated"];

const address = (parent, [name, url], attributes = {}) => {
  if (!/^(https:\/\/|fit\?)/.test(url)) return make("span", parent, {}, name);
  return make("a", parent, { href: url, ...attributes }, name);
};

function card(one) {
  const item = make("li", document.createDocumentFragment(), { "data-sure": SURE.includes(one.status) ? "yes" : "no" });
  make("h3", item, {}, one.who);
  make("p", item, {}, one.what);
  make("p", item, { class: "gpus" }, one.gpus);
  make("span", item, { class: "badge", title: one.meaning }, `${one.statusName}, ${one.when}`);
  make("p", item, { class: "soft" }, one.kind);
  make("p", item, {}, one.fact);
  make("p", item, { class: "caveat" }, one.caveat);
  make("p", item, { class: "soft" }, one.evidence);
  const end = make("div", item, { class: "end" });
  const links = make("p", end, { class: "links soft" });
  make("span", links, {}, one.sources.length > 1 ? "Sources:" : "Source:");
  for (const source of one.sources) address(links, source, { target: "_blank", rel: "noopener noreferrer" });
  address(make("p", end, { "data-fit": "" }), one.fit);
  make("p", end, { class: "fitnote" }, one.fitNote);
  return item;
}

// A card that was shown before is shown again, not built again: a press on a filter changes no card.
const memory = new WeakMap(); // the list -> its cards by what they show
function mount({ parentElement, data }) {
  const list = parentElement.querySelector(".cards");
  const known = memory.get(list) ?? new Map();
  memory.set(list, known);
  const shown = data.cards.map((one) => {
    const key = JSON.stringify(one);
    if (!known.has(key)) known.set(key, card(one));
    return known.get(key);
  });
  if (shown.length !== list.children.length || shown.some((item, i) => item !== list.children[i])) list.replaceChildren(...shown);
}
