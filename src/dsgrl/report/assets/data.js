// @ts-check
// The data of a page. These scripts are one, in the order data, colours, map, table.
"use strict";

/** @typedef {{type: string, data: string}} Packed */
/** A property of the rows: numbers; codes from 1 with `names`, 0 for unknown; or, with
 * `rows`, numbers of these rows only (1 without `values`), 0 elsewhere.
 * @typedef {{name: string, values?: any, names?: string[], rows?: any, isReady?: boolean}} Column */

/** @param {string} id @returns {any} */
const at = (id) => document.getElementById(id);
const KINDS = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array };
const NUM_COLOURS = 10, PAGE = innerWidth < 760 ? 10 : 25, LEGEND_MOST = 100, TIP_NEAR = 5, WORDS_SHOWN = 30, REACH = 14;

/** @param {Packed} packed @returns {any} */
function unpack(packed) {
  const text = atob(packed.data), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new KINDS[packed.type](bytes.buffer);
}

/** Make an element; text is never read as HTML.
 * @param {string} tag @param {string} [text] @param {Record<string, string>} [attributes] @returns {any} */
function make(tag, text = "", attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** @param {string} text @param {() => void} action @param {string} [look] */
function makeButton(text, action, look = "plain") {
  const button = make("button", text, { type: "button", class: look });
  button.onclick = action;
  return button;
}

const data = JSON.parse(at("data").textContent);
/** @type {string[]} */
const ids = data.ids;
const N = ids.length, xy = unpack(data.position), near = unpack(data.near), alike = unpack(data.alike);
const K = near.length / N;
/** @type {Column[]} */
const columns = data.columns;
const basic = columns.slice(0, data.basic), features = columns.slice(data.basic);
const label = columns.find((column) => column.name === "label" && column.names);
/** @param {number} i */
const nameOf = (i) => ids[i] || "(empty id)";
const texts = ids.map((id) => id.toLowerCase());
/** @param {number} number */
const short = (number) => Number.isInteger(number) ? String(number).replace(/\B(?=(\d{3})+$)/g, ",") : String(+number.toPrecision(4));

/** Unpack a column when it is first used. @param {Column} column */
function ready(column) {
  if (!column.isReady) {
    if (column.rows) column.rows = unpack(column.rows);
    if (column.values) column.values = unpack(column.values);
    column.isReady = true;
  }
  return column;
}

/** The value of every row. @param {Column} column */
function valuesOf(column) {
  const { rows, values } = ready(column);
  if (!rows) return values;
  const all = new Float32Array(N);
  for (let k = 0; k < rows.length; k++) all[rows[k]] = values ? values[k] : 1;
  return all;
}

/** @param {Column} column @param {number} row @returns {number} */
function valueAt(column, row) {
  const { rows, values } = ready(column);
  if (!rows) return values[row];
  let low = 0, high = rows.length;
  while (low < high) { const mid = (low + high) >> 1; if (rows[mid] < row) low = mid + 1; else high = mid; }
  return rows[low] === row ? (values ? values[low] : 1) : 0;
}

/** @param {Column} column @param {number} row */
function inWords(column, row) {
  const value = valueAt(column, row);
  if (column.names) return value ? column.names[value - 1] : "unknown";
  return Number.isNaN(value) ? "unknown" : short(value);
}
