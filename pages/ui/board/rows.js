// A chart of rows: name, bar or dot, and the text right of it. Python decided every place and text.
// `make` comes from plain_table.js.
const percent = (share) => `${(100 * share).toFixed(2)}%`;
const between = ([low, high]) => `left:${percent(low)};width:${percent(high - low)}`;

function legend(box, items, picture) {
  if (!items.length) return;
  const list = make("ul", box, { class: "legend", "aria-hidden": "true" });
  for (const item of items) {
    const entry = make("li", list);
    picture(make("span", entry, { class: "key" }), item);
    make("span", entry, {}, item.text);
  }
}

function rowsChart(box, data) {
  const figure = make("figure", box, { class: "chart", "aria-label": data.alt });
  legend(figure, data.legend, (place, { look, tone, hatch }) => make("i", place, { class: look, "data-tone": tone ?? 0, "data-hatch": hatch ?? 0 }));
  const plot = make("div", figure, { class: "rows" });
  const grid = make("div", plot, { class: "grid", "aria-hidden": "true" });
  for (const [share] of data.ticks) make("i", grid, { style: `left:${percent(share)}` });
  const list = make("ol", plot);
  for (const { name, text, end, bar, dot, span, estimate, tone, hatch } of data.rows) {
    const row = make("li", list, { "data-tone": tone });
    make("span", row, { class: "name", title: name }, name);
    const track = make("span", row, { class: "track" });
    if (bar !== null) make("i", track, { class: estimate ? "bar pale" : "bar", "data-hatch": hatch, style: `width:${percent(bar)}` });
    if (span) make("i", track, { class: "span", style: between(span) });
    if (dot !== null) make("i", track, { class: "dot", style: `left:${percent(dot)}` });
    if (estimate) {
      make("i", track, { class: "band", style: between(estimate.slice(1)) });
      make("i", track, { class: "estimate", style: `left:${percent(estimate[0])}` });
    }
    make("span", track, { class: "value", style: `margin-left:${percent(end)}` }, text);
  }
  const ticks = make("div", plot, { class: "ticks", "aria-hidden": "true" });
  for (const [share, text] of data.ticks) make("span", ticks, { style: `left:${percent(share)}` }, text);
  make("p", figure, { class: "axis" }, data.title);
}
