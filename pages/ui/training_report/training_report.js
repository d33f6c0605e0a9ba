// What stands below the verdict of a fine-tune or a training run: changes that make it fit, times, formulas and
// what others measured. One component, because every Streamlit element costs a redraw of its own.
function mount({ parentElement, data, tell }) {
  const root = parentElement.querySelector(".report");
  const part = (name) => root.querySelector(`[data-${name}]`);

  write(part("deadline"), data.deadline);
  lines(part("chosen"), data.chosen.length, () => make("span", part("chosen"))).forEach((item, i) => write(item, data.chosen[i]));
  changes(part("changes"), data.changes, (gpu) => tell("apply", gpu));

  part("views").hidden = !data.views;
  if (!data.views) return;
  const { times, detail, terms, published } = data.views;
  part("times").hidden = part("terms").hidden = root.querySelector(".detail").hidden = !times;
  if (times) {
    plainTable(part("times").querySelector(".plain"), times);
    choices(root.querySelector("select"), detail, (gpu) => tell("detail", { gpu }));
    const [told, table] = [part("terms").querySelector(".soft"), part("terms").querySelector(".plain")];
    write(told, terms.impossible);
    table.hidden = !terms.table;
    if (terms.table) plainTable(table, terms.table);
  }
  part("published").hidden = !published;
  if (published) sourced(part("published"), published);
}

// Rows of texts, the address of each row's source behind them; `numbers` names the columns of figures.
function sourced(section, { title, note, titles, hints, numbers, rows }) {
  write(section.querySelector("h2"), title);
  write(section.querySelector(".soft"), note);
  const frame = section.querySelector(".rows");
  frame.setAttribute("aria-label", `${title}, scrollable`);
  const table = frame.querySelector("table");
  const figure = (cell, k) => cell.toggleAttribute("data-number", numbers.includes(k));
  const [head] = lines(table.tHead, 1, () => make("tr", table.tHead));
  lines(head, titles.length, () => make("th", head, { scope: "col" })).forEach((cell, k) => {
    write(cell, titles[k]);
    if (cell.title !== (hints[k] ?? "")) cell.title = hints[k] ?? "";
    figure(cell, k);
  });
  const body = table.tBodies[0];
  const add = () => {
    const row = make("tr", body);
    make("a", make("th", row, { scope: "row" }), { target: "_blank", rel: "noopener noreferrer" });
  };
  lines(body, rows.length, add).forEach((row, i) => {
    const texts = rows[i];
    const link = row.querySelector("a");
    write(link, texts[0]);
    if (link.getAttribute("href") !== texts[titles.length]) link.setAttribute("href", texts[titles.length]);
    lines(row, titles.length, () => make("td", row)).forEach((cell, k) => {
      if (!k) return;
      write(cell, texts[k]);
      figure(cell, k);
    });
  });
}
