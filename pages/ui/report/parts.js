// Parts of reports below a verdict; `make`, `write` and `lines` come from plain_table.js.
function changes(section, rows, apply) {
  section.hidden = rows.length === 0;
  const list = section.querySelector("ul");
  const add = () => {
    const item = make("li", list);
    const said = make("span", item);
    make("b", said);
    make("span", said);
    make("button", item, { type: "button" }, "Apply");
  };
  lines(list, rows.length, add).forEach((item, i) => {
    const { gpu, title, text, able } = rows[i];
    const button = item.querySelector("button");
    write(item.querySelector("b"), `${title}: `);
    write(item.querySelector("span > span"), text);
    button.hidden = !able;
    const label = `Apply: ${title}: ${text}`;
    if (button.getAttribute("aria-label") !== label) button.setAttribute("aria-label", label);
    button.onclick = () => apply(gpu);
  });
}

function choices(select, { options, chosen }, choose) {
  lines(select, options.length, () => make("option", select)).forEach((option, i) => {
    const [id, name] = options[i];
    if (option.value !== id || option.textContent !== name) {
      option.value = id;
      option.textContent = name;
    }
  });
  if (select.value !== chosen) select.value = chosen;
  select.onchange = () => choose(select.value);
}
