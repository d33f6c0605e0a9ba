// Draws a list of parts. A part whose data stayed the same is not touched; Python decided every text.
const memory = new WeakMap(); // box of parts -> its parts by id: node, data, and what a sheet keeps

const KINDS = {
  heading: (box, { text }) => make("h3", box, {}, text),
  text: (box, { look, lines }) => {
    const list = look === "list";
    const inside = list ? make("ul", box) : box;
    for (const line of lines) {
      const paragraph = make(list ? "li" : "p", inside);
      for (const span of line) {
        if (typeof span === "string") paragraph.append(span);
        else if (span.bold) make("b", paragraph, {}, span.bold);
        else if (span.code) make("code", paragraph, {}, span.code);
        else make("a", paragraph, { href: span.to, target: "_blank", rel: "noopener noreferrer" }, span.link);
      }
    }
  },
  rows: rowsChart,
  plane: planeChart,
  table: (box, data) => {
    const frame = make("div", box, { class: "plain" });
    const table = make("table", frame);
    for (const part of ["caption", "thead", "tbody"]) make(part, table);
    make("ul", frame, { class: "notes" });
    plainTable(frame, data);
  },
  buttons: (box, { buttons }, tell) => {
    for (const [id, label] of buttons) make("button", box, { type: "button" }, label).onclick = () => tell("button", id);
  },
};

function fold(node, data, tell) {
  const details = node.querySelector("details") ?? make("details", node);
  const summary = details.querySelector("summary") ?? make("summary", details);
  const inside = details.querySelector(":scope > div") ?? make("div", details, { class: "parts" });
  write(summary, data.title);
  const show = () => details.open && parts(inside, data.parts, tell); // what nobody sees costs nothing
  details.ontoggle = show;
  show();
}

function parts(box, list, tell) {
  const held = memory.get(box) ?? new Map();
  memory.set(box, held);
  const ids = list.map((part, i) => `${part.kind} ${part.id ?? i}`);
  for (const [id, { node }] of held) {
    if (ids.includes(id)) continue;
    node.remove();
    held.delete(id);
  }
  list.forEach((part, i) => {
    let one = held.get(ids[i]);
    if (!one) held.set(ids[i], (one = { node: document.createElement("div"), kept: {} }));
    if (box.children[i] !== one.node) box.insertBefore(one.node, box.children[i] ?? null);
    const said = JSON.stringify(part);
    if (one.said === said) return;
    one.said = said;
    one.node.className = `part is-${part.kind} ${part.look ?? ""}`;
    if (part.kind === "fold") return fold(one.node, part, tell);
    if (part.kind === "sheet") return sheet(one.node, part, one.kept, tell);
    one.node.replaceChildren();
    KINDS[part.kind](one.node, part, tell);
  });
}

// What a press asked for stands under its sheet, which may be below the edge of the window.
function follow(box) {
  for (const { node, kept } of memory.get(box).values()) {
    const answer = node.nextElementSibling;
    if (!kept.asked || !answer) continue;
    kept.asked = false;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    answer.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
  }
}

function mount({ parentElement, data, tell }) {
  const root = parentElement.querySelector(".board");
  const palette = getComputedStyle(root).getPropertyValue("--st-chart-categorical-colors").split(",");
  palette.slice(0, 8).forEach((colour, i) => root.style.setProperty(`--c${i}`, colour.trim()));
  parts(root, data.parts, tell);
  follow(root);
}
