// A data table: sorted, paged and saved here. One of the cells that can be pressed can be tabbed to; arrow keys,
// Home and End walk from it, Enter or space presses.
const PAGE = 100;

const writers = new Map(); // making one takes longer than writing with it
function writer([least, most, grouped, signed]) {
  const key = `${least} ${most} ${grouped} ${signed}`;
  if (!writers.has(key)) {
    const options = { minimumFractionDigits: least, maximumFractionDigits: most, useGrouping: grouped, signDisplay: signed ? "exceptZero" : "auto" };
    writers.set(key, new Intl.NumberFormat("en", options));
  }
  return writers.get(key);
}

function cellText(column, row) {
  if (!column.numbers) return column.places[row] < 0 ? null : column.texts[column.places[row]];
  const value = column.numbers[row];
  if (value === null) return null;
  return writer(column.format).format(value) + column.format[4];
}

const sortKey = (column, row) => (column.numbers ? column.numbers[row] : cellText(column, row));

function ordered({ columns, count }, { by, down }) {
  const order = [...Array(count).keys()];
  const column = columns.find(({ title }) => title === by);
  if (!column) return order;
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  return order.sort((i, j) => {
    const [a, b] = [sortKey(column, i), sortKey(column, j)];
    if (a === null || b === null) return (a === null) - (b === null) || i - j; // what is not known stands last
    return (down ? compare(b, a) : compare(a, b)) || i - j;
  });
}

function saved({ columns, id }, order) {
  // a cell that a spreadsheet would take for a formula is kept as text
  const quoted = (text) => `"${(/^[=+@\t\r-]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  const cell = (column, row) => (column.numbers ? String(column.numbers[row] ?? "") : quoted(cellText(column, row) ?? ""));
  const titles = columns.map(({ title, group, format }) => quoted(`${group ? `${group}: ` : ""}${title}${format?.[4] ?? ""}`));
  const text = [titles, ...order.map((row) => columns.map((column) => cell(column, row)))].map((line) => line.join(",")).join("\r\n");
  const place = document.createElement("a");
  place.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
  place.download = `headroom-${id}.csv`;
  place.click();
  setTimeout(() => URL.revokeObjectURL(place.href), 1000);
}

// Cells and title of a column are kept while it is away too: a table of new nodes is slow to make.
function columnOf(kept, data, k) {
  const { title, hint, group, format, link, wide } = data;
  const key = JSON.stringify([k === 0, title, hint, group, format, link, wide]);
  if (!kept.known.has(key)) kept.known.set(key, { ...newColumn(kept, data, k), cells: [], shown: [], data: {} });
  const column = kept.known.get(key);
  const same = (a, b) => a === b || (a?.length === b?.length && a.every((value, i) => value === b[i]));
  const before = column.data;
  column.data = data;
  if (same(before.numbers, data.numbers) && same(before.texts, data.texts) && same(before.places, data.places)) return column;
  column.texts = Array.from({ length: kept.data.count }, (_, row) => cellText(data, row));
  column.width = width(column, k);
  return column;
}

function newColumn(kept, { title, hint, format, link, wide }, k) {
  const { pressed } = kept.data;
  const cell = document.createElement(k ? "td" : "th");
  cell.setAttribute("role", k ? (pressed ? "gridcell" : "cell") : "rowheader");
  if (format || wide) cell.className = format ? "number" : "wide";
  if (link) make("a", cell, { target: "_blank", rel: "noopener noreferrer" });
  if (pressed) cell.tabIndex = -1;
  const head = document.createElement("th");
  head.setAttribute("role", "columnheader");
  if (format) head.className = "number";
  make("button", head, { type: "button", title: hint }, title).onclick = () => {
    const { by, down } = kept.sort;
    const first = Boolean(format); // numbers: the largest first
    kept.sort = by !== title ? { by: title, down: first } : down === first ? { by: title, down: !first } : {};
    kept.page = 0;
    showSheet(kept);
  };
  return { cell, head };
}

// How wide a column must be for its longest text; a title may take two lines.
function width({ data: { title, link, wide }, texts }, k) {
  if (!k) return "9.5rem";
  if (wide) return "24rem";
  const longest = (all) => all.reduce((most, text) => Math.max(most, (text ?? "–").length), 1);
  const heading = Math.max(longest(title.split(" ")), Math.ceil(title.length / 2) + 2);
  return `calc(${Math.min(Math.max(heading, link ? 4 : longest(texts)), 44)} * 0.56em + 1.4rem)`;
}

function sheet(box, data, kept, tell) {
  kept.data = data;
  kept.tell = tell;
  if (!kept.frame) buildSheet(box, kept);
  const columns = data.columns.map((column, k) => columnOf(kept, column, k));
  const other = columns.length !== kept.columns.length || columns.some((column, k) => column !== kept.columns[k]);
  if (other) {
    for (const { head, cells } of kept.columns.filter((column) => !columns.includes(column)))
      for (const cell of [head, ...cells]) cell.remove();
    kept.columns = columns;
    showTitles(kept);
  }
  const wide = columns.map((column) => column.width);
  kept.table.style.setProperty("--columns", [...wide.slice(0, -1), `minmax(${wide.at(-1)}, 1fr)`].join(" "));
  write(kept.title, data.label);
  kept.frame.setAttribute("aria-label", data.label);
  kept.frame.style.containIntrinsicHeight = `auto ${Math.min(560, 45 + 34 * data.count)}px`; // while it is out of sight
  kept.below.hidden = data.count <= PAGE;
  showSheet(kept, other);
}

function buildSheet(box, kept) {
  const { data } = kept;
  Object.assign(kept, { sort: {}, known: new Map(), columns: [], lines: [], count: 0 });
  const top = make("div", box, { class: "above" });
  kept.title = make("span", top);
  make("button", top, { type: "button" }, "Save as CSV").onclick = () => saved(kept.data, ordered(kept.data, kept.sort));
  kept.frame = make("div", box, { class: "frame", role: "region", tabindex: 0 });
  kept.frame.onscroll = () => kept.frame.classList.toggle("aside", kept.frame.scrollLeft > 0);
  // rows are blocks of their own, not a table's, so that those out of sight cost no layout; hence the roles
  kept.table = make("table", kept.frame, { role: data.pressed ? "grid" : "table" });
  kept.head = make("thead", kept.table, { role: "rowgroup" });
  kept.titles = make("tr", kept.head, { role: "row" });
  kept.body = make("tbody", kept.table, { role: "rowgroup" });
  kept.below = make("div", box, { class: "below" });
  const turn = (text, step) => {
    const button = make("button", kept.below, { type: "button" }, text);
    button.onclick = () => {
      kept.page += step;
      showSheet(kept);
      kept.frame.scrollTop = 0;
    };
    return button;
  };
  [kept.back, kept.said, kept.on] = [turn("Previous", -1), make("span", kept.below), turn("Next", 1)];
  if (data.pressed) walkable(kept, kept.head);
}

// Puts nodes into a row in their order; those that stand there already are not moved.
function arrange(row, nodes) {
  nodes.forEach((node, k) => {
    if (row.children[k] !== node) row.insertBefore(node, row.children[k] ?? null);
  });
}

function showTitles({ columns, head, titles }) {
  arrange(titles, columns.map((column) => column.head));
  const spans = []; // neighbours of one group share its name
  for (const { data } of columns) {
    if (data.group && spans.at(-1)?.group === data.group) spans.at(-1).size += 1;
    else spans.push({ group: data.group, size: 1 });
  }
  if (head.rows.length > 1) head.rows[0].remove();
  if (!spans.some(({ group }) => group)) return;
  const row = document.createElement("tr");
  row.setAttribute("role", "row");
  for (const { group, size } of spans) make("th", row, { role: "columnheader", colspan: size, style: `grid-column:span ${size}` }, group);
  head.prepend(row);
}

function writeCell(cell, text, { link }) {
  if (!link) return (cell.textContent = text ?? "–");
  const place = cell.firstChild;
  const leads = text?.startsWith("https://");
  place.textContent = leads ? "open" : (text ?? "–");
  if (leads) place.href = place.title = text;
  else place.removeAttribute("href");
}

function showSheet(kept, other = false) {
  const { data, columns } = kept;
  const pages = Math.ceil(data.count / PAGE);
  kept.page = Math.max(0, Math.min(kept.page ?? 0, pages - 1));
  for (const { head, data: { title } } of columns) {
    if (title === kept.sort.by) head.setAttribute("aria-sort", kept.sort.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  const first = kept.page * PAGE;
  kept.rows = ordered(data, kept.sort).slice(first, first + PAGE);
  for (const column of columns)
    kept.rows.forEach((row, i) => {
      const text = column.texts[row];
      if (column.shown[i] === text) return;
      column.shown[i] = text;
      writeCell((column.cells[i] ??= column.cell.cloneNode(true)), text, column.data);
    });
  showLines(kept, other);
  const [row, k] = data.chosen ?? [];
  const chosen = columns[k]?.cells[kept.rows.indexOf(row)];
  if (kept.chosen !== chosen) kept.chosen?.removeAttribute("aria-selected");
  chosen?.setAttribute("aria-selected", "true");
  kept.chosen = chosen;
  write(kept.said, `${(first + 1).toLocaleString("en")} to ${Math.min(first + PAGE, data.count).toLocaleString("en")} of ${data.count.toLocaleString("en")}`);
  kept.back.disabled = kept.page === 0;
  kept.on.disabled = kept.page >= pages - 1;
  kept.tab?.(kept.place ?? data.chosen ?? [0, 0]);
}

// As many lines as there are rows; those that stay are only touched when there are other columns.
function showLines(kept, other) {
  const { body, columns, lines, rows } = kept;
  const line = () => {
    const made = document.createElement("tr");
    made.setAttribute("role", "row");
    return made;
  };
  rows.forEach((_, i) => {
    lines[i] ??= line();
    if (other || i >= kept.count) arrange(lines[i], columns.map(({ cells }) => cells[i]));
  });
  for (const gone of lines.slice(rows.length, kept.count)) gone.remove();
  body.append(...lines.slice(kept.count, rows.length));
  kept.count = rows.length;
}

const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] };

function walkable(kept, head) {
  const inside = (value, size) => Math.max(0, Math.min(value, size - 1));
  kept.tab = ([i, k], focus = false) => {
    kept.place = [inside(i, kept.count), inside(k, kept.columns.length)];
    const cell = kept.columns[kept.place[1]]?.cells[kept.place[0]];
    if (kept.tabbed !== cell && kept.tabbed) kept.tabbed.tabIndex = -1;
    if (cell && cell.tabIndex) cell.tabIndex = 0;
    kept.tabbed = cell;
    if (focus) cell?.focus();
  };
  const placeOf = (cell) => [cell.parentElement.rowIndex - head.rows.length, cell.cellIndex];
  kept.body.onclick = ({ target }) => {
    const cell = target.closest("td, th");
    if (!cell || target.closest("a")) return;
    const [i, k] = placeOf(cell);
    kept.tab([i, k]);
    kept.asked = true;
    kept.tell("cell", { sheet: kept.data.id, row: kept.data.rowIds[kept.rows[i]], column: kept.data.columnIds[k] });
  };
  kept.body.onkeydown = (event) => {
    const cell = event.target.closest("td, th");
    if (!cell || event.target.closest("a") || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = STEPS[event.key];
    if (!step && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (!step) return cell.click();
    const [i, k] = placeOf(cell);
    kept.tab([i + step[0], k + step[1]], true);
  };
}
