// Pictures that follow their slider: every stop was computed in Python and is looked up here. Text goes in by
// textContent only, and nothing is sent: what a picture shows is nobody's setting.
const make = (tag, parent, attributes = {}, text = "") => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
};
const percent = (share) => `${Math.max(0, Math.min(100, 100 * share)).toFixed(2)}%`;

function lesson(root, one) {
  const section = make("section", root, { "aria-labelledby": `lesson-${one.id}`, "data-lesson": one.id });
  make("h2", section, { id: `lesson-${one.id}` }, one.title);
  const prose = make("div", section, { class: "prose" });
  for (const text of one.text) make("p", prose, {}, text);

  const picture = make("div", section, { class: "picture" });
  const where = make("div", picture, { class: "where" });
  make("label", where, { for: `stop-${one.id}`, title: one.about }, one.slider);
  const at = make("output", where, { for: `stop-${one.id}` });
  const input = make("input", picture, { type: "range", id: `stop-${one.id}`, min: 0, max: one.stops.length - 1, step: 1 });
  const said = make("p", picture, { class: "sentence" });
  const sentence = make("span", said, { "aria-live": "polite" });
  make("span", said, { "aria-hidden": "true" }, one.sentences.reduce((a, b) => (b.length > a.length ? b : a)));
  const legend = make("ul", picture, { class: "legend", "aria-label": "Parts of the bars" });
  legend.hidden = one.parts.length < 2;
  one.parts.forEach((part, k) => {
    const item = make("li", legend, { title: one.hints[k] });
    make("i", item, { "data-part": k });
    make("span", item, {}, part);
  });
  if (one.marks.length) {
    const heads = make("div", picture, { class: "row heads", "aria-hidden": "true" });
    make("span", heads);
    const bar = make("div", heads, { class: "bar" });
    for (const [share, text] of one.marks) make("span", bar, { style: `left:${percent(share)}` }, text);
  }
  const rows = one.bars.map((name) => {
    const row = make("div", picture, { class: "row" });
    make("span", row, {}, name);
    const bar = make("div", row, { class: "bar", "aria-hidden": "true" });
    const stack = make("div", bar, { class: "stack" });
    for (const [share] of one.marks) make("div", bar, { class: "mark", style: `left:${percent(share)}` });
    return { parts: one.parts.map((_, k) => make("i", stack, { "data-part": k })), said: make("span", row, { class: "said" }) };
  });
  if (one.source) make("p", picture, { class: "soft" }, one.source);
  const open = make("a", make("p", picture), { "data-fit": "" });

  const show = () => {
    const k = Number(input.value);
    at.textContent = one.stops[k];
    input.setAttribute("aria-valuetext", one.stops[k]);
    sentence.textContent = one.sentences[k];
    rows.forEach((row, b) => {
      row.said.textContent = one.said[k][b];
      row.parts.forEach((part, p) => {
        part.style.width = percent(one.shares[k][b][p]);
        part.hidden = one.shares[k][b][p] <= 0;
      });
    });
    const [text, address] = one.links[k];
    open.textContent = text;
    if (address.startsWith("fit?")) open.href = address;
  };
  input.value = one.start;
  input.oninput = show;
  show();
}

const memory = new WeakMap(); // root -> what it shows
function mount({ parentElement, data }) {
  const root = parentElement.querySelector(".lessons");
  const palette = getComputedStyle(root).getPropertyValue("--st-chart-categorical-colors").split(",");
  palette.slice(0, 6).forEach((colour, i) => root.style.setProperty(`--c${i}`, colour.trim()));
  const shown = JSON.stringify(data);
  if (memory.get(root) === shown) return; // a run of the script leaves every slider where it is
  memory.set(root, shown);
  root.replaceChildren();
  for (const one of data.lessons) lesson(root, one);
  if (data.glossary.length === 0) return;
  const section = make("section", root, { "aria-labelledby": "lesson-words" });
  make("h2", section, { id: "lesson-words" }, "Every term in one sentence");
  const list = make("dl", section);
  for (const [term, sentence] of data.glossary) {
    make("dt", list, {}, term);
    make("dd", list, {}, sentence);
  }
}
