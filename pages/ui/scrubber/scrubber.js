// Looks stops up in tracks that Python computed; no formula lives here. Text goes in by textContent only.
// While a thumb moves nothing is sent; on release a state value of its own tells Python where it stopped.
// Until the answer to that message is here, the thumb stays where the reader put it.

const MARKS = ["✕", "≈", "✓"];
const memory = new WeakMap(); // root -> what this instance keeps between runs

const make = (tag, parent, attributes = {}, text = "") => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
};
// What stays as it is is not written: the browser would lay it out again.
const write = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};
const set = (node, name, value) => {
  if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
};
const gib = (value) => value.toFixed(value < 100 ? 2 : 1);
const percent = (value) => `${Math.max(0, value).toFixed(3)}%`;

function mount({ parentElement, data, setStateValue, tell }) {
  const root = parentElement.querySelector(".scrubber");
  const kept = memory.get(root) ?? { active: null, sent: 0, waiting: {}, at: {}, fields: {} };
  memory.set(root, kept);
  kept.data = data;
  kept.send = (name, value) => {
    const message = { value, at: ++kept.sent + Date.now() };
    delete kept.waiting[name];
    kept.waiting[name] = message; // the newest stands last
    setStateValue(kept.fields[name] ?? name, message);
  };
  if (JSON.stringify(kept.fields) !== JSON.stringify(data.fields)) {
    Object.assign(kept, { fields: data.fields, waiting: {}, active: null, shape: "", numbered: "" }); // another task
  }
  const restarted = kept.session !== undefined && kept.session !== data.session;
  kept.session = data.session;
  for (const [name, message] of Object.entries(kept.waiting)) {
    if (restarted) setTimeout(() => kept.send(name, message.value)); // a new server knows no callback for it
    else if (data.seen[kept.fields[name] ?? name] === message.at) delete kept.waiting[name];
  }

  const palette = getComputedStyle(root).getPropertyValue("--st-chart-categorical-colors").split(",");
  palette.slice(0, 6).forEach((colour, i) => root.style.setProperty(`--c${i}`, colour.trim()));

  build(root, kept);
  numbers(root.querySelector("[data-numbers]"), kept);
  write(root.querySelector("[data-notice]"), data.notice);
  draw(root, kept, kept.active ?? Object.keys(kept.waiting).findLast((name) => name in data.tracks) ?? "context");
  if (data.tellWhenDrawn && kept.told !== data.session) {
    kept.told = data.session; // after the paint, so that the heavy views do not come before it
    requestAnimationFrame(() => setTimeout(() => tell("drawn", true)));
  }
}

function build(root, kept) {
  const { data } = kept;
  const shape = JSON.stringify([data.parts, data.gpus.map((g) => g.name), Object.keys(data.tracks)]);
  if (kept.shape !== shape) {
    kept.shape = shape;
    const legend = root.querySelector("[data-legend]");
    legend.replaceChildren();
    data.parts.forEach((part, i) => {
      const item = make("li", legend, { title: data.hints[i] });
      make("i", item, { "data-part": i });
      make("span", item, {}, part);
    });
    for (const [kind, words] of data.marks) {
      const item = make("li", legend);
      make("i", item, { class: kind });
      make("span", item, {}, words);
    }
    legend.hidden = data.gpus.length === 0;

    const bars = root.querySelector("[data-bars]");
    bars.replaceChildren();
    kept.rows = data.gpus.map((gpu) => {
      const row = make("div", bars, { class: "row", role: "group", "aria-label": gpu.name });
      const head = make("div", row, { class: "who" }, gpu.name);
      const memoryNote = make("small", head);
      const remark = make("small", head);
      const bar = make("div", row, { class: "bar", "aria-hidden": "true" });
      const stack = make("div", bar, { class: "stack" });
      const parts = data.parts.map((_, i) => make("i", stack, { "data-part": i }));
      const held = make("div", bar, { class: "held" });
      const limit = make("div", bar, { class: "limit" });
      const cap = make("div", bar, { class: "cap" });
      const over = make("span", bar, { class: "over" });
      const said = make("div", row, { class: "said" });
      const strong = make("b", said);
      const small = make("small", said);
      return { row, memoryNote, remark, parts, held, limit, cap, over, strong, small };
    });

    const sliders = root.querySelector("[data-sliders]");
    sliders.replaceChildren();
    kept.sliders = {};
    for (const name of Object.keys(data.tracks)) kept.sliders[name] = slider(root, kept, sliders, name);
  }
  data.gpus.forEach((gpu, i) => {
    const row = kept.rows[i];
    write(row.memoryNote, gpu.memory);
    write(row.remark, gpu.remark);
    row.cap.style.insetInlineStart = percent((100 * gpu.capacity) / data.scale);
    row.limit.style.insetInlineStart = percent((100 * gpu.budget) / data.scale);
    row.limit.hidden = gpu.budget >= gpu.capacity;
  });
  for (const [name, track] of Object.entries(data.tracks)) {
    const parts = kept.sliders[name];
    write(parts.name, track.label);
    set(parts.name, "title", data.about[name] ?? "");
    set(parts.input, "max", track.stops.length - 1);
    const held = kept.active === name || name in kept.waiting;
    const index = held ? nearest(track.stops, kept.at[name]) : track.index;
    if (Number(parts.input.value) !== index) parts.input.value = index; // written in a drag, it would end silently
    if (!held) kept.at[name] = track.stops[parts.input.value];
    set(parts.exact, "step", track.step);
    set(parts.exact, "max", track.most);
    parts.exact.hidden = !track.exact;
    set(parts.exact, "aria-label", track.exact ?? track.label);
    write(parts.unit, track.exact ? track.unit : track.texts[parts.input.value]);
    set(parts.input, "aria-valuetext", track.texts[parts.input.value]);
    write(parts.note, track.note);
    const last = track.stops.length - 1;
    const scale = JSON.stringify([track.zones, track.ticks, last]);
    if (parts.scale === scale) continue;
    parts.scale = scale;
    parts.strip.replaceChildren();
    // each stop owns the stretch half-way to its neighbours
    for (const [zone, from, to] of track.zones) {
      const start = Math.max(0, from - 0.5) / last;
      const end = Math.min(last, to + 0.5) / last;
      make("i", parts.strip, { "data-zone": zone, style: `width:${percent(100 * (end - start))}` });
    }
    parts.ticks.replaceChildren();
    for (const [at, text] of track.ticks) {
      make("span", parts.ticks, { style: `left:${percent((100 * at) / last)}` }, text);
    }
  }
}

function nearest(stops, value) {
  const after = stops.findIndex((stop) => stop >= value);
  return after < 0 ? stops.length - 1 : after;
}

function slider(root, kept, parent, name) {
  const box = make("div", parent, { class: "slider" });
  const label = make("label", box);
  const value = make("span", box, { class: "exact" });
  const exact = make("input", value, { type: "number", min: 0, inputmode: "numeric", "data-exact": name });
  const unit = make("span", value);
  const input = make("input", box, { type: "range", min: 0, step: 1, "data-scrubber": name });
  input.id = `scrubber-${name}`;
  label.htmlFor = input.id;
  const strip = make("div", box, { class: "strip", "aria-hidden": "true" });
  const ticks = make("div", box, { class: "ticks", "aria-hidden": "true" });
  const note = make("p", box);
  const task = kept.fields;
  let byPointer = false;
  let timer = 0; // one for each thumb: the other one must not stop it
  const release = () => {
    clearTimeout(timer);
    timer = 0;
    if (task !== kept.fields) return; // what waits in a box of another task
    if (kept.active === name) kept.active = null;
    const track = kept.data.tracks[name];
    const known = kept.waiting[name]?.value ?? track.stops[track.index];
    const value = track.stops[input.value];
    if (value !== known) kept.send(name, value);
  };
  const lifted = () => setTimeout(() => { if (kept.active === name) release(); });
  input.onpointerdown = () => {
    byPointer = true;
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, lifted, { once: true });
  };
  input.onkeydown = () => { byPointer = false; };
  input.oninput = () => {
    kept.active = name;
    kept.at[name] = kept.data.tracks[name].stops[input.value];
    draw(root, kept, name);
  };
  // A drag fires `change` once, at its end; held arrow keys fire it for every step, so those wait for the key's end.
  input.onchange = () => {
    clearTimeout(timer);
    if (byPointer) return release();
    timer = setTimeout(release, 500);
  };
  input.onkeyup = input.onblur = () => { if (timer) release(); };
  typed(kept, exact, name, (value) => {
    input.value = nearest(kept.data.tracks[name].stops, value);
    draw(root, kept, name);
    exact.value = value;
  });
  return { input, name: label, exact, unit, strip, ticks, note };
}

// What is typed in a box counts on Enter or when it is left; steps of its arrows wait for the last one.
function whenTyped(kept, input, commit) {
  const task = kept.fields;
  let timer = 0;
  const done = () => {
    clearTimeout(timer);
    timer = 0;
    if (task !== kept.fields) return; // what waits in a box of another task
    delete input.dataset.typing;
    commit();
  };
  input.oninput = () => {
    input.dataset.typing = 1;
    clearTimeout(timer);
    timer = setTimeout(done, 900);
  };
  input.onkeydown = (event) => { if (event.key === "Enter") done(); };
  input.onblur = () => { if (timer) done(); };
}

// A number typed exactly for a thumb.
function typed(kept, exact, name, show) {
  whenTyped(kept, exact, () => {
    const track = kept.data.tracks[name];
    const now = kept.waiting[name]?.value ?? track.stops[track.index];
    const value = Math.round(Number(exact.value));
    if (!(value >= 1 && value <= track.most)) exact.value = now;
    else if (value !== now) {
      kept.at[name] = value;
      kept.send(name, value);
      show(value);
    }
  });
}

// The task's other numbers. One keeps what the reader typed until the answer to it is here.
function numbers(place, kept) {
  const { data } = kept;
  const shape = JSON.stringify(data.numbers.map(({ field }) => field));
  if (kept.numbered !== shape) {
    kept.numbered = shape;
    place.replaceChildren();
    kept.boxes = data.numbers.map(({ field }) => {
      const label = make("label", place);
      const name = make("span", label);
      const input = make("input", label, { type: "number", min: 0, step: "any", inputmode: "decimal" });
      entered(kept, input, field);
      return { label, name, input };
    });
  }
  data.numbers.forEach(({ field, label, value, empty, help }, i) => {
    const box = kept.boxes[i];
    write(box.name, label);
    set(box.label, "title", help);
    set(box.input, "placeholder", empty);
    if (!("typing" in box.input.dataset)) box.input.value = kept.waiting[field]?.value ?? value;
  });
}

function entered(kept, input, field) {
  whenTyped(kept, input, () => {
    const now = kept.waiting[field]?.value ?? kept.data.numbers.find((one) => one.field === field).value;
    if (input.validity.badInput) input.value = now;
    else if (input.value !== now) kept.send(field, input.value);
  });
}

function draw(root, kept, name) {
  const { data } = kept;
  const track = data.tracks[name];
  const at = Number(kept.sliders[name].input.value);
  const verdict = root.querySelector("[data-verdict]");
  write(verdict, track.sentences[at]);
  set(verdict, "data-state", track.best[at]);
  set(verdict, "data-mark", data.gpus.length ? MARKS[track.best[at]] : "");
  write(root.querySelector("[data-also]"), track.also[at]);
  if (!track.exact) write(kept.sliders[name].unit, track.texts[at]);
  for (const [other, { exact, input }] of Object.entries(kept.sliders)) {
    const stop = kept.waiting[other]?.value ?? data.tracks[other].stops[input.value];
    if (!("typing" in exact.dataset)) exact.value = stop;
  }
  set(kept.sliders[name].input, "aria-valuetext", track.texts[at]);
  data.gpus.forEach((gpu, i) => {
    const row = kept.rows[i];
    const parts = track.gib[at][i];
    const needed = track.needed[at][i];
    parts.forEach((value, k) => { row.parts[k].style.width = percent((100 * value) / data.scale); });
    if (row.held.hidden === Boolean(track.reserved)) row.held.hidden = !track.reserved; // nothing is reserved beyond the need, and the legend names no line
    if (track.reserved) row.held.style.width = percent(Math.min(100, (100 * track.reserved[at][i]) / data.scale));
    write(row.over, needed > data.scale ? `${gib(needed)} GiB →` : "");
    set(row.row, "data-state", track.verdicts[at][i]);
    write(row.strong, track.said[at][i]);
    write(row.small, track.more[at][i]);
  });
  table(root, data, track, at);
}

function table(root, data, track, at) {
  const details = root.querySelector("[data-table]");
  details.hidden = data.gpus.length === 0;
  const fill = () => {
    const head = details.querySelector("thead");
    head.replaceChildren();
    const titles = make("tr", head);
    const reserved = track.reserved ? ["Reserved"] : [];
    for (const text of ["GPU", ...data.parts, "Needed", ...reserved, "Capacity", "Verdict"]) {
      make("th", titles, { scope: "col" }, text);
    }
    const body = details.querySelector("tbody");
    body.replaceChildren();
    data.gpus.forEach((gpu, i) => {
      const line = make("tr", body);
      make("th", line, { scope: "row" }, gpu.name);
      const held = track.reserved ? [track.reserved[at][i]] : [];
      const numbers = [...track.gib[at][i], track.needed[at][i], ...held, gpu.capacity];
      for (const value of numbers) make("td", line, {}, gib(value));
      make("td", line, {}, track.said[at][i]);
    });
  };
  details.ontoggle = () => { if (details.open) fill(); };
  if (details.open) fill();
}
