// Draw series over nights, and any series that the reader chooses, with one time cursor through all plots.

const trends = JSON.parse(document.getElementById("trend-data").textContent);
const moments = trends.days.map((day) => Date.parse(day));
const acrossTime = (day) => {
  const span = moments[moments.length - 1] - moments[0];
  return span ? 20 + 960 * (moments[day] - moments[0]) / span : 500;
};
const readable = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const text = (value) => readable.format(value).replaceAll(",", "\u202f");

const element = (parent, name, className, content = "") => {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = content;
  parent.append(made);
  return made;
};

// Return the lowest and highest value to draw, with near bounds.
const range = ({ values, lower, upper }) => {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const span = Math.max(high - low, 0.05 * Math.max(Math.abs(low), Math.abs(high))) || 1;
  for (const bound of [lower, upper]) {
    if (bound !== null && low - 2 * span <= bound && bound <= high + 2 * span) {
      low = Math.min(low, bound);
      high = Math.max(high, bound);
    }
  }
  return [low - 0.1 * span, high + 0.1 * span];
};

const steps = (low, high) => {
  const rough = (high - low) / 4;
  const decade = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * decade).find((one) => one >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, number) => (first + number) * step);
};

const draw = (box, one) => {
  const [low, high] = range(one);
  const y = (value) => 1000 * (high - value) / (high - low);
  const outside = (value) => (one.lower !== null && value < one.lower) || (one.upper !== null && value > one.upper);
  element(box, "p", "y-title", one.unit);
  const ticks = element(box, "div", "ticks");
  const field = element(box, "div", "field");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 1000 1000");
  svg.setAttribute("preserveAspectRatio", "none");
  field.append(svg);
  const path = (className, d) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", "path");
    made.setAttribute("class", className);
    made.setAttribute("d", d);
    svg.append(made);
  };
  for (const tick of steps(low, high)) {
    path("grid", `M0 ${y(tick)}H1000`);
    element(ticks, "span", "", text(tick)).style.top = `${y(tick) / 10}%`;
  }
  for (const [bound, sign] of [[one.lower, "≥"], [one.upper, "≤"]]) {
    if (bound === null) continue;
    if (low <= bound && bound <= high) path("bound", `M0 ${y(bound)}H1000`);
    else element(field, "span", `far ${bound < low ? "bottom" : "top"}`, `${sign} ${text(bound)}, outside the plot`);
  }
  for (const change of one.changes) path("change", `M${acrossTime(change)} 0V1000`);
  for (const [first, last, level] of one.levels) path("level", `M${acrossTime(first)} ${y(level)}H${acrossTime(last)}`);
  path("line", one.days.map((day, number) => `${number ? "L" : "M"}${acrossTime(day)} ${y(one.values[number])}`).join(""));
  for (const bad of [false, true]) {
    const dots = one.values.map((value, number) => [one.days[number], value]).filter(([, value]) => outside(value) === bad);
    path(bad ? "dots out" : "dots", dots.map(([day, value]) => `M${acrossTime(day)} ${y(value)}h0`).join(""));
  }
  const dates = element(box, "p", "dates");
  for (const day of new Set([0, trends.days.length >> 1, trends.days.length - 1])) {
    const place = acrossTime(day) / 10;
    const date = element(dates, "span", "", trends.days[day]);
    date.style.left = `${place}%`;
    date.style.transform = `translateX(-${place}%)`;
  }
  const cursor = element(field, "span", "cursor");
  const read = element(field, "span", "tip");
  cursor.hidden = read.hidden = true;
  field.addEventListener("pointermove", (event) => {
    const { left, width } = field.getBoundingClientRect();
    point(1000 * (event.clientX - left) / width);
  });
  field.addEventListener("pointerleave", () => point(null));
  return (day) => {
    cursor.hidden = read.hidden = day === null;
    if (day === null) return;
    const values = one.values.filter((_, number) => one.days[number] === day);
    const place = acrossTime(day) / 10;
    cursor.style.left = read.style.left = `${place}%`;
    read.style.transform = `translateX(-${place}%)`;
    read.textContent = `${trends.days[day]}: ${values.map((value) => text(value) + (outside(value) ? " ✘" : "")).join(", ") || "no value"}`;
  };
};

let readers = [];
const point = (at) => {
  const days = moments.map((_, day) => day);
  const nearest = at === null ? null
    : days.reduce((best, day) => (Math.abs(acrossTime(day) - at) < Math.abs(acrossTime(best) - at) ? day : best), 0);
  for (const read of readers) read(nearest);
};

for (const box of document.querySelectorAll("[data-trend]")) readers.push(draw(box, trends.series[Number(box.dataset.trend)]));

const choice = document.getElementById("trend-choice");
if (choice) {
  const filter = document.getElementById("trend-filter");
  const place = document.getElementById("trend-chosen");
  const offer = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = trends.series.map((one, number) => [one, number])
      .filter(([one]) => words.every((word) => one.title.toLowerCase().includes(word)));
    choice.replaceChildren(new Option(`${found.length} of ${trends.series.length} series: choose one`, ""),
      ...found.map(([one, number]) => new Option(`${one.worse ? "✘ " : ""}${one.title}`, number)));
  };
  filter.addEventListener("input", offer);
  choice.addEventListener("change", () => {
    if (choice.value === "") return;
    const one = trends.series[Number(choice.value)];
    const figure = document.createElement("figure");
    figure.className = "plot";
    place.prepend(figure);
    element(figure, "figcaption", "", one.title);
    const box = element(figure, "div", "strip trend");
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", `${one.title}; ${one.caption}`);
    readers.push(draw(box, one));
    element(figure, "p", "note", one.caption);
    choice.value = "";
  });
  choice.form.addEventListener("submit", (event) => event.preventDefault());
  choice.form.hidden = false;
  offer();
}
document.documentElement.dataset.trends = String(readers.length);
