// What stands below the verdict: changes that make it fit, every GPU and format, the map, the formulas.
// One component, because every Streamlit element costs a redraw of its own. Text goes in by textContent only.
const memory = new WeakMap();

function mount({ parentElement, data, tell }) {
  const root = parentElement.querySelector(".report");
  const kept = memory.get(root) ?? { matrix: {}, map: {} };
  memory.set(root, kept);
  const part = (name) => root.querySelector(`[data-${name}]`);

  lines(part("chosen"), data.chosen.length, () => make("span", part("chosen"))).forEach((item, i) => write(item, data.chosen[i]));
  write(part("reserve"), data.reserve);
  changes(part("changes"), data.changes, (gpu) => tell("apply", gpu));

  part("views").hidden = !data.views;
  if (!data.views) return;
  const { speed, matrix, detail, map, terms } = data.views;
  words(part("speed"), ".plain", speed);
  states(part("matrix"), kept.matrix, matrix, (row, column) => tell("format", { row, column }));
  choices(root.querySelector("select"), detail, (gpu) => tell("detail", { gpu }));
  part("map").hidden = part("terms").hidden = !map;
  if (!map) return;
  states(part("map"), kept.map, map, (row, column) => tell("place", { row, column }));
  words(part("terms"), ".plain", terms);
  const addends = part("speed-terms");
  addends.hidden = !terms.speed;
  if (terms.speed) plainTable(addends, terms.speed);
}

// A table of words, or why there is none.
function words(section, place, { impossible, table }) {
  write(section.querySelector(".soft"), impossible);
  const plain = section.querySelector(place);
  plain.hidden = !table;
  if (table) plainTable(plain, table);
}

function states(section, kept, { title, note, impossible, cells }, press) {
  write(section.querySelector("h2"), title);
  write(section.querySelector(".soft"), impossible || note);
  const frame = section.querySelector(".frame");
  frame.hidden = Boolean(impossible);
  if (!impossible) grid(frame, kept, cells, press);
}
