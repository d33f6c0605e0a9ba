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

function sheet(box, data, kept, tell) {
  kept.sort ??= {};
  kept.data = data;
  kept.tell = tell;
  // nodes are kept while columns and rows are as many as before: a table of new nodes is slow to lay out
  const shape = JSON.stringify([data.columns.map(({ title, hint, group, format, link, wide }) => [title, hint, group, format, link, wide]), data.count, data.pressed]);
  if (kept.shape !== shape) {
    kept.shape = shape;
    box.replaceChildren();
    buildSheet(box, kept);
  }
  const columns = widths(data);
  kept.table.style.setProperty("--columns", [...columns.slice(0, -1), `minmax(${columns.at(-1)}, 1fr)`].join(" "));
  write(kept.title, data.label);
  kept.frame.setAttribute("aria-label", data.label);
  showSheet(kept);
}

function buildSheet(box, kept) {
  const { data } = kept;
  const top = make("div", box, { class: "above" });
  kept.title = make("span", top);
  make("button", top, { type: "button" }, "Save as CSV").onclick = () => saved(kept.data, ordered(kept.data, kept.sort));
  const height = Math.min(560, 45 + 34 * data.count); // while it is out of sight
  kept.frame = make("div", box, { class: "frame", role: "region", tabindex: 0, style: `contain-intrinsic-height:auto ${height}px` });
  // rows are blocks of their own, not a table's, so that those out of sight cost no layout; hence the roles
  kept.table = make("table", kept.frame, { role: data.pressed ? "grid" : "table" });
  const head = make("thead", kept.table, { role: "rowgroup" });
  if (data.columns.some(({ group }) => group)) {
    const groups = make("tr", head, { role: "row" });
    let last = null;
    for (const { group } of data.columns) {
      if (last && last.textContent === group && group) last.colSpan += 1;
      else last = make("th", groups, { role: "columnheader" }, group);
      last.style.gridColumn = `span ${last.colSpan}`;
    }
  }
  const titles = make("tr", head, { role: "row" });
  kept.buttons = data.columns.map(({ title, hint, format }) => {
    const button = make("button", make("th", titles, { role: "columnheader", class: format ? "number" : "" }), { type: "button", title: hint }, title);
    button.onclick = () => {
      const { by, down } = kept.sort;
      const first = Boolean(format); // numbers: the largest first
      kept.sort = by !== title ? { by: title, down: first } : down === first ? { by: title, down: !first } : {};
      kept.page = 0;
      showSheet(kept);
    };
    return button;
  });
  kept.body = make("tbody", kept.table, { role: "rowgroup" });
  kept.lines = [];
  const below = make("div", box, { class: "below" });
  below.hidden = data.count <= PAGE;
  const turn = (text, step) => {
    const button = make("button", below, { type: "button" }, text);
    button.onclick = () => {
      kept.page += step;
      showSheet(kept);
      kept.frame.scrollTop = 0;
    };
    return button;
  };
  [kept.back, kept.said, kept.on] = [turn("Previous", -1), make("span", below), turn("Next", 1)];
  if (data.pressed) walkable(kept, head);
}

function addLine(kept) {
  const line = make("tr", kept.body, { role: "row" });
  const { columns, pressed } = kept.data;
  const cells = columns.map((column, k) => {
    const cell = make(k ? "td" : "th", line, { role: k ? (pressed ? "gridcell" : "cell") : "rowheader" });
    if (column.format || column.wide) cell.className = column.format ? "number" : "wide";
    if (column.link) make("a", cell, { target: "_blank", rel: "noopener noreferrer" });
    if (pressed) cell.tabIndex = -1;
    return cell;
  });
  return { line, cells, row: -1 };
}

// How wide each column must be for its longest text; a title may take two lines.
function widths({ columns }) {
  const letters = (text) => text.length;
  return columns.map((column, k) => {
    if (!k) return "9.5rem";
    if (column.wide) return "24rem";
    const words = column.title.split(" ").map(letters);
    const title = Math.max(...words, Math.ceil(column.title.length / 2) + 2);
    const texts = column.link ? [4] : column.numbers ? column.numbers.map((_, row) => (cellText(column, row) ?? "–").length) : column.texts.map(letters);
    return `calc(${Math.min(Math.max(title, texts.reduce((most, n) => Math.max(most, n), 1)), 44)} * 0.56em + 1.4rem)`;
  });
}

function showSheet(kept) {
  const { data } = kept;
  const pages = Math.ceil(data.count / PAGE);
  kept.page = Math.max(0, Math.min(kept.page ?? 0, pages - 1));
  kept.buttons.forEach((button, k) => {
    const mine = data.columns[k].title === kept.sort.by;
    if (mine) button.parentElement.setAttribute("aria-sort", kept.sort.down ? "descending" : "ascending");
    else button.parentElement.removeAttribute("aria-sort");
  });
  const first = kept.page * PAGE;
  const shown = ordered(data, kept.sort).slice(first, first + PAGE);
  while (kept.lines.length > shown.length) kept.lines.pop().line.remove();
  while (kept.lines.length < shown.length) kept.lines.push(addLine(kept));
  shown.forEach((row, i) => {
    const one = kept.lines[i];
    one.row = row;
    one.cells.forEach((cell, k) => {
      const column = data.columns[k];
      const text = cellText(column, row);
      if (!column.link) write(cell, text ?? "–");
      else {
        const place = cell.firstChild;
        const leads = text?.startsWith("https://");
        write(place, leads ? "open" : (text ?? "–"));
        if (leads && place.getAttribute("href") !== text) place.href = place.title = text;
        if (!leads) place.removeAttribute("href");
      }
      if (!data.pressed) return;
      const chosen = data.chosen?.[0] === row && data.chosen[1] === k;
      if (chosen) cell.setAttribute("aria-selected", "true");
      else cell.removeAttribute("aria-selected");
    });
  });
  write(kept.said, `${(first + 1).toLocaleString("en")} to ${Math.min(first + PAGE, data.count).toLocaleString("en")} of ${data.count.toLocaleString("en")}`);
  kept.back.disabled = kept.page === 0;
  kept.on.disabled = kept.page >= pages - 1;
  kept.tab?.(kept.place ?? data.chosen ?? [0, 0]);
}

const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] };

function walkable(kept, head) {
  const inside = (value, size) => Math.max(0, Math.min(value, size - 1));
  kept.tab = ([i, k], focus = false) => {
    kept.place = [inside(i, kept.lines.length), inside(k, kept.data.columns.length)];
    const cell = kept.lines[kept.place[0]]?.cells[kept.place[1]];
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
    kept.tell("cell", { sheet: kept.data.id, row: kept.data.rowIds[kept.lines[i].row], column: kept.data.columnIds[k] });
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
