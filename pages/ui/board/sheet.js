// A data table: sorted, paged and saved here. One of the cells that can be pressed can be tabbed to; arrow keys,
// Home and End walk from it, Enter or space presses.
const PAGE = 100;

function cellText(column, row) {
  if (!column.numbers) return column.places[row] < 0 ? null : column.texts[column.places[row]];
  const value = column.numbers[row];
  if (value === null) return null;
  const [least, most, grouped, signed, after] = column.format;
  const options = { minimumFractionDigits: least, maximumFractionDigits: most, useGrouping: grouped, signDisplay: signed ? "exceptZero" : "auto" };
  return value.toLocaleString("en", options) + after;
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
  const titles = columns.map(({ title, group }) => quoted(group ? `${group}: ${title}` : title));
  const text = [titles, ...order.map((row) => columns.map((column) => cell(column, row)))].map((line) => line.join(",")).join("\r\n");
  const place = document.createElement("a");
  place.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
  place.download = `headroom-${id}.csv`;
  place.click();
  setTimeout(() => URL.revokeObjectURL(place.href), 1000);
}

function sheet(box, data, kept, tell) {
  kept.sort ??= {};
  const top = make("div", box, { class: "above" });
  make("span", top, {}, data.label);
  make("button", top, { type: "button" }, "Save as CSV").onclick = () => saved(data, ordered(data, kept.sort));
  const frame = make("div", box, { class: "frame", role: "region", tabindex: 0, "aria-label": data.label });
  const table = make("table", frame, data.pressed ? { role: "grid", "aria-label": data.label } : {});
  const head = make("thead", table);
  if (data.columns.some(({ group }) => group)) {
    const groups = make("tr", head);
    let last = null;
    for (const { group } of data.columns) {
      if (last && last.textContent === group && group) last.colSpan += 1;
      else last = make("th", groups, { scope: "colgroup" }, group);
    }
  }
  const titles = make("tr", head);
  const buttons = data.columns.map(({ title, hint, format }) => {
    const button = make("button", make("th", titles, { scope: "col", class: format ? "number" : "" }), { type: "button", title: hint }, title);
    button.onclick = () => {
      const { by, down } = kept.sort;
      const first = Boolean(format); // numbers: the largest first
      kept.sort = by !== title ? { by: title, down: first } : down === first ? { by: title, down: !first } : {};
      kept.page = 0;
      show();
    };
    return button;
  });
  const body = make("tbody", table);
  const below = make("div", box, { class: "below" });
  const pages = Math.ceil(data.count / PAGE);
  const turn = (text, step) => {
    const button = make("button", below, { type: "button" }, text);
    button.onclick = () => {
      kept.page += step;
      show();
      frame.scrollTop = 0;
    };
    return button;
  };
  const [back, said, on] = [turn("Previous", -1), make("span", below), turn("Next", 1)];
  below.hidden = pages < 2;

  function show() {
    kept.page = Math.max(0, Math.min(kept.page ?? 0, pages - 1));
    buttons.forEach((button, k) => {
      const mine = data.columns[k].title === kept.sort.by;
      if (mine) button.parentElement.setAttribute("aria-sort", kept.sort.down ? "descending" : "ascending");
      else button.parentElement.removeAttribute("aria-sort");
    });
    const first = kept.page * PAGE;
    body.replaceChildren();
    for (const row of ordered(data, kept.sort).slice(first, first + PAGE)) {
      const line = make("tr", body);
      data.columns.forEach((column, k) => {
        const text = cellText(column, row);
        const kind = [column.format && "number", column.wide && "wide"].filter(Boolean).join(" ");
        const cell = make(k ? "td" : "th", line, { ...(k ? {} : { scope: "row" }), ...(kind && { class: kind }) });
        if (column.link && text?.startsWith("https://")) make("a", cell, { href: text, target: "_blank", rel: "noopener noreferrer", title: text }, "open");
        else cell.textContent = text ?? "–";
        if (!data.pressed) return;
        cell.role = k ? "gridcell" : "rowheader";
        cell.tabIndex = -1;
        Object.assign(cell.dataset, { row, column: k });
        if (data.chosen?.[0] === row && data.chosen[1] === k) cell.setAttribute("aria-selected", "true");
      });
    }
    write(said, `${(first + 1).toLocaleString("en")} to ${Math.min(first + PAGE, data.count).toLocaleString("en")} of ${data.count.toLocaleString("en")}`);
    back.disabled = kept.page === 0;
    on.disabled = kept.page >= pages - 1;
    if (data.pressed) tabTo(kept.tab ?? data.chosen ?? [0, 0]);
  }

  const cellAt = (i, k) => body.rows[i]?.cells[k];
  function tabTo([i, k], focus = false) {
    kept.tab = [Math.max(0, Math.min(i, body.rows.length - 1)), Math.max(0, Math.min(k, data.columns.length - 1))];
    body.querySelector("[tabindex='0']")?.setAttribute("tabindex", -1);
    const cell = cellAt(...kept.tab);
    if (!cell) return;
    cell.tabIndex = 0;
    if (focus) cell.focus();
  }
  const placeOf = (cell) => [cell.parentElement.rowIndex - head.rows.length, cell.cellIndex];
  if (data.pressed) {
    body.onclick = ({ target }) => {
      const cell = target.closest("td, th");
      if (!cell || target.closest("a")) return;
      tabTo(placeOf(cell));
      tell("cell", { sheet: data.id, row: Number(cell.dataset.row), column: Number(cell.dataset.column) });
    };
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] };
    body.onkeydown = (event) => {
      const cell = event.target.closest("td, th");
      if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
      const step = steps[event.key];
      if (!step && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      if (!step) return cell.click();
      const [i, k] = placeOf(cell);
      tabTo([i + step[0], k + step[1]], true);
    };
  }
  show();
}
