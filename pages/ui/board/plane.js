// A plane of points on two axes. Places are percentages, so that it stretches without being drawn again.

const OUTLINES = {
  circle: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
  square: (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  diamond: (r) => `M0 ${-1.2 * r}l${1.2 * r} ${1.2 * r}l${-1.2 * r} ${1.2 * r}l${-1.2 * r} ${-1.2 * r}z`,
  triangle: (r) => `M0 ${-1.1 * r}l${1.1 * r} ${2 * r}h${-2.2 * r}z`,
  cross: (r) => `M${-r / 3} ${-r}h${r / 1.5}v${r / 1.5}h${r / 1.5}v${r / 1.5}h${-r / 1.5}v${r / 1.5}h${-r / 1.5}v${-r / 1.5}h${-r / 1.5}v${-r / 1.5}h${r / 1.5}z`,
  star: (r) =>
    [...Array(10).keys()]
      .map((k) => {
        const reach = k % 2 ? r / 2 : 1.2 * r;
        const turn = (k * Math.PI) / 5;
        return `${k ? "L" : "M"}${(reach * Math.sin(turn)).toFixed(2)} ${(-reach * Math.cos(turn)).toFixed(2)}`;
      })
      .join("") + "z",
  x: (r) => `M${-r} ${-r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`,
};

const mark = (parent, symbol, tone, hollow, size, style = "") =>
  svg("path", parent, { class: symbol === "x" ? "stroke" : hollow ? "hollow" : "full", "data-tone": tone, d: OUTLINES[symbol](size / 2), style });

function planeChart(box, data) {
  const figure = make("figure", box, { class: "chart", role: "img", "aria-label": data.alt });
  legend(figure, data.legend, (place, { look, tone, hollow }) => {
    const icon = svg("svg", place, { width: 22, height: 14 });
    if (look in OUTLINES) mark(icon, look, tone, hollow, 9, "transform:translate(11px,7px)");
    else svg("line", icon, { class: look, x1: 0, y1: 7, x2: 22, y2: 7 });
  });
  make("p", figure, { class: "axis upward" }, data.y.title);
  const plot = make("div", figure, { class: "plane", style: `height:${data.height}px` });
  for (const [share, text] of data.y.ticks) make("i", plot, { class: "level", "data-text": text, style: `bottom:${percent(share)}` });
  let last = -1;
  for (const [share, text] of data.x.ticks) {
    const near = share - last < 0.09; // its text would run into the one before
    if (!near) last = share;
    make("i", plot, { class: "column", "data-text": near ? "" : text, style: `left:${percent(share)}` });
  }
  const picture = svg("svg", plot, {});
  for (const [x1, y1, x2, y2, look] of data.lines)
    svg("line", picture, { class: look, x1: percent(x1), y1: percent(1 - y1), x2: percent(x2), y2: percent(1 - y2) });
  for (const { symbol, tone, spots } of data.groups)
    for (const [x, y, size, hollow, name] of spots)
      svg("title", mark(picture, symbol, tone, hollow, size, `transform:translate(${percent(x)},${percent(1 - y)})`), {}, name);
  for (const [x, y, text, across, up, reach] of data.labels) {
    const right = across > 0 ? `${reach}px` : across < 0 ? `calc(-100% - ${reach}px)` : "-50%";
    const down = up > 0 ? `${-reach}px` : up < 0 ? `calc(100% + ${reach}px)` : "50%";
    make("span", plot, { class: "label", style: `left:${percent(x)};bottom:${percent(y)};transform:translate(${right},${down})` }, text);
  }
  make("p", figure, { class: "axis" }, data.x.title);
}
