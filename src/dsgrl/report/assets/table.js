// @ts-check
// What is told of a point, the table and the search; then everything is started.

/** @param {number} i @param {{x: number, y: number}} [place] */
function hover(i, place = { x: 0, y: 0 }) {
  hovered = i;
  const tip = at("tip"), box = stage.getBoundingClientRect();
  tip.hidden = i < 0;
  if (i >= 0) {
    tip.replaceChildren(make("b", nameOf(i)));
    for (const column of new Set([label, colour])) if (column) tip.append(make("div", `${column.name}: ${inWords(column, i)}`));
    const others = [...near.subarray(i * K, i * K + TIP_NEAR)].filter((j) => j >= 0).map(nameOf);
    if (others.length) tip.append(make("div", `nearest: ${others.join(", ")}`));
    const isLow = place.y + 16 + tip.offsetHeight > box.height;
    tip.style.left = `${Math.max(4, Math.min(place.x + 14, box.width - tip.offsetWidth - 6))}px`;
    tip.style.top = `${isLow ? Math.max(4, place.y - tip.offsetHeight - 10) : place.y + 14}px`;
  }
  drawMarks();
}

/** @param {number} i -1 for none */
function select(i) {
  selected = i;
  if (i < 0) at("details").replaceChildren(make("p", "Click a point, or a row of the table.", { class: "quiet" }));
  else {
    const list = make("dl"), others = make("ol");
    for (const column of basic) list.append(make("dt", column.name), make("dd", inWords(column, i)));
    const has = features.filter((column) => valueAt(column, i)).slice(0, WORDS_SHOWN);
    const words = has.map((column) => valueAt(column, i) === 1 ? column.name : `${column.name} ${inWords(column, i)}`);
    if (words.length) list.append(make("dt", "has"), make("dd", words.join(", ")));
    for (let k = i * K; k < i * K + K; k++) {
      if (near[k] < 0) continue;
      const item = others.appendChild(make("li"));
      item.append(makeButton(nameOf(near[k]), () => select(near[k])), make("span", ` ${(alike[k] / 255).toFixed(2)}`, { class: "number" }));
    }
    at("details").replaceChildren(make("b", nameOf(i)), list, make("div", "Nearest, with cosine similarity:"), others);
    if (px(i) < 0 || py(i) < 0 || px(i) > wide || py(i) > high) [view.x, view.y] = [xy[2 * i], xy[2 * i + 1]];
  }
  redraw();
  fillTable();
}

// ---- Table and search -----------------------------------------------------------------
let listed = [...ids.keys()], first = 0, sortBy = -2, isDown = false;

function fillTable() {
  const head = make("tr"), thead = make("thead"), body = make("tbody");
  [null, ...basic].forEach((column, number) => {
    const th = make("th", "", { scope: "col", class: column && !column.names ? "num" : "" }), isNow = sortBy === number - 1;
    if (isNow) th.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    th.append(makeButton(`${column ? column.name : "id"}${isNow ? (isDown ? " ▼" : " ▲") : ""}`, () => { isDown = isNow && !isDown; sortBy = number - 1; arrange(); }, "sort"));
    head.append(th);
  });
  for (const i of listed.slice(first, first + PAGE)) {
    const row = body.appendChild(make("tr", "", { class: i === selected ? "chosen" : "" })), td = make("td");
    td.append(makeButton(nameOf(i), () => select(i)));
    row.append(td, ...basic.map((column) => make("td", inWords(column, i), { class: column.names ? "" : "num" })));
  }
  thead.append(head);
  at("rows").replaceChildren(thead, body);
  at("place").textContent = listed.length ? `${short(first + 1)} to ${short(Math.min(first + PAGE, listed.length))} of ${short(listed.length)}` : "no match";
  at("back").disabled = first === 0;
  at("next").disabled = first + PAGE >= listed.length;
}

/** Filter and sort the table anew. */
function arrange() {
  listed = [...ids.keys()].filter((i) => !matches || matches[i]);
  if (sortBy >= -1) {
    const column = basic[sortBy], key = column ? valuesOf(column) : ids;
    /** @type {(i: number) => any} */
    const worth = column && column.names ? (i) => column.names[key[i] - 1] || "" : (i) => key[i];
    const compare = column && !column.names ? (a, b) => a - b : new Intl.Collator().compare;
    listed.sort((a, b) => (isDown ? -1 : 1) * compare(worth(a), worth(b)) || a - b);
  }
  first = 0;
  fillTable();
}

function search() {
  const wanted = at("search").value.trim().toLowerCase();
  const hits = label ? label.names.map((name) => name.toLowerCase().includes(wanted)) : [];
  const codes = label ? valuesOf(label) : [];
  matches = wanted ? Uint8Array.from(texts, (text, i) => text.includes(wanted) || hits[codes[i] - 1] ? 1 : 0) : null;
  arrange();
  at("found").textContent = wanted ? `${short(listed.length)} found` : "";
  relight();
}

// ---- Start ----------------------------------------------------------------------------
at("closer").onclick = () => zoom(1.5);
at("farther").onclick = () => zoom(1 / 1.5);
at("whole").onclick = showAll;
at("search").oninput = search;
at("search").onkeydown = (event) => {
  if (event.key !== "Enter" || !listed.length) return;
  const exact = texts.indexOf(at("search").value.trim().toLowerCase());
  select(exact >= 0 ? exact : listed[0]);
};
at("back").onclick = () => { first = Math.max(0, first - PAGE); fillTable(); };
at("next").onclick = () => { first += PAGE; fillTable(); };
at("colour").onchange = (event) => { colour = columns[event.target.value]; only = -1; recolour(); };
const night = matchMedia("(prefers-color-scheme: dark)");
at("theme").onclick = () => {
  const theme = document.documentElement.dataset.theme || (night.matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme === "dark" ? "light" : "dark";
  recolour();
};
night.addEventListener("change", recolour);

columns.forEach((column, i) => at("colour").append(make("option", column.name, { value: String(i) })));
readInks();
resize();
recolour();
arrange();
new ResizeObserver(resize).observe(stage);
requestAnimationFrame(() => { document.documentElement.dataset.ready = String(Math.round(performance.now())); });
