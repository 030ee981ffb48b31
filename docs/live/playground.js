"use strict";
// The playground: settings and drawing. What is computed, the engine computes in a worker: see playground.h.
(() => {
const root = document.getElementById("playground_page"), status = html("p", {"aria-live": "polite", class: "faint", name: "status"});
const copy = value => JSON.parse(JSON.stringify(value));
const slow = matchMedia("(prefers-reduced-motion: reduce)").matches;
const longest_address = 16000;

// ---- The worker ----
let worker, waiting = new Map(), asked = 0;

function start_worker() {
  const source = [document.getElementById("engine").textContent, `
    const begun = {};
    const engine_of = precision => begun[precision] ||= (engines[precision] || engines.double)();
    onmessage = ({data: [number, precision, request]}) => engine_of(precision).then(engine => postMessage([number, engine.ccall("answer", "string", ["string"], [request])]))
      .catch(error => setTimeout(() => { throw error; }));`];
  const address = URL.createObjectURL(new Blob(source, {type: "text/javascript"}));
  worker = new Worker(address);
  worker.onmessage = ({data: [number, answer]}) => {
    const {resolve, reject} = waiting.get(number), found = JSON.parse(answer);
    waiting.delete(number);
    if (found.error) reject(new Error(found.error));
    else resolve(found);
  };
  worker.onerror = event => {  // such as memory that is not there: a new worker, with the net as it was
    event.preventDefault();
    worker.terminate();
    const lost = waiting;
    waiting = new Map();
    if (built) start_worker();
    for (const {reject} of lost.values()) reject(new Error(event.message));
    if (built) act(async () => {
      await load(state());
      say(`The engine stopped (${event.message}) and was started again.`, true);
    });
  };
}
const ask = request => new Promise((resolve, reject) => {
  waiting.set(++asked, {resolve, reject});
  worker.postMessage([asked, {...built, ...request, ...request.settings}.precision || "double", JSON.stringify({compute: "playground", ...request})]);
});

// Actions wait for each other, so that what is shown is the net's.
let chain = Promise.resolve(), busy = 0;
function act(action) {
  ++busy;
  chain = chain.then(action).catch(error => {
    running = false;
    run_button.textContent = "Run";
    say(error.message, true);
  }).finally(() => { --busy; });
  return chain;
}
function say(words, failed = false) {
  status.textContent = words;
  status.className = failed ? "red" : "faint";
}

// ---- The run ----
const empty = () => ({loss: [], accuracy: [], common: [], length: []});
let settings, built, step = 0, curves = empty(), before = empty(), before_of, running = false, blocks = [], names, shown = {};

// The run that was, in grey; of a run that is rewound, its longest part.
function keep_before() {
  if (before_of === built && before.loss.length > curves.loss.length) return;
  before = curves;
  before_of = built;
}

function enter({step: now, losses = [], accuracy, common, length, stopped}) {
  losses.forEach((loss, i) => curves.loss.push([now - losses.length + i + 1, loss]));
  step = now;
  for (const [key, value] of Object.entries({accuracy, common, length})) curves[key].push([now, value]);
  if (stopped) {
    running = false;
    say("Stopped at " + stopped, true);
  }
}
const until = (of, end) => Object.fromEntries(Object.entries(of).map(([key, run]) => [key, run.filter(([at]) => at <= end)]));

// Builds the net of the settings. The last net that fits goes on. A fork keeps the curve of what it forks in grey.
async function build() {
  const wanted = copy(settings), answer = await ask({do: "build", settings: wanted});  // they may change while one waits
  blocks = answer.blocks;
  if (answer.fits) {
    const has_begun = !(wanted.fork && built && built.fork && step === wanted.fork.at), other_data = !built || built.data.kind !== wanted.data.kind;
    if (curves.loss.length && has_begun) keep_before();
    curves = wanted.fork ? until(before, wanted.fork.at) : empty();
    built = wanted;
    shown = answer.shown;
    enter(answer);
    say(answer.added && answer.added.length ? `New, with values by the seed: ${answer.added.join(", ")}.` : "");
    for (const view of [program_view, tape_view, check_view]) view.replaceChildren();  // they were of another net
    if (other_data || built.data.kind === "text") draw_own();
  } else {
    say("This net does not fit; the last one that fits goes on.", true);
  }
  draw_net();
  if (built) await draw();
}

let share = 4, computing = 0;  // steps between two pictures, and the time they took
async function take(count) {
  const begin = performance.now(), answer = await ask({do: "steps", count});
  computing = performance.now() - begin;
  enter(answer);
  await draw();
}
async function rewind(to) {
  const answer = await ask({do: "rewind", to});
  keep_before();
  curves = until(curves, to);
  for (const key of ["accuracy", "common", "length"]) curves[key] = curves[key].filter(([at]) => at < to);
  enter(answer);
  await draw();
}
async function load(state) {
  settings = copy(state.settings);
  start_choice.value = Object.keys(starts).find(name => starts[name] === state.settings) || "";
  before = curves = empty();
  draw_settings();
  await build();
  const end = state.step || 0;
  while (step < end) {  // in parts, to be seen
    const from = step;
    await take(Math.min(200, end - step));
    if (step === from) break;
  }
}
async function go_on() {
  if (!running) return;
  await take(share);
  share = Math.max(1, Math.min(500, Math.round(share * Math.min(2, Math.max(.5, (slow ? 500 : 60) / computing)))));
  if (running) requestAnimationFrame(() => act(go_on));
  else await look();
}
function set_running(on) {
  running = on;
  run_button.textContent = on ? "Pause" : "Run";
  if (on) act(go_on);
}
const paused = action => { set_running(false); act(action); return act(look); };

// ---- Drawing ----
const views = html("div", {class: "panels"}), histograms = html("div"), own = html("div", {class: "panel"}), program_view = html("div"), tape_view = html("div"), check_view = html("div");
const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const thin = run => { const by = Math.ceil(run.length / 300); return run.filter((_, i) => i % by === 0 || i === run.length - 1); };

async function draw() {
  run_button.textContent = running ? "Pause" : "Run";
  position.min = built.fork ? built.fork.at : 0;
  position.max = Math.max(step, before.loss.length ? before.loss.at(-1)[0] : 0);
  position.value = step;
  position.setAttribute("aria-valuetext", `step ${step}`);
  counter.textContent = `step ${step}`;
  views.replaceChildren(...[["loss", "Loss of the batch", "red"], ["accuracy", "Accuracy, other examples", "blue"], ["common", "Common mode of weights", "blue"],
    ["length", "Length of weights", "blue"]].map(([key, title, color]) =>
      html("div", {class: "panel"}, chart({title, across: "step", color, points: thin(curves[key]), before: thin(before[key])}))));
  if (built.data.kind === "points") await draw_plane();
}

// Where each class is found, and the points.
const arrows = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
const cursor = [0, 0];  // where the keyboard adds a point
const plane = html("canvas", {width: 400, height: 400, role: "application", tabindex: 0});
async function draw_plane() {
  const {side, values} = await ask({do: "field"}), pen = plane.getContext("2d"), cell = plane.width / side;
  pen.clearRect(0, 0, plane.width, plane.height);
  values.forEach((p, i) => {
    if (typeof p !== "number") return;
    pen.globalAlpha = .1 + Math.abs(p - .5);
    pen.fillStyle = color(p > .5 ? "--link" : "--word");
    pen.fillRect(i % side * cell, Math.floor(i / side) * cell, cell, cell);
  });
  pen.globalAlpha = 1;
  for (const [x, y, label] of shown.points || []) {
    pen.beginPath();
    const [a, b] = [(x / 1.2 + 1) / 2 * plane.width, (1 - y / 1.2) / 2 * plane.height];
    if (label) pen.rect(a - 3, b - 3, 6, 6); else pen.arc(a, b, 3.5, 0, 7);
    pen.fillStyle = color(label ? "--link" : "--word");
    pen.fill();
    pen.strokeStyle = color("--back");
    pen.stroke();
  }
  if (document.activeElement === plane) {
    pen.strokeStyle = color("--text");
    pen.strokeRect((cursor[0] / 1.2 + 1) / 2 * plane.width - 6, (1 - cursor[1] / 1.2) / 2 * plane.height - 6, 12, 12);
  }
  const share = values.filter(p => p > .5).length / values.length;
  plane.setAttribute("aria-label", `The plane: class 1 on ${Math.round(100 * share)} percent of it, ${(shown.points || []).length} points, ` +
    `accuracy ${short(curves.accuracy.at(-1)[1])}`);
}

// A digit to be drawn, of 28 x 28 pixels, and its class.
const pixels = Array(784).fill(0), pad = html("canvas", {width: 280, height: 280, role: "application", "aria-label": "Draw a digit here; arrow keys move the pen, Space lowers or lifts it", class: "grip", tabindex: 0});
const guesses = html("p", {"aria-live": "polite"});
const pen_at = {x: 14, y: 6, down: false};  // of the keyboard
function draw_pad() {
  const pen = pad.getContext("2d");
  pixels.forEach((v, i) => { pen.fillStyle = `rgb(${v * 17},${v * 17},${v * 17})`; pen.fillRect(i % 28 * 10, Math.floor(i / 28) * 10, 10, 10); });
  if (document.activeElement !== pad) return;
  pen.strokeStyle = color("--word");
  pen.lineWidth = pen_at.down ? 4 : 2;
  pen.strokeRect(pen_at.x * 10 - 4, pen_at.y * 10 - 4, 18, 18);
}
function ink(x, y) {
  pixels.forEach((v, i) => { pixels[i] = Math.max(v, Math.round(15 * Math.max(0, Math.min(1, 2 - Math.hypot(i % 28 - x, Math.floor(i / 28) - y))))); });
  draw_pad();
}
const classify = () => act(async () => {
  if (built.data.kind !== "digits") return;
  const {probabilities} = await ask({do: "classify", picture: pixels.map(v => v.toString(16)).join("")});
  guesses.textContent = probabilities.map((p, i) => [i, p]).sort((a, b) => b[1] - a[1]).slice(0, 3)
    .map(([digit, p]) => `${digit}: ${(100 * p).toFixed(1)} %`).join(", ");
});
function stroke(event) {
  if (!event.buttons) return;
  const box = pad.getBoundingClientRect();
  ink((event.clientX - box.left) / box.width * 28 - .5, (event.clientY - box.top) / box.height * 28 - .5);
}
for (const kind of ["pointerdown", "pointermove"]) pad.addEventListener(kind, stroke);
pad.addEventListener("pointerup", classify);
for (const kind of ["focus", "blur"]) {
  pad.addEventListener(kind, draw_pad);
  plane.addEventListener(kind, () => { if (built && built.data.kind === "points") act(draw_plane); });
}
pad.addEventListener("keydown", event => {
  const by = arrows[event.key];
  if (!by && event.key !== " ") return;
  event.preventDefault();
  if (by) [pen_at.x, pen_at.y] = [pen_at.x + by[0], pen_at.y - by[1]].map(at => Math.max(1, Math.min(26, at)));
  else pen_at.down = !pen_at.down;
  if (pen_at.down) ink(pen_at.x, pen_at.y);
  else draw_pad();
  if (!by) { say(pen_at.down ? "The pen is down." : "The pen is up."); classify(); }
});
const clear_pad = () => { pixels.fill(0); draw_pad(); guesses.textContent = ""; };
function show_digit() {
  const digits = shown.digits, picture = digits[Math.floor(Math.random() * digits.length)];
  [...picture].forEach((c, i) => { pixels[i] = parseInt(c, 16); });
  draw_pad();
  return classify();
}

const begin = html("input", {name: "begin", value: "the ", size: 12}), written = html("pre", {class: "written", "aria-live": "polite"});
const write = () => act(async () => { written.textContent = begin.value + (await ask({do: "write", count: 160, begin: begin.value, temperature: .7})).text; });

function draw_own() {
  const kind = built.data.kind;
  if (kind === "points") own.replaceChildren(html("p", {}, "Round and red: class 0; square and blue: class 1. A click adds a point of your own; so do the arrow keys and Enter."), controls(labelled("class of new points", point_class)), plane);
  if (kind === "digits") own.replaceChildren(html("p", {}, "Draw a digit, and see what the net takes it for. With keys: arrows move the pen, Space lowers or lifts it."), controls(button("Clear", clear_pad), button("One of the data", show_digit)), pad, guesses);
  if (kind === "text") own.replaceChildren(html("p", {}, "A text that the net continues."), controls(labelled("begin with", begin), button("Write", write)), written,
                                           html("details", {}, html("summary", {}, "The data"), html("pre", {class: "written"}, shown.text)));
  draw_pad();
}
const point_class = choice("class", [["0"], ["1"]], "0");
function add_point(x, y) {
  const all = settings.data.set === "own" ? settings.data.points : shown.points;
  settings.data = {kind: "points", set: "own", points: [...all, [+x.toFixed(3), +y.toFixed(3), +point_class.value]]};
  draw_settings();
  return change();
}
plane.addEventListener("click", event => {
  const box = plane.getBoundingClientRect();
  add_point(((event.clientX - box.left) / box.width * 2 - 1) * 1.2, (1 - (event.clientY - box.top) / box.height * 2) * 1.2);
});

plane.addEventListener("keydown", event => {
  const by = arrows[event.key];
  if (event.key === "Enter") add_point(...cursor);
  if (!by) return;
  event.preventDefault();
  by.forEach((change, i) => { cursor[i] = Math.max(-1.1, Math.min(1.1, cursor[i] + change / 10)); });
  say(`Enter adds a point at ${short(cursor[0])}, ${short(cursor[1])}.`);
  act(draw_plane);
});

// ---- A look at states and gradients ----
function histogram(title, found, kind) {
  const mean = found.mean < 1e-12 * found.length ? 0 : found.mean;  // but for rounding
  const words = `mean ${short(mean)}, length ${short(found.length)}`;
  const most = Math.max(...found.counts), made = svg("svg", {viewBox: "0 0 120 62", role: "img", "aria-label":
    `${title}: from ${short(found.least)} to ${short(found.greatest)}, ${words}`});
  found.counts.forEach((count, i) => made.append(svg("rect", {class: `fill ${kind}`, x: i * 5, width: 4.5, y: 50 - 48 * count / most, height: 48 * count / most})));
  made.append(svg("text", {x: 0, y: 61}, short(found.least)), svg("text", {x: 120, y: 61, class: "end"}, short(found.greatest)));
  return html("td", {}, made, html("small", {}, words));
}
// The blocks from `begin` to `end`, by the numbers of their cards; a residual one has those within it.
function tree(begin, end) {
  const all = [];
  for (let i = begin; i < end; ++i) {
    const {block, over = 0} = built.net[i];
    all.push({name: `${i + 1} ${block}`, within: tree(i + 1, i + 1 + over)});
    i += over;
  }
  return all;
}
// The block of a field such as layers.1.within.layers.0, and the rest of its name.
function place(field, all = tree(0, built.net.length)) {
  const [, number, within, rest] = field.match(/^layers\.(\d+)(\.within)?\.?(.*)/);
  return within ? place(rest, all[number].within) : `${all[number].name} ${rest.replace("block.", "").replaceAll(/[._]/g, " ")}`.trim();
}
async function look() {
  if (!built || !details.open) return;
  const found = await ask({do: "look"});
  found.norms.sort((a, b) => a.name.localeCompare(b.name, "en", {numeric: true}));
  const row = (name, ...cells) => html("tr", {}, html("th", {scope: "row"}, name), ...cells);
  const head = (...titles) => html("tr", {}, ...titles.map(title => html("th", {scope: "col"}, title)));
  const table = (...rows) => html("div", {class: "wide", tabindex: 0}, html("table", {class: "look"}, ...rows));
  const both = (name, each, when) => [histogram(`${name}, values ${when}`, each.values, "blue"), histogram(`${name}, gradients ${when}`, each.gradients, "red")];
  const names_of_blocks = ["data", ...tree(0, built.net.length).map(each => each.name)];
  histograms.replaceChildren(
    html("p", {}, `Step ${found.step}. Mean and length belong to each row of channels, as root mean squares over rows: a norm takes the mean out of the gradient (re-centering) and rescales its length.`),
    ...found.norms.length ? [html("h3", {}, "Before and after each norm"), table(head("norm", "values before", "gradient before (below it)", "values after", "gradient after (arriving)"),
      ...found.norms.map(each => row(place(each.name), ...both(place(each.name), each.before, "before"), ...both(place(each.name), each.after, "after"))))] : [],
    html("h3", {}, "After each block"), table(head("block", "values", "gradient"),
      ...found.blocks.map((each, i) => row(names_of_blocks[i], ...both(names_of_blocks[i], each, "")))));
}
const details = html("details", {class: "looks"}, html("summary", {}, "Look inside: histograms of values and gradients"), histograms);
details.addEventListener("toggle", () => act(look));

// ---- Settings ----
const change = () => { act(build); return act(() => running || look()); };
function field(of, key, values, redraw = () => {}, within = "") {
  const made = values ? choice(key, values.map(each => [each]), of[key]) : html("input", {name: key, value: of[key], ...typeof of[key] === "number" ?
    {type: "number", step: "any"} : key === "norm" ? {list: "norms", size: 12, spellcheck: "false", autocapitalize: "off"} : {}});
  if (within) made.setAttribute("aria-label", `${within} ${key}`);
  made.addEventListener("change", () => {
    of[key] = typeof of[key] === "number" ? (made.value.trim() === "" ? null : +made.value) : made.value;
    if (of[key] === null) { of[key] = 0; made.value = 0; }
    redraw();
    change();
  });
  return labelled(key.replace("_", " "), made);
}
const options_of = (key, kind) => ({name: names.activation, cell: ["rnn", "rnn_relu", "lstm", "gru"], placement: ["pre", "post"], optimizer: names.optimizer, schedule: names.schedule,
  init: ["default", "he", "xavier", "orthogonal"], precision: ["double", "float"], set: kind === "text" ? ["grammar", "own"] : ["xor", "circles", "spirals", "own"]})[key];

const net_row = html("ol", {class: "blocks"}), data_row = html("div"), training_row = html("div");
const size_of = found => !found ? "" : found.error ? found.error : found.shape ? `(${found.shape.join(", ")}), ${found.parameters} parameters` : "";
function draw_net() {
  const all = settings.net, at = document.activeElement && document.activeElement.dataset.at;
  const move = (i, to) => () => { all.splice(to, 0, ...all.splice(i, 1)); change(); };
  const small = (label, words, action, at) => {
    const made = button(label, action);
    made.setAttribute("aria-label", words);
    made.dataset.at = at;
    return made;
  };
  const card = (name, found, ...inner) => html("li", {class: found && found.error ? "wrong" : ""}, html("b", {}, name), ...inner,
    html("small", {class: found && found.error ? "red" : "faint"}, size_of(found)));
  net_row.replaceChildren(
    ...built && settings.data.kind === "text" ? [card(`embedding ${settings.data.channels}`)] : [],
    ...all.map((each, i) => card(`${i + 1} ${each.block}`, blocks[i], ...Object.keys(kinds[each.block]).map(key => field(each, key, options_of(key), () => {}, `${i + 1} ${each.block}:`)),
      html("span", {}, small("\u2190", `block ${i + 1} to the left`, move(i, Math.max(0, i - 1)), `l${i}`), small("\u2192", `block ${i + 1} to the right`, move(i, i + 1), `r${i}`),
           small("\u00d7", `remove block ${i + 1}`, () => { all.splice(i, 1); change(); }, `x${i}`)))),
    card("output", blocks[all.length]));
  if (at) net_row.querySelector(`[data-at="${at}"]`)?.focus();
}
const add_kind = choice("kind", Object.keys(kinds).map(each => [each]), "linear");
const add_block = button("Add block", () => { settings.net.push(block(add_kind.value)); change(); });

function draw_settings() {
  const data = settings.data, kind = choice("data", Object.keys(data_of).map(each => [each]), data.kind);
  kind.addEventListener("change", () => {
    const start = Object.values(starts).find(each => each.data.kind === kind.value);
    settings = {...copy(settings), data: copy(start.data), net: copy(start.net), batch: start.batch, fork: undefined};
    draw_settings();
    change();
  });
  const set_of = () => {
    if (data.set === "own" && data.kind === "points") { data.points = data.points || shown.points; }
    if (data.set === "own" && data.kind === "text") { data.text = data.text || shown.text || "the cat sees the dog. ".repeat(20); }
    if (data.set !== "own" && data.kind === "points") Object.assign(data, {count: data.count || 400, noise: data.noise ?? .03});
    draw_settings();
  };
  const pasted = html("textarea", {name: "text", rows: 4, "aria-label": "your text"});
  pasted.value = data.text || "";
  pasted.addEventListener("change", () => { data.text = pasted.value; change(); });
  const wanted = {points: data.set === "own" ? ["set"] : ["set", "count", "noise"], digits: ["count"], text: data.set === "own" ? ["set", "length", "channels"] : ["set", "count", "length", "channels"]}[data.kind];
  data_row.replaceChildren(controls(labelled("data", kind), ...wanted.map(key => field(data, key, options_of(key, data.kind), key === "set" ? set_of : undefined)), field(settings, "split"), field(settings, "batch")),
    ...data.kind === "text" && data.set === "own" ? [pasted] : []);
  training_row.replaceChildren(controls(...["optimizer", "rate", "schedule", "steps", "clip", "init", "seed", "precision"].map(key => field(settings, key, options_of(key)))));
  draw_net();
}

// ---- Sharing ----
const state = () => ({settings: built, step});
const address = () => {
  const coded = encodeURIComponent(JSON.stringify(state()));
  if (coded.length > longest_address) throw new Error(`The state has ${coded.length} characters, too many for an address (${longest_address}): save it as a file.`);
  return location.href.split("#")[0] + "#" + coded;
};
async function put_address() {
  history.replaceState(null, "", address());
  try { await navigator.clipboard.writeText(location.href); } catch { /* the address bar has it */ }
  say("The address has the whole state; it is copied where the browser allows it.");
}
function save(name, content) {
  const link = html("a", {download: name, href: URL.createObjectURL(new Blob([content]))});
  link.click();
}
const file = html("input", {type: "file", accept: ".json", name: "file"});
file.addEventListener("change", () => act(async () => load(JSON.parse(await file.files[0].text()))));
async function show_program() {
  const {source} = await ask({do: "program", settings: built, count: Math.max(step, 50)}), main = source.indexOf("int main");
  program_view.replaceChildren(html("p", {}, "Trains the same net on the same data: save it, then ./dev try playground.cpp. In the other precision the last digits differ."),
    controls(button("Save playground.cpp", () => save("playground.cpp", source))), html("pre", {class: "written"}, source.slice(main, main + 4000)));
}
async function show_tape() {
  const {tape, step} = await ask({do: "tape"}), viewer = html("iframe", {title: "The tape of the next step"}), why = html("pre", {class: "written", "aria-live": "polite"});
  const tapes = JSON.stringify([{title: `Step ${step}`, tape}]).replaceAll("<", "\\u003c");
  viewer.srcdoc = JSON.parse(document.getElementById("viewer").textContent).replace("TAPES", () => tapes);
  viewer.addEventListener("load", () => viewer.contentDocument.addEventListener("click", ({target}) => {
    const row = target.closest("[data-node]");
    if (row) act(async () => { why.textContent = (await ask({do: "explain", step, node: +row.dataset.node})).why; });
  }));
  tape_view.replaceChildren(html("p", {class: "faint"}, "A click on a node explains its gradient below."), viewer, why);
}
async function show_check() {
  const {examples, tolerance, parameters, verdict} = await ask({do: "check"}), row = (tag, ...cells) => html("tr", {}, ...cells.map(each => html(tag, {}, each)));
  check_view.replaceChildren(html("p", {"aria-live": "polite"}, verdict), html("div", {class: "wide", tabindex: 0}, html("table", {},
      row("th", "parameter", "elements compared", "largest difference"), ...parameters.map(each => row("td", each.name, `${each.checked} of ${each.size}`, short(each.difference))))),
    html("p", {class: "faint"}, `Derivatives of the loss of ${examples} examples, against central differences, relative to their size; up to ${tolerance} is rounding.`));
}

// ---- Tours ----
async function take_step({net, at, run = 0, look: histograms, tape}, first) {
  if (net && first) await load({settings: net});
  if (net && !first) {
    settings = {...copy(net), ...at ? {fork: {at, of: copy(built)}} : {}};
    draw_settings();
    await build();
  }
  while (step < run) {
    const from = step;
    await take(Math.min(20, run - step));
    if (step === from) break;
  }
  if (histograms) details.open = true;
  await look();
  if (tape) {
    await show_tape();
    tape_view.scrollIntoView({block: "end"});  // the words stay in sight
  }
}
async function fork() {
  settings = {...copy(built), fork: {at: step, of: copy(built)}};
  draw_settings();
  await build();
  say(`Forked at step ${step}. Change a setting; grey is the run before.`);
}
const tour_view = html("div", {class: "tour", "aria-live": "polite"});
function begin_tour(name, number = 0) {
  const {title, steps} = tours[name], had_focus = tour_view.contains(document.activeElement);
  set_running(false);
  tour_choice.value = name;
  return act(async () => {
    await take_step(steps[number], !number);
    const end = () => { tour_view.replaceChildren(); tour_choice.value = ""; tour_choice.focus(); };
    tour_view.replaceChildren(html("p", {}, html("b", {}, `${title}, ${number + 1} of ${steps.length}. `), steps[number].words),
      controls(...number + 1 < steps.length ? [button("Next", () => begin_tour(name, number + 1))] : [], button("End of the tour", end)));
    if (had_focus) tour_view.querySelector("button").focus();
  });
}

// ---- The page ----
const run_button = button("Run", () => running ? paused(() => {}) : set_running(true)), counter = html("output", {name: "step"}), position = slider("position", 0, 1, 1, 0);
position.addEventListener("change", () => { const to = +position.value; paused(() => to <= step ? rewind(to) : take(to - step)); });
const start_choice = choice("start", [["", "choose"], ...Object.keys(starts).map(each => [each])], "");
start_choice.addEventListener("change", () => { if (start_choice.value) paused(() => load({settings: starts[start_choice.value]})); });
const tour_choice = choice("tour", [["", "choose"], ...Object.entries(tours).map(([name, {title}]) => [name, title])], "");
tour_choice.addEventListener("change", () => { if (tour_choice.value) begin_tour(tour_choice.value); });

async function start() {
  if (typeof WebAssembly !== "object" || typeof Worker !== "function") {
    root.replaceChildren(html("p", {}, "The playground computes in the browser, and needs one with WebAssembly and workers."));
    return;
  }
  start_worker();
  names = await ask({do: "choices"});
  root.replaceChildren(
    controls(labelled("start from", start_choice), labelled("tour", tour_choice)), tour_view,
    controls(run_button, button("Step", () => paused(() => take(1))), labelled("rewind", position), counter, button("Fork here", () => paused(fork)),
      button("Restart", () => paused(() => { settings.fork = undefined; return build(); }))), status,
    html("div", {class: "both"}, own, views), details,
    html("h2", {}, "Net"), net_row, controls(labelled("block", add_kind), add_block), html("datalist", {id: "norms"}, ...names.norm.map(value => html("option", {value}))),
    html("h2", {}, "Data"), data_row, html("h2", {}, "Training"), training_row, html("h2", {}, "Take it along"),
    controls(button("Put it in the address", () => paused(put_address)), button("Save", () => paused(() => save("playground.json", JSON.stringify(state())))), labelled("load", file),
      button("As a C++ program", () => paused(show_program)), button("Tape of the next step", () => paused(show_tape)), button("Check the gradient", () => paused(show_check))),
    program_view, tape_view, check_view);
  const from_address = () => {
    const [, tour] = location.hash.match(/^#tour=(\w+)$/) || [];
    if (Object.hasOwn(tours, tour)) return begin_tour(tour);
    return act(() => load(location.hash.length > 1 ? JSON.parse(decodeURIComponent(location.hash.slice(1))) : {settings: Object.values(starts)[0]}));
  };
  await from_address();
  window.addEventListener("hashchange", from_address);
  window.playground = {state, worker: () => worker, ask, act, load, settings: () => settings, curves: () => ({curves, before}), is_busy: () => busy > 0 || running, starts,
    starts_of_tours: Object.fromEntries(Object.entries(tours).map(([name, {steps}]) => [name, steps.filter(each => each.net).map(each => each.net)]))};
}
start();
})();
