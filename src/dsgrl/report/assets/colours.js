// @ts-check
// Colours of the points, and the legend.

const view = { scale: 1, x: 0, y: 0 };
let colour = columns[0], values = valuesOf(colour), only = -1, selected = -1, hovered = -1;
/** Rows that were searched for. @type {Uint8Array | null} */
let matches = null;
const paint = new Uint32Array(N), isLit = new Uint8Array(N);
/** Colours of the style in the current theme, by name. @type {Record<string, number[]>} */
let inks = {};
/** @type {number[]} */
let counts = [];

/** @param {number[]} c */
const css = (c) => `rgb(${c.join(" ")})`;
/** @param {number[]} c */
const pixel = (c) => (255 << 24 | c[2] << 16 | c[1] << 8 | c[0]) >>> 0;
/** @param {number} rank */
const inkOf = (rank) => inks[rank >= 0 && rank < NUM_COLOURS ? `c${rank}` : "other"];

function readInks() {
  const names = ["other", "dim", "text", "back", "r0", "r1", "r2", "r3", "r4"];
  for (let i = 0; i < NUM_COLOURS; i++) names.push(`c${i}`);
  const probes = document.body.appendChild(make("div"));
  probes.append(...names.map((name) => make("i", "", { style: `color: var(--${name})` })));
  names.forEach((name, i) => { inks[name] = (getComputedStyle(probes.children[i]).color.match(/[\d.]+/g) || []).slice(0, 3).map(Number); });
  probes.remove();
}

/** Give every point its colour and write the legend. */
function recolour() {
  readInks();
  values = valuesOf(colour);
  if (colour.names) paintCategories(); else paintNumbers();
  relight();
}

function paintCategories() {
  counts = new Array(colour.names.length + 1).fill(0);
  for (let i = 0; i < N; i++) counts[values[i]]++;
  const order = colour.names.map((_, i) => i + 1);
  // Clusters keep the colours of their cards; others get them by size.
  if (colour !== columns[0]) order.sort((a, b) => counts[b] - counts[a]);
  const ranks = new Array(counts.length).fill(-1);
  order.forEach((code, rank) => { ranks[code] = rank; });
  const colours = ranks.map((rank) => pixel(inkOf(rank)));
  for (let i = 0; i < N; i++) paint[i] = colours[values[i]];
  const shown = order.filter((code) => counts[code]).slice(0, LEGEND_MOST);
  at("legend").replaceChildren(...[...shown, ...(counts[0] ? [0] : [])].map((code) => {
    const button = makeButton("", () => { only = only === code ? -1 : code; recolour(); }, "entry");
    const swatch = make("span", "", { class: "swatch" });
    swatch.style.background = css(inkOf(ranks[code]));
    button.setAttribute("aria-pressed", String(only === code));
    button.append(swatch, make("span", code ? colour.names[code - 1] : "unknown"), make("span", short(counts[code]), { class: "number" }));
    return button;
  }));
  if (order.length > LEGEND_MOST) at("legend").append(make("p", `and ${order.length - LEGEND_MOST} more`, { class: "quiet" }));
}

function paintNumbers() {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort(), count = sorted.length;
  // The far ends share a colour, so that an outlier does not hide all else.
  let low = sorted[Math.floor(0.01 * count)], top = sorted[Math.ceil(0.99 * count) - 1];
  if (!(top > low)) [low, top] = [sorted[0], sorted[count - 1]];
  const ramp = [...Array(256).keys()].map((i) => {
    const share = i / 255 * 4, k = Math.min(Math.floor(share), 3), [a, b] = [inks[`r${k}`], inks[`r${k + 1}`]];
    return pixel(a.map((c, j) => Math.round(c + (b[j] - c) * (share - k))));
  });
  const unknown = pixel(inks.other), factor = 255 / (top - low || 1);
  for (let i = 0; i < N; i++) {
    const v = values[i];
    paint[i] = Number.isNaN(v) ? unknown : ramp[Math.round(Math.min(Math.max((v - low) * factor, 0), 255))];
  }
  const ends = make("div", "", { class: "ends" });
  ends.append(make("span", `${short(low)}${low > sorted[0] ? " or less" : ""}`), make("span", `${short(top)}${top < sorted[count - 1] ? " or more" : ""}`));
  at("legend").replaceChildren(make("div", "", { class: "ramp" }), ends);
  if (count < N) at("legend").append(make("p", `Grey: unknown (${short(N - count)})`, { class: "quiet" }));
}

/** Dim what is not searched for or not of the chosen category. */
function relight() {
  for (let i = 0; i < N; i++) isLit[i] = (!matches || matches[i]) && (only < 0 || values[i] === only) ? 1 : 0;
  redraw();
}
