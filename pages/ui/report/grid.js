// A table of states. Python decided every cell; this writes them down and tells which one was pressed.
// One cell can be tabbed to; arrow keys, Home and End walk from it, Enter or space presses.
// Rows are blocks of their own, not a table's, so that those out of sight cost no layout.
const STATE_MARKS = ["✕", "≈", "✓"]; // does not fit, tight, fits
const NUMBERS = new Intl.NumberFormat("en"); // made once: a thousand cells may need it at every release
const HOWS = { n: "native", s: "storage", "-": "no" };

function gridText(state, gib, how) {
  if (how === "-") return "–";
  const number = gib < 0 ? "" : ` ${gib < 1000 ? gib : NUMBERS.format(gib)}`;
  return `${STATE_MARKS[state]}${number}${how === "s" ? " s" : ""}`;
}

function grid(frame, kept, data, press) {
  const table = frame.querySelector("[role=grid]");
  if (table.getAttribute("aria-label") !== data.label) table.setAttribute("aria-label", data.label);
  const shape = JSON.stringify([data.titles, data.rows.map(([id]) => id)]);
  if (kept.shape !== shape) {
    kept.shape = shape;
    table.replaceChildren();
    table.style.setProperty("--columns", data.titles.slice(1).map((text) => `max(4.75rem, ${text.length}ch + 1rem)`).join(" "));
    table.style.setProperty("--count", data.columns.length);
    const titles = make("div", table, { role: "row", class: "line titles" });
    for (const text of data.titles) make("span", titles, { role: "columnheader" }, text);
    kept.rows = data.rows.map(() => {
      const line = make("div", table, { role: "row", class: "line" });
      const head = make("span", line, { role: "rowheader" });
      const cells = data.columns.map(() => make("span", line, { role: "gridcell", tabindex: -1 }, " "));
      return { line, name: make("span", head), note: make("small", head), cells, texts: cells.map((cell) => cell.firstChild), seen: cells.map(() => ({})) };
    });
  }
  kept.data = data;
  kept.press = press;
  data.rows.forEach(([, name, note, strong], i) => {
    const row = kept.rows[i];
    if (row.strong !== strong) row.line.dataset.strong = (row.strong = strong) ? 1 : 0;
    write(row.name, name);
    write(row.note, note);
    // Over a thousand cells may change at every release: what stays the same is not written again.
    const [states, gib, whys, hows, edges] = [data.states[i], data.gib[i], data.whys[i], data.hows[i], data.edges?.[i]];
    for (let k = 0; k < states.length; k += 1) {
      const seen = row.seen[k];
      const how = hows[k];
      const edge = edges?.[k] ?? "";
      const here = data.here[i] === k ? 1 : 0;
      const why = data.reasons[whys[k]];
      const cell = row.cells[k];
      if (seen.why !== why) cell.title = seen.why = why;
      const looks = seen.state === states[k] && seen.how === how;
      if (!looks || seen.gib !== gib[k]) {
        seen.gib = gib[k];
        const text = gridText(states[k], gib[k], how);
        if (seen.text !== text) row.texts[k].data = seen.text = text;
      }
      if (looks && seen.edge === edge && seen.here === here) continue;
      Object.assign(seen, { state: states[k], how, edge, here });
      Object.assign(cell.dataset, { state: states[k], how: HOWS[how], edge, here });
      if (how === "-") cell.setAttribute("aria-disabled", "true");
      else cell.removeAttribute("aria-disabled");
    }
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
    const mine = data.here.findIndex((k) => k >= 0);
    kept.place = mine < 0 ? [0, 0] : [mine, data.here[mine]];
  }
  tab(...kept.place);
  const placeOf = (cell) => {
    const i = cells.findIndex((row) => row.includes(cell));
    return [i, cells[i]?.indexOf(cell)];
  };
  table.onkeydown = (event) => {
    const cell = event.target.closest("[role=gridcell]");
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
    const cell = event.target.closest("[role=gridcell]");
    if (!cell) return;
    const [i, k] = placeOf(cell);
    tab(i, k);
    if (cell.dataset.how !== "no") kept.press(kept.data.rows[i][0], kept.data.columns[k]);
  };
}
