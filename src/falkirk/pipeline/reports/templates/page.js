"use strict";
// Search, choice and order of each table. Without this script all rows are there, in their first order.
const ROWS_SHOWN = 100, ROWS_WITH_TOOLS = 8;
const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const make = (name, text = "") => Object.assign(document.createElement(name), { textContent: text });
const number = (text) => Number(text.replaceAll(",", ""));

function equip(table) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const rows = [...body.rows].map((row) => ({ row, texts: [...row.cells].map((cell) => cell.textContent) }));
  for (const each of rows) each.all = each.texts.join("\n").toLowerCase();
  const tools = make("div"), input = make("input"), output = make("output"), all = make("button", "Show all");
  const choices = [];
  let isAll = false;

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const { row, texts, all: text } of rows) {
      const fits = words.every((word) => text.includes(word))
        && choices.every(({ column, select }) => !select.value || texts[column] === select.selectedOptions[0].dataset.value);
      found += fits;
      row.hidden = !fits || (!isAll && found > ROWS_SHOWN);
    }
    const shown = isAll ? found : Math.min(found, ROWS_SHOWN);
    const of = found === rows.length ? "" : `, of ${rows.length.toLocaleString("en")} in all`;
    output.textContent = shown === found
      ? `${found.toLocaleString("en")} ${found === 1 ? "row" : "rows"}${of}`
      : `${shown} of ${found.toLocaleString("en")} rows${of}`;
    all.hidden = shown === found;
  }

  function addLabel(text, control) {
    const label = make("label", text);
    label.append(control);
    tools.append(label);
  }

  function addChoice(column) {
    const select = make("select"), values = [...new Set(rows.map(({ texts }) => texts[column]))].sort(order.compare);
    if (values.length < 2) return;
    select.append(new Option("all", ""));
    values.forEach((value, index) => {
      const option = new Option(value, `v${index}`);
      option.dataset.value = value;
      select.append(option);
    });
    select.addEventListener("change", show);
    choices.push({ column, select });
    addLabel(heads[column].textContent, select);
  }

  function sort(column) {
    const head = heads[column], down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const areNumbers = head.classList.contains("number"), sign = down ? -1 : 1;
    rows.sort((one, other) => {
      const [a, b] = [one.texts[column], other.texts[column]];
      // What is empty comes last either way.
      if (a === "–" || b === "–") return (a === "–") - (b === "–");
      return sign * (areNumbers ? number(a) - number(b) : order.compare(a, b));
    });
    body.append(...rows.map(({ row }) => row));
    show();
  }

  tools.className = "tools";
  tools.setAttribute("role", "search");
  tools.setAttribute("aria-label", table.closest("section").querySelector("h2").textContent);
  input.type = "search";
  input.addEventListener("input", show);
  addLabel("Search", input);
  heads.forEach((head, column) => {
    if (rows.some(({ row }) => row.cells[column].className === "number")) head.classList.add("number");
    if ("chosen" in head.dataset) addChoice(column);
    const button = make("button", head.textContent);
    button.type = "button";
    button.addEventListener("click", () => sort(column));
    head.replaceChildren(button);
  });
  output.setAttribute("aria-live", "polite");
  all.type = "button";
  all.addEventListener("click", () => { isAll = true; show(); });
  tools.append(output, all);
  table.parentElement.before(tools);
  show();
  return {
    choose(value) {
      const [{ select }] = choices;
      select.value = [...select.options].find((option) => option.dataset.value === value)?.value ?? "";
      input.value = "";
      show();
      select.focus();
    },
  };
}

const equipped = new Map();
for (const table of document.querySelectorAll("table")) {
  if (table.tBodies[0].rows.length >= ROWS_WITH_TOOLS) equipped.set(table.closest("section").id, equip(table));
}
// A number at the top chooses its clusters.
for (const card of document.querySelectorAll("[data-verdict]")) {
  card.addEventListener("click", () => equipped.get("clusters")?.choose(card.dataset.verdict));
}
