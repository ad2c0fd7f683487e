"use strict";
// The page without scripts is complete; this adds plots, filtering, sorting, and opens everything for paper.

const plotItems = JSON.parse(document.getElementById("plot-items").textContent);
Promise.all(plotItems.map((item, number) => Bokeh.embed.embed_item(item, `plot-${number}`))).then(() => {
  document.documentElement.dataset.plots = String(plotItems.length);
});

const form = document.querySelector("form.filter");
const table = document.getElementById("results-table");

if (table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const text = document.getElementById("filter-text");
  const state = document.getElementById("filter-state");
  const partition = document.getElementById("filter-partition");
  const count = document.getElementById("filter-count");

  const filter = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const content = row.textContent.toLowerCase();
      const matches = words.every((word) => content.includes(word))
        && (!state.value || row.dataset.state === state.value)
        && (!partition.value || row.dataset.partition === partition.value);
      row.classList.toggle("filtered", !matches);
      shown += Number(matches);
    }
    count.textContent = `${shown} of ${rows.length} rows`;
  };

  // Numbers sort as numbers and before what has none, in both directions.
  const compare = (column, direction) => (one, other) => {
    const [a, b] = [one, other].map((row) => row.cells[column].dataset.key ?? row.cells[column].textContent);
    if (a === "" || b === "") return Number(a === "") - Number(b === "");
    const difference = Number(a) - Number(b);
    return direction * (Number.isNaN(difference) ? a.localeCompare(b, undefined, { numeric: true }) : difference);
  };

  const sort = (header, column) => {
    const direction = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
    rows.sort(compare(column, direction));
    body.append(...rows);
  };

  [...table.tHead.rows[0].cells].forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    button.addEventListener("click", () => sort(header, column));
    header.replaceChildren(button);
  });

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  filter();
}

const closed = () => document.querySelectorAll("details:not([open]):not(.screen)");
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...closed()];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
