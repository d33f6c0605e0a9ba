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

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const gap = (box, x, y) => Math.hypot(x - clamp(x, box.left, box.right), y - clamp(y, box.top, box.bottom));

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
  // a name stands where it meets no mark, no other name and no edge; where nothing is free it stays in the hint
  const busy = data.points.map(({ kind, x, y }) => {
    const reach = kind === "best" ? 9 : 5;
    return { left: across(x) - reach, right: across(x) + reach, top: upward(y) - reach, bottom: upward(y) + reach };
  });
  for (const { label, x, y, kind } of data.points.filter((point) => point.label)) {
    const [at, up, long] = [across(x), upward(y), label.length * 6.3];
    const starts = [at + 12, at - 12 - long, at - long / 2];
    const boxes = [-16, 4, -30, 18, -44, 32].flatMap((shift) => starts.map((left) => ({ left, right: left + long, top: up + shift, bottom: up + shift + 12 })));
    const inside = boxes.filter((box) => box.left >= 0 && box.right <= width && box.top >= EDGE.top - 12 && box.bottom <= below);
    const open = inside.filter((box) => !busy.some((other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom));
    // rather where no other mark is as near, so that it is not taken for that one's name; else a line leads to it
    const own = open.find((box) => data.points.every((other) => (other.x === x && other.y === y) || gap(box, across(other.x), upward(other.y)) > gap(box, at, up) + 3));
    const place = own ?? open[0] ?? (kind === "best" ? inside[0] : null);
    if (!place) continue;
    busy.push(place);
    if (place !== own) svg("path", frame, { class: "band", d: `M${at} ${up}L${clamp(at, place.left, place.right)} ${clamp(up, place.top, place.bottom)}` });
    svg("text", frame, { class: "label", x: place.left, y: place.bottom - 2 }, label);
  }
  for (const { name, kind, x, y } of data.points) svg("title", mark(kind, frame, across(x), upward(y)), {}, name);
  picture.replaceChildren(frame);
}
