// The page is complete without scripts. This script adds plots, filters and sorting, and unfolds everything for paper.

const plotItems = JSON.parse(document.getElementById("plot-items").textContent);
Promise.all(plotItems.map((item, number) => Bokeh.embed.embed_item(item, `plot-${number}`))).then(() => {
  document.documentElement.dataset.plots = String(plotItems.length);
});

const form = document.getElementById("filter-text")?.form;
const tables = [...document.querySelectorAll("table.sortable")];

// Numbers sort as numbers, and before cells without a number in both directions.
const compare = (column, direction) => (one, other) => {
  const [a, b] = [one, other].map((row) => row.cells[column].dataset.key ?? row.cells[column].textContent);
  if (a === "" || b === "") return Number(a === "") - Number(b === "");
  const difference = Number(a) - Number(b);
  return direction * (Number.isNaN(difference) ? a.localeCompare(b, undefined, { numeric: true }) : difference);
};

for (const table of tables) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    button.addEventListener("click", () => {
      const direction = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of headers) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare(column, direction)));
    });
    header.replaceChildren(button);
  });
}

if (form) {
  const text = document.getElementById("filter-text");
  const state = document.getElementById("filter-state");
  const partition = document.getElementById("filter-partition");
  const count = document.getElementById("filter-count");
  const unfold = document.getElementById("unfold");
  const groups = [...document.querySelectorAll("details.group")];
  const first = groups.map((group) => group.open);
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]).map((row) => {
    const nodes = row.querySelector(".ran-on").textContent;
    const others = [...row.cells].filter((cell) => !cell.classList.contains("ran-on"));
    const check = row.closest(".group").querySelector(".check");
    const content = [check, ...others].map((cell) => cell.textContent).join(" ").toLowerCase();
    return { row, nodes, ranOn: nodeLists.holds(nodes), content };
  });

  // A word that names nodes of this run finds the rows of these nodes. Any other word is searched in all cells.
  const finder = (word) => {
    const names = nodeLists.names(word);
    const where = rows.filter(({ ranOn }) => names.some(ranOn));
    if (where.length) {
      const found = new Set(where);
      return (entry) => found.has(entry) || entry.content.includes(word.toLowerCase());
    }
    return (entry) => `${entry.content} ${entry.nodes}`.toLowerCase().includes(word.toLowerCase());
  };

  const filter = () => {
    const finders = text.value.split(/\s+/).filter(Boolean).map(finder);
    const chosen = finders.length || state.value || partition.value;
    let shown = 0;
    for (const entry of rows) {
      const { row } = entry;
      const matches = finders.every((finds) => finds(entry))
        && (!state.value || row.dataset.state === state.value)
        && (!partition.value || row.dataset.partition === partition.value);
      row.classList.toggle("filtered", !matches);
      shown += Number(matches);
    }
    groups.forEach((group, number) => {
      const any = group.querySelector("tbody tr:not(.filtered)") !== null;
      group.classList.toggle("filtered", !any);
      group.open = chosen ? any : first[number];
    });
    count.textContent = `${shown} of ${rows.length} rows`;
  };

  unfold.addEventListener("click", () => {
    const folded = groups.some((group) => !group.open);
    for (const group of groups) group.open = folded;
    unfold.textContent = folded ? "Fold all" : "Unfold all";
  });
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  filter();
}

// Show the node of a strip under the pointer.
for (const tip of document.querySelectorAll(".tip")) {
  const nodes = JSON.parse(tip.dataset.nodes);
  const field = tip.parentElement;
  field.addEventListener("pointermove", (event) => {
    const { left, width } = field.getBoundingClientRect();
    const at = (event.clientX - left) / width * 1000;
    const [x, name, value] = nodes.reduce((best, one) => (Math.abs(one[0] - at) < Math.abs(best[0] - at) ? one : best));
    tip.textContent = `${name}: ${value} ${tip.dataset.unit}`;
    tip.style.left = `${x / 10}%`;
    tip.style.transform = `translateX(-${x / 10}%)`;
    tip.hidden = false;
  });
  field.addEventListener("pointerleave", () => { tip.hidden = true; });
}

const closed = () => document.querySelectorAll("details:not([open]):not(.screen)");
// A plot keeps its drawn size. Paper shows it smaller: three columns of A4 and four rows, in pixels.
const COLUMN = 228;
const ROW = 185;
const onPaper = ({ offsetWidth, offsetHeight }) => Math.min(1, COLUMN / offsetWidth, Math.max(ROW / offsetHeight, 0.45));
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...closed()];
  for (const details of opened) details.open = true;
  for (const canvas of document.querySelectorAll(".canvas")) canvas.style.zoom = onPaper(canvas);
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
  for (const canvas of document.querySelectorAll(".canvas")) canvas.style.zoom = "";
});
// Unfold the target of the page's address.
const unfoldTarget = () => {
  const folded = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest("details");
  if (folded) folded.open = true;
};
addEventListener("hashchange", unfoldTarget);
unfoldTarget();
