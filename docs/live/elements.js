"use strict";
// What the lessons that compute and the playground are drawn with.

// ---- Elements ----
const make = (space, tag, attributes, children) => {
  const made = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const html = (tag, attributes = {}, ...children) => make(null, tag, attributes, children);
const svg = (tag, attributes = {}, ...children) => make("http://www.w3.org/2000/svg", tag, attributes, children);
const rounded = (x, digits) => typeof x !== "number" ? String(x) : x === 0 ? "0" :
  Math.abs(x) >= 1e4 || Math.abs(x) < 1e-3 ? x.toExponential(1) : String(+x.toPrecision(digits));
const short = x => rounded(x, 3);

function labelled(text, control) { return html("label", {}, text + " ", control); }
function choice(name, values, chosen) {
  const made = html("select", {name}, ...values.map(([value, text = value]) => html("option", {value}, text)));
  made.value = chosen;
  return made;
}
function check(name, checked = false) {
  const made = html("input", {type: "checkbox", name});
  made.checked = checked;
  return made;
}
function slider(name, min, max, step, value) { return html("input", {type: "range", name, min, max, step, value}); }
function button(text, action) {
  const made = html("button", {type: "button"}, text);
  made.addEventListener("click", action);
  return made;
}
function listen(elements, action) {
  elements.forEach(each => each.addEventListener(each.tagName === "SELECT" ? "change" : "input", action));
}
const controls = (...children) => html("div", {class: "controls"}, ...children);

// ---- Charts ----
const width = 340, height = 190, left = 46, right = 10, top = 26, bottom = 28;

function ticks(low, high) {
  const unit = 10 ** Math.floor(Math.log10((high - low) / 2));
  const step = [1, 2, 5, 10].map(each => each * unit).find(each => (high - low) / each <= 5);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(at);
  return found;
}

// 1, 2 and 5 times powers of ten, or for a wide range these powers alone; as their logarithms.
function log_ticks(low, high) {
  if (high - low > 2.5) return ticks(low, high).filter(Number.isInteger);
  return [-2, -1, 0, 1, 2, 3].flatMap(i => [1, 2, 5].map(each => Math.floor(low) + i + Math.log10(each))).filter(at => low <= at && at <= high);
}

// A curve of points [x, y], and a faint one of those before.
function chart({title, across, color, points, before, log = false}) {
  const height_of = y => log ? Math.log10(Math.max(y, 1e-300)) : y;
  const all = [...points, ...before].filter(([, y]) => Number.isFinite(y));
  let [low, high] = [Math.min(...all.map(p => height_of(p[1]))), Math.max(...all.map(p => height_of(p[1])))];
  if (!all.length) [low, high] = [0, 1];
  const least = log ? 1 : 1e-9;  // a decade, so that what is nearly level looks so
  if (high - low < least) [low, high] = [(low + high - 1) / 2, (low + high + 1) / 2];
  const last = Math.max(1, ...all.map(p => p[0]));
  const to = ([x, y]) => [left + x / last * (width - left - right),
                          height - bottom - (height_of(y) - low) / (high - low) * (height - top - bottom)];
  const words = points.length ? `${title}: from ${short(points[0][1])} to ${short(points[points.length - 1][1])}` : title;
  const made = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words});
  made.append(svg("text", {x: left, y: 14, class: "strong"}, title));
  const digits = log ? 3 : Math.max(3, 2 + Math.ceil(Math.log10(Math.max(-low, high) / (high - low))));  // so that no two are equal
  for (const at of (log ? log_ticks : ticks)(low, high)) {
    const y = to([0, log ? 10 ** at : at])[1];
    made.append(svg("line", {x1: left, x2: width - right, y1: y, y2: y, class: "grid"}),
                svg("text", {x: left - 5, y: y + 4, class: "end"}, rounded(log ? 10 ** at : at, digits)));
  }
  for (const at of ticks(0, last))
    made.append(svg("text", {x: to([at, 1])[0], y: height - bottom + 14, class: "middle"}, short(at)));
  made.append(svg("text", {x: width - right, y: height - 4, class: "end"}, across));
  const curve = (points, kind) => svg("polyline", {class: `curve ${kind}`, points: points
    .filter(([, y]) => Number.isFinite(y)).map(p => to(p).map(x => x.toFixed(1)).join(",")).join(" ")});
  if (before.length) made.append(curve(before, "faint"));
  made.append(curve(points, color));
  return made;
}
