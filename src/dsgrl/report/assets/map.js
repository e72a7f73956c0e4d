// @ts-check
// The map: discs written straight into pixels, so that no graphics card is needed.

const stage = at("stage"), board = at("board"), pen = board.getContext("2d", { alpha: false });
let wide = 1, high = 1, dense = 1, isQueued = false;
/** @type {ImageData} */
let image;
/** @type {Uint32Array} */
let pixels;
// Half the extent of the map along x and y.
let halfX = 1e-9, halfY = 1e-9;
for (let i = 0; i < N; i++) { halfX = Math.max(halfX, Math.abs(xy[2 * i])); halfY = Math.max(halfY, Math.abs(xy[2 * i + 1])); }

function resize() {
  const box = stage.getBoundingClientRect();
  dense = Math.min(window.devicePixelRatio || 1, 2);
  [wide, high] = [box.width, box.height].map((side) => Math.max(1, Math.round(side * dense)));
  Object.assign(board, { width: wide, height: high });
  image = pen.createImageData(wide, high);
  pixels = new Uint32Array(image.data.buffer);
  redraw();
}

/** Pixels per unit of the map. */
const unit = () => view.scale * 0.47 * Math.min(wide / halfX, high / halfY);
/** @param {number} i */
const px = (i) => wide / 2 + (xy[2 * i] - view.x) * unit();
/** @param {number} i */
const py = (i) => high / 2 - (xy[2 * i + 1] - view.y) * unit();

/** Offsets and coverage of the pixels of a disc; smaller where there are many points. */
function disc() {
  const room = 0.22 * Math.sqrt(wide * high / N) / dense;
  const r = Math.min(Math.max(room, 1), 4) * dense * Math.min(Math.max(view.scale, 1) ** 0.35, 2.5);
  const reach = Math.ceil(r), offsets = [], covers = [];
  for (let y = -reach; y <= reach; y++) for (let x = -reach; x <= reach; x++) {
    const cover = Math.min(Math.max(r + 0.5 - Math.hypot(x, y), 0), 1);
    if (cover > 0.1) { offsets.push(y * wide + x); covers.push(Math.round(cover * 255)); }
  }
  return { reach, offsets: Int32Array.from(offsets), covers: Uint8Array.from(covers) };
}

function draw() {
  isQueued = false;
  pixels.fill(pixel(inks.back));
  const { reach, offsets, covers } = disc(), step = unit(), dim = pixel(inks.dim);
  const left = wide / 2 - view.x * step, top = high / 2 + view.y * step;
  for (let pass = 0; pass < 2; pass++) for (let i = 0; i < N; i++) {
    if (isLit[i] !== pass) continue;
    const x = Math.round(left + xy[2 * i] * step), y = Math.round(top - xy[2 * i + 1] * step);
    if (x < reach || y < reach || x >= wide - reach || y >= high - reach) continue;
    const ink = pass ? paint[i] : dim;
    for (let k = 0, base = y * wide + x; k < offsets.length; k++) blend(base + offsets[k], ink, covers[k]);
  }
  drawMarks();
}

/** @param {number} place @param {number} ink @param {number} cover from 0 to 255 */
function blend(place, ink, cover) {
  if (cover === 255) { pixels[place] = ink; return; }
  const below = pixels[place], keep = 255 - cover;
  // Two channels at once; each has a free byte above it.
  const pair = ((ink & 0xff00ff) * cover + (below & 0xff00ff) * keep) >>> 8 & 0xff00ff;
  const green = ((ink >>> 8 & 255) * cover + (below >>> 8 & 255) * keep) & 0xff00;
  pixels[place] = (255 << 24 | pair | green) >>> 0;
}

function redraw() {
  if (!isQueued) { isQueued = true; requestAnimationFrame(draw); }
}

/** Show the points, and on them rings, lines to neighbours and names of clusters. */
function drawMarks() {
  pen.putImageData(image, 0, 0);
  /** @param {number} i @param {number} size @param {number} width */
  const ring = (i, size, width) => { pen.lineWidth = width * dense; pen.beginPath(); pen.arc(px(i), py(i), size * dense, 0, 7); pen.stroke(); };
  pen.strokeStyle = css(inks.text);
  if (selected >= 0) {
    for (const other of near.subarray(selected * K, selected * K + K)) {
      if (other < 0) continue;
      ring(other, 5, 1);
      pen.beginPath(); pen.moveTo(px(selected), py(selected)); pen.lineTo(px(other), py(other)); pen.stroke();
    }
    ring(selected, 8, 3);
  } else if (colour === columns[0] && only < 0 && !matches) writeNames();
  if (hovered >= 0) ring(hovered, 7, 2);
}

/** Rows of every cluster. @type {number[][]} */
const rowsOf = columns[0].names.map(() => []);
valuesOf(columns[0]).forEach((/** @type {number} */ code, /** @type {number} */ i) => { if (code) rowsOf[code - 1].push(i); });
/** Median position and size of every cluster. */
const middles = rowsOf.map((rows) => {
  const [x, y] = [0, 1].map((axis) => Float32Array.from(rows, (i) => xy[2 * i + axis]).sort()[rows.length >> 1]);
  return { x, y, size: rows.length };
});

/** Write names where they do not cover each other. */
function writeNames() {
  Object.assign(pen, { font: `600 ${13 * dense}px system-ui, sans-serif`, textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 4 * dense, strokeStyle: css(inks.back), fillStyle: css(inks.text) });
  const taken = [], tall = 10 * dense;
  middles.forEach(({ x, y, size }, code) => {
    const full = columns[0].names[code], name = full.length > 34 ? `${full.slice(0, 32)}…` : full;
    const half = pen.measureText(name).width / 2 + 4 * dense;
    const cx = Math.min(Math.max(wide / 2 + (x - view.x) * unit(), half), wide - half), cy = high / 2 - (y - view.y) * unit();
    const isHidden = !size || cy < tall || cy > high - tall;
    if (isHidden || taken.some(([a, b, h]) => Math.abs(a - cx) < h + half && Math.abs(b - cy) < 2 * tall)) return;
    taken.push([cx, cy, half]);
    pen.strokeText(name, cx, cy);
    pen.fillText(name, cx, cy);
  });
}

// ---- Which point is where: a grid over the map ----------------------------------------
const cells = Math.ceil(Math.sqrt(N / 2));
/** @param {number} v */
const cell = (v) => Math.min(Math.max(Math.floor((v + 1) / 2 * cells), 0), cells - 1);
const cellOf = ids.map((_, i) => cell(xy[2 * i + 1]) * cells + cell(xy[2 * i]));
const firsts = new Int32Array(cells * cells + 1), members = new Int32Array(N);
for (const c of cellOf) firsts[c + 1]++;
for (let c = 0; c < cells * cells; c++) firsts[c + 1] += firsts[c];
const filled = firsts.slice();
cellOf.forEach((c, i) => { members[filled[c]++] = i; });

/** The nearest lit point to a place on the stage, or -1. @param {{x: number, y: number}} place */
function pick(place) {
  const scale = unit(), x = (place.x * dense - wide / 2) / scale + view.x, y = (high / 2 - place.y * dense) / scale + view.y;
  const reach = REACH * dense / scale;
  let best = reach * reach, found = -1;
  for (let r = cell(y - reach); r <= cell(y + reach); r++) for (let c = cell(x - reach); c <= cell(x + reach); c++)
    for (let k = firsts[r * cells + c]; k < firsts[r * cells + c + 1]; k++) {
      const i = members[k], far = (xy[2 * i] - x) ** 2 + (xy[2 * i + 1] - y) ** 2;
      if (far < best && isLit[i]) { best = far; found = i; }
    }
  return found;
}

// ---- Mouse, fingers and keys ----------------------------------------------------------
/** @type {Map<number, {x: number, y: number}>} */
const held = new Map();
let moved = 0;
/** @param {MouseEvent} event */
const spot = (event) => { const box = stage.getBoundingClientRect(); return { x: event.clientX - box.left, y: event.clientY - box.top }; };

/** @param {number} dx pixels to the right @param {number} dy pixels down */
function pan(dx, dy) {
  view.x -= dx * dense / unit();
  view.y += dy * dense / unit();
  redraw();
}

/** @param {number} factor @param {{x: number, y: number}} [place] what stays where it is */
function zoom(factor, place = { x: wide / dense / 2, y: high / dense / 2 }) {
  const before = unit(), x = (place.x * dense - wide / 2) / before, y = (high / 2 - place.y * dense) / before;
  view.scale = Math.min(Math.max(view.scale * factor, 0.5), 400);
  const share = 1 - before / unit();
  view.x += x * share;
  view.y += y * share;
  redraw();
}

function showAll() {
  Object.assign(view, { scale: 1, x: 0, y: 0 });
  redraw();
}

/** Select the next point in a direction. @param {number} dx @param {number} dy */
function step(dx, dy) {
  const [x, y] = selected < 0 ? [view.x, view.y] : [xy[2 * selected], xy[2 * selected + 1]];
  let best = Infinity, found = selected;
  for (let i = 0; i < N; i++) {
    if (!isLit[i] || i === selected) continue;
    const ax = xy[2 * i] - x, ay = xy[2 * i + 1] - y, ahead = ax * dx + ay * dy, aside = Math.abs(ax * dy - ay * dx);
    const far = selected < 0 ? Math.hypot(ax, ay) : ahead > aside / 2 ? ahead + 2 * aside : Infinity;
    if (far < best) { best = far; found = i; }
  }
  if (found >= 0) select(found);
}

board.addEventListener("pointerdown", (event) => { held.set(event.pointerId, spot(event)); board.setPointerCapture(event.pointerId); moved = 0; });
board.addEventListener("pointermove", (event) => {
  const now = spot(event), before = held.get(event.pointerId);
  if (!before) { hover(pick(now), now); return; }
  moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
  const still = [...held].filter(([number]) => number !== event.pointerId).map(([, place]) => place)[0];
  if (still) zoom(Math.hypot(now.x - still.x, now.y - still.y) / (Math.hypot(before.x - still.x, before.y - still.y) || 1), { x: (now.x + still.x) / 2, y: (now.y + still.y) / 2 });
  else pan(now.x - before.x, now.y - before.y);
  held.set(event.pointerId, now);
});
board.addEventListener("pointerup", (event) => { if (moved < 6 && held.size === 1) select(pick(spot(event))); held.delete(event.pointerId); });
board.addEventListener("pointercancel", (event) => held.delete(event.pointerId));
board.addEventListener("pointerleave", () => hover(-1));
board.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-Math.max(-120, Math.min(120, event.deltaY)) / 300), spot(event)); }, { passive: false });
board.addEventListener("keydown", (event) => {
  const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
  if (arrow && event.shiftKey) pan(-60 * arrow[0], 60 * arrow[1]);
  else if (arrow) step(arrow[0], arrow[1]);
  else if (event.key === "+" || event.key === "=") zoom(1.4);
  else if (event.key === "-") zoom(1 / 1.4);
  else if (event.key === "0") showAll();
  else if (event.key === "Escape") select(-1);
  else return;
  event.preventDefault();
});
