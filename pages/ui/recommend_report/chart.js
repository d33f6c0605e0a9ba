// Cost against speed as SVG; Python decided every place (shares of width and height) and text.
const EDGE = { left: 44, right: 12, top: 24, bottom: 44 };
const HEIGHT = 340;
const watched = new WeakMap();

// the mark of a kind: hollow or filled, round or a diamond or a cross
function mark(kind, parent, x, y) {
  if (kind === "unsure") return svg("path", parent, { class: kind, d: `M${x - 3.5} ${y - 3.5}l7 7m0 -7l-7 7` });
  if (kind === "best" || kind === "tied") {
    const r = kind === "best" ? 9 : 7;
    return svg("path", parent, { class: kind, d: `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z` });
  }
  return svg("circle", parent, { class: kind, cx: x, cy: y, r: kind === "frontier" ? 5.5 : 4.5 });
}

function chart(root, data) {
  root.hidden = !data;
  if (!data) return;
  const legend = root.querySelector(".legend");
  const shape = JSON.stringify(data.legend);
  if (legend.dataset.shape !== shape) {
    legend.dataset.shape = shape;
    legend.replaceChildren();
    for (const [kind, text] of data.legend) {
      const item = make("span", legend);
      const box = svg("svg", item, { width: 20, height: 20, "aria-hidden": "true" });
      mark(kind, box, 10, 10);
      make("span", item, {}, text);
    }
  }
  const picture = root.querySelector(".picture");
  const seen = watched.get(root) ?? {};
  if (!seen.observer) {
    seen.observer = new ResizeObserver(() => seen.width !== picture.clientWidth && paint(picture, seen));
    seen.observer.observe(picture);
    watched.set(root, seen);
  }
  seen.data = data;
  paint(picture, seen);
}

function paint(picture, seen) {
  const { data } = seen;
  const width = (seen.width = picture.clientWidth);
  if (!width) return;
  const right = width - EDGE.right;
  const below = HEIGHT - EDGE.bottom;
  const across = (share) => EDGE.left + share * (right - EDGE.left);
  const upward = (share) => below - share * (below - EDGE.top);
  const frame = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ width, height: HEIGHT, role: "img", "aria-label": data.alt })) frame.setAttribute(name, value);
  for (const [share, text] of data.y.ticks) {
    svg("path", frame, { class: "grid", d: `M${EDGE.left} ${upward(share)}H${right}` });
    svg("text", frame, { x: EDGE.left - 6, y: upward(share) + 4, "text-anchor": "end" }, text);
  }
  const space = width < 500 ? 44 : 30; // labels closer than this would run into each other
  let last = -space;
  for (const [share, text] of data.x.ticks) {
    svg("path", frame, { class: "grid", d: `M${across(share)} ${EDGE.top}V${below}` });
    if (across(share) - last < space) continue;
    last = across(share);
    svg("text", frame, { x: last, y: below + 16, "text-anchor": "middle" }, text);
  }
  svg("text", frame, { x: (EDGE.left + right) / 2, y: HEIGHT - 6, "text-anchor": "middle", class: "title" }, data.x.title);
  svg("text", frame, { x: EDGE.left, y: 14, class: "title" }, data.y.title);
  for (const { x, y, xs, ys } of data.points) {
    if (ys) svg("path", frame, { class: "band", d: `M${across(x)} ${upward(ys[0])}V${upward(ys[1])}` });
    if (xs) svg("path", frame, { class: "band", d: `M${across(xs[0])} ${upward(y)}H${across(xs[1])}` });
  }
  const [first, ...steps] = data.line;
  if (first) svg("path", frame, { class: "line", d: `M${across(first[0])} ${upward(first[1])}` + steps.map(([x, y]) => `H${across(x)}V${upward(y)}`).join("") });
  const taken = [];
  for (const { label, x, y } of data.points.filter((point) => point.label)) {
    const text = svg("text", frame, { class: "label" }, label);
    const long = label.length * 6.3;
    const at = across(x);
    // beside its mark, right or left; where neither side has room, above it and inside the picture
    const sides = [at + 10, at - 10 - long].filter((x0) => x0 >= 0 && x0 + long <= width);
    const place = { x0: sides[0] ?? Math.max(0, width - long), y: upward(y) - (sides.length ? 9 : 14) };
    while (taken.some((other) => Math.abs(other.y - place.y) < 13 && other.x0 < place.x0 + long && place.x0 < other.x0 + other.long)) place.y += 13;
    taken.push({ ...place, long });
    text.setAttribute("x", place.x0);
    text.setAttribute("y", place.y);
  }
  for (const { name, kind, x, y } of data.points) svg("title", mark(kind, frame, across(x), upward(y)), {}, name);
  picture.replaceChildren(frame);
}
