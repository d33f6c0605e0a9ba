// The chart, and tables one below the other; long ones show their first rows until the reader asks for all.
const opened = new WeakMap();

function mount({ parentElement, data }) {
  chart(parentElement.querySelector(".chart"), data.chart);
  const root = parentElement.querySelector(".parts");
  const frames = [...root.querySelectorAll(":scope > section")];
  if (!frames.length) {
    // the markup of one table is the pattern of all
    const pattern = make("section", root);
    make("h2", pattern);
    for (const node of [...root.children]) if (node !== pattern) pattern.append(node);
    frames.push(pattern);
  }
  while (frames.length > data.parts.length && frames.length > 1) frames.pop().remove();
  while (frames.length < data.parts.length) {
    const copy = frames[0].cloneNode(true);
    for (const list of copy.querySelectorAll("thead, tbody, ul")) list.replaceChildren();
    root.append(copy);
    frames.push(copy);
  }
  root.hidden = data.parts.length === 0;
  data.parts.forEach((part, i) => draw(frames[i], part));
}

function draw(frame, part) {
  const title = frame.querySelector("h2");
  write(title, part.title);
  title.hidden = !part.title;
  frame.dataset.part = part.id;
  plainTable(frame.querySelector(".plain"), part);
  const rows = [...frame.querySelectorAll("tbody > tr")];
  const more = frame.querySelector(".more");
  const show = () => {
    const all = opened.get(frame) === part.id;
    rows.forEach((row, i) => (row.hidden = !all && i >= part.most));
    more.hidden = rows.length <= part.most;
    write(more, all ? "Show fewer" : `Show all ${rows.length}`);
    more.setAttribute("aria-expanded", String(all));
  };
  more.onclick = () => {
    opened.set(frame, opened.get(frame) === part.id ? "" : part.id);
    show();
  };
  show();
}
