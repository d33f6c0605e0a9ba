// Filters that answer at once; a press sends the whole choice of its group. Text goes in by textContent only.
// `make` and `write` come from plain_table.js.
const WIDE_PX = 700; // where all groups are seen without a press
const memory = new WeakMap(); // root -> what this instance keeps between runs

function mount({ parentElement, data, tell }) {
  const root = parentElement.querySelector(".filters");
  const kept = memory.get(root) ?? { at: 0, waiting: {}, chosen: {}, years: {} };
  memory.set(root, kept);
  if (kept.session !== data.session) kept.waiting = {}; // a new server has seen nothing
  kept.session = data.session;
  for (const [field, at] of Object.entries(kept.waiting)) if (at <= (data.seen ?? 0)) delete kept.waiting[field];
  kept.send = (field, value) => {
    kept.at = Math.max(kept.at + 1, Date.now());
    kept.waiting[field] = kept.at;
    tell("filter", { field, value, at: kept.at });
    show(root, kept, data);
  };
  for (const group of data.groups) if (!(group.field in kept.waiting)) kept.chosen[group.field] = new Set(group.chosen);
  for (const [field, year] of Object.entries(data.years)) if (!(field in kept.waiting)) kept.years[field] = year;
  if (!kept.buttons) build(root, kept, data);
  write(root.querySelector("[data-sentence]"), data.sentence);
  chart(root.querySelector(".chart"), kept, data);
  show(root, kept, data);
}

function build(root, kept, data) {
  const box = root.querySelector(".groups");
  kept.buttons = [];
  for (const { field, label, hint, options } of data.groups) {
    const group = make("fieldset", box);
    make("legend", group, { title: hint }, label);
    const chips = make("div", group, { class: "chips" });
    for (const [key, name] of options) {
      const button = make("button", chips, { type: "button", "aria-pressed": "false" }, name);
      if (data.meanings[key] && field === "use_statuses") button.title = data.meanings[key];
      button.onclick = () => {
        const chosen = kept.chosen[field];
        if (!chosen.delete(key)) chosen.add(key);
        kept.send(field, [...chosen]);
      };
      kept.buttons.push([field, key, button]);
    }
  }
  const years = make("fieldset", box);
  make("legend", years, { title: data.yearHint }, "Year");
  const chips = make("div", years, { class: "chips" });
  kept.selects = Object.keys(data.years).map((field, i) => {
    const label = make("label", chips, {}, i ? "to " : "from ");
    const select = make("select", label);
    for (let year = data.span[0]; year <= data.span[1]; year += 1) make("option", select, { value: year }, String(year));
    select.onchange = () => {
      kept.years[field] = Number(select.value);
      kept.send(field, kept.years[field]);
    };
    return [field, select];
  });
  kept.clear = make("button", chips, { type: "button", "data-clear": "" }, "Clear all filters");
  kept.clear.onclick = () => {
    for (const group of data.groups) kept.chosen[group.field].clear();
    kept.selects.forEach(([field], i) => { kept.years[field] = data.span[i]; });
    kept.send("all", null);
  };
  root.querySelector("details").open = root.clientWidth > WIDE_PX;
}

function show(root, kept, data) {
  for (const [field, key, button] of kept.buttons) {
    const pressed = String(kept.chosen[field].has(key));
    if (button.getAttribute("aria-pressed") !== pressed) button.setAttribute("aria-pressed", pressed);
  }
  for (const [field, select] of kept.selects) if (select.value !== String(kept.years[field])) select.value = kept.years[field];
  const narrowed = kept.selects.filter(([field], i) => kept.years[field] !== data.span[i]).length;
  const set = Object.values(kept.chosen).reduce((sum, chosen) => sum + chosen.size, narrowed);
  write(root.querySelector("summary"), set ? `Filters, ${set} set` : "Filters");
  kept.clear.style.visibility = set ? "visible" : "hidden"; // its room stays, so that nothing jumps
}

// Marks are letters at places that Python computed: shares of the width from the left, of the height from below.
const percent = (share) => `${(100 * share).toFixed(2)}%`;
function chart(box, kept, data) {
  const shown = JSON.stringify(data.chart);
  if (kept.chart === shown) return;
  kept.chart = shown;
  box.hidden = !data.chart;
  if (!data.chart) return;
  box.setAttribute("aria-label", data.alt);
  box.replaceChildren();
  make("span", box, { class: "axis" }, "GPUs, log scale");
  const plot = make("div", box, { class: "plot" });
  for (const [y, text] of data.chart.counts) make("i", plot, { "data-text": text, style: `bottom:${percent(y)}` });
  for (const [x, text] of data.chart.years) make("span", plot, { class: "year", style: `left:${percent(x)}` }, text);
  for (const { x, y, mark, name, side, hint } of data.chart.marks) {
    const style = `left:${percent(x)};bottom:${percent(y)}`;
    make("span", plot, { class: "mark", title: hint, style }, mark);
    if (name) make("span", plot, { class: `name ${side}`, style }, name);
  }
}
