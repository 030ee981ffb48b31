"use strict";
// The lessons that compute. A figure with data-live="NAME" shows a picture until the engine is there, and for good in a
// browser without WebAssembly.
(() => {
// ---- The engine ----
let engine;
const took = document.createElement("span");

// The answer of tapegrad.
function compute(request) {
  const begin = performance.now();
  const answer = JSON.parse(engine.ccall("answer", "string", ["string"], [JSON.stringify(request)]));
  took.textContent = `${(performance.now() - begin).toFixed(1)} ms`;
  if (answer.error) throw new Error(answer.error);
  return answer;
}

// ---- Bars ----
// Bars that are dragged, or moved by the arrow keys: up and down change one, left and right go to another. A finger drags
// the end of a bar, and scrolls elsewhere.
function bars(name, values, limit, changed) {
  const tall = 130, middle = tall / 2, step = (width - 20) / values.length, scale = (middle - 8) / limit;
  const made = svg("svg", {viewBox: `0 0 ${width} ${tall}`, class: "bars"},
                   svg("line", {x1: 10, x2: width - 10, y1: middle, y2: middle, class: "grid"}));
  const all = values.map((_, i) => {
    const bar = svg("rect", {x: 10 + i * step + 2, width: step - 4});
    const grip = svg("rect", {x: 10 + i * step, width: step, height: 36, class: "handle grip"});
    const whole = svg("g", {tabindex: i ? -1 : 0, role: "slider", "aria-orientation": "vertical", "aria-label": `${name} ${i + 1}`,
                            "aria-valuemin": -limit, "aria-valuemax": limit},
      svg("rect", {x: 10 + i * step, y: 0, width: step, height: tall, class: "handle"}), bar, grip);
    const set = value => {
      values[i] = Math.round(Math.max(-limit, Math.min(limit, value)) * 20) / 20;
      show();
      changed();
    };
    const show = () => {
      const to = middle - scale * values[i];
      bar.setAttribute("y", Math.min(middle, to) - .75);
      bar.setAttribute("height", Math.abs(to - middle) + 1.5);
      grip.setAttribute("y", to - 18);
      whole.setAttribute("aria-valuenow", values[i]);
    };
    whole.addEventListener("keydown", event => {
      const next = all[i + {ArrowLeft: -1, ArrowRight: 1}[event.key]];
      if (next) {
        whole.setAttribute("tabindex", -1);
        next.whole.setAttribute("tabindex", 0);
        next.whole.focus();
      }
      const moves = {ArrowUp: .1, ArrowDown: -.1, PageUp: 1, PageDown: -1};
      const to = event.key in moves ? values[i] + moves[event.key] : {Home: -limit, End: limit}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      set(to);
    });
    made.append(whole);
    show();
    return {set, whole};
  });
  const drag = event => {
    if (!made.hasPointerCapture(event.pointerId)) return;
    const box = made.getBoundingClientRect(), unit = width / box.width;
    const i = Math.floor(((event.clientX - box.left) * unit - 10) / step);
    if (all[i]) all[i].set((middle - (event.clientY - box.top) * unit) / scale);
  };
  made.addEventListener("pointerdown", event => {
    if (event.pointerType === "touch" && !event.target.classList.contains("grip")) return;
    made.setPointerCapture(event.pointerId);
    drag(event);
  });
  made.addEventListener("pointermove", drag);
  return html("div", {}, html("b", {}, name), made);
}

// ---- One row through layer normalization ----
const forms = ["nothing detached", "mean detached", "deviation detached", "both detached"];

function histogram(title, values, along, chosen) {
  const low = -3, bins = 24, step = .25, tall = 100, unit = width / bins;
  const counts = new Array(bins).fill(0);
  values.forEach(value => ++counts[Math.max(0, Math.min(bins - 1, Math.floor((value - low) / step)))]);
  const center = along.ones;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - center) ** 2, 0) / values.length);
  const words = `mean ${short(center)}, deviation ${short(deviation)}`;
  const x = value => (value - low) / step * unit;
  const made = svg("svg", {viewBox: `0 0 ${width} 150`, role: "img", "aria-label": `${title}: ${words}`});
  made.append(svg("text", {x: 0, y: 14, class: "strong"}, title), svg("text", {x: 0, y: 30}, words));
  counts.forEach((count, i) => made.append(svg("rect", {class: "fill blue", x: i * unit + .5, width: unit - 1,
    y: 134 - tall * count / values.length, height: tall * count / values.length})));
  made.append(svg("line", {x1: 0, x2: width, y1: 134, y2: 134, class: "grid"}),
              svg("line", {x1: x(0), x2: x(0), y1: 36, y2: 134, class: "grid dashed"}),
              svg("line", {x1: x(center), x2: x(center), y1: 36, y2: 134, class: "curve red"}));
  for (const at of [-2, 0, 2]) made.append(svg("text", {x: x(at), y: 148, class: "middle"}, at));
  return html("div", {class: chosen ? "panel chosen" : "panel"}, made,
              html("div", {class: "faint"}, `along 1: ${short(along.ones)}, along z: ${short(along.z)}`));
}

// The nodes of a tape with their values and last gradients.
function tape_table(tape) {
  const gradients = {};
  tape.flows.forEach(flow => { gradients[flow.to] = flow.total; });
  const input = i => i >= 0 ? `%${i}` : i === -1 ? "constant" : `detach(%${-2 - i})`;
  const numbers = tensor => !tensor ? "" : tensor.values.slice(0, 4).map(short).join(" ") + (tensor.values.length > 4 ? " \u2026" : "");
  return html("div", {class: "wide"}, html("table", {},
    html("tr", {}, ...["the tape", "value", "gradient"].map(text => html("th", {}, text))),
    ...tape.nodes.map((node, i) => html("tr", {},
      html("td", {}, html("code", {}, `%${i} ${node.label || ""} = ${node.name} ${node.inputs.map(input).join(" ")}`)),
      html("td", {}, numbers(node.value)), html("td", {}, numbers(gradients[i]))))));
}

function row(root) {
  const x = [1.2, 2.5, .3, 1.8, 3, -.4, .9, 2.1, 1.5, .1, 2.7, 1.1, -.9, 2.2, .6, 1.4];
  const g = [.8, 1.9, -.2, 1.1, 2.4, -1.2, .9, 1, .2, -.6, 1.7, 1.4, -1, 1.5, -.1, .7];
  const epsilon = slider("epsilon", -6, 1, .1, -5), value = html("output");
  const mean = check("mean"), deviation = check("deviation");
  const panels = html("div", {class: "panels"}), tape = html("div"), words = html("p", {"aria-live": "polite", class: "faint"});
  const update = () => {
    const found = compute({compute: "row", x, g, epsilon: 10 ** epsilon.value, detach_mean: mean.checked, detach_scale: deviation.checked});
    value.textContent = short(10 ** epsilon.value);
    epsilon.setAttribute("aria-valuetext", value.textContent);
    const rounded = x => Math.abs(x) < 5e-13 ? 0 : x;  // what is 0 but for rounding
    const along = dx => ({ones: rounded(dx.reduce((a, b) => a + b, 0) / dx.length),
                          z: rounded(dx.reduce((sum, d, i) => sum + d * found.z[i], 0) / dx.length)});
    const chosen = mean.checked + 2 * deviation.checked;
    panels.replaceChildren(...found.forms.map((dx, i) => histogram(forms[i], dx, along(dx), i === chosen)));
    tape.replaceChildren(tape_table(found.tape));
    const is = along(found.forms[chosen]);
    words.textContent = `The row has the mean ${short(found.mean)} and s = ${short(found.deviation)}. With ${forms[chosen]}, the gradient that ` +
      `leaves has the component ${short(is.ones)} along the vector of ones and ${short(is.z)} along z.`;
  };
  listen([epsilon, mean, deviation], update);
  root.append(controls(labelled("epsilon", epsilon), value, labelled("detach the mean", mean), labelled("detach the deviation", deviation)),
              html("div", {class: "panels"}, bars("x, the row", x, 4, update), bars("g, the gradient that arrives", g, 4, update)), panels, words, tape);
  return update;
}

// ---- Drift ----
function drift(root) {
  const rates = {sgd: 1, momentum: .1, adam: .01, sign: .01}, most = 600;
  const optimizer = choice("optimizer", [["sgd", "SGD"], ["momentum", "SGD with momentum"], ["adam", "Adam"], ["sign", "steps by the sign"]], "adam");
  const detached = check("detached", true), remedy = choice("remedy", [["none"], ["project"], ["center"], ["penalty"], ["clip"]], "none");
  const shown = [["loss", "loss"], ["ratio", "|mu| / s"], ["c", "c, the common mode"], ["V", "V, the rest of the weights"]];
  const panels = html("div", {class: "panels"}), words = html("p", {"aria-live": "polite", class: "faint"});
  let points = [], before = [], running = false;
  const draw = () => panels.replaceChildren(...shown.map(([key, title]) => {
    const curve = run => run.map(each => [each.step, each[key]]);
    return html("div", {class: "panel"}, chart({title, across: "step", color: "blue", points: curve(points), before: curve(before)}));
  }));
  const request = () => ({compute: "drift", optimizer: optimizer.value, rate: rates[optimizer.value], remedy: remedy.value, detach_mean: detached.checked});
  const say = ({step, loss, ratio, c, V}) => {  // not in every frame, for those who listen
    words.textContent = `Step ${step}: loss ${short(loss)}, |mu| / s ${short(ratio)}, c ${short(c)}, V ${short(V)}.`;
  };
  const step = count => {
    points.push(compute(points.length ? {compute: "drift", steps: count} : {...request(), steps: count}));
    draw();
    if (!running) say(points[points.length - 1]);
  };
  const at_end = () => points.length && points[points.length - 1].step >= most;
  const pause = () => {
    running = false;
    play.textContent = "Play";
    if (points.length) say(points[points.length - 1]);
  };
  const frame = () => {
    if (!running) return;
    if (at_end()) return pause();
    step(2);
    requestAnimationFrame(frame);
  };
  const play = button("Play", () => {
    if (running) return pause();
    if (at_end()) restart();
    running = true;
    play.textContent = "Pause";
    frame();
  });
  const restart = () => {
    if (points.length) before = points;
    points = [];
    draw();
    words.textContent = before.length ? "A new run; the one before is grey." : "";
  };
  listen([optimizer, detached, remedy], restart);
  root.append(controls(play, button("Step", () => { pause(); step(1); }), button("Restart", restart), labelled("optimizer", optimizer),
                       labelled("mean detached", detached), labelled("remedy", remedy)), panels, words);
  return () => step(1);
}

// ---- An expression and its tape ----
function expression(root) {
  const text = html("input", {name: "text", value: "x * y + sin(x^2)", size: 28, maxlength: 200, spellcheck: "false", autocapitalize: "off"});
  const at = name => html("input", {name, type: "number", step: .1, value: name === "x" ? 1.5 : -2});
  const x = at("x"), y = at("y"), second = check("second");
  const result = html("div", {"aria-live": "polite"}), viewer = html("iframe", {title: "The tape, step by step"});
  let timer;
  const show_tape = tape => {
    const tapes = JSON.stringify([{title: "", tape}]).replaceAll("<", "\\u003c");
    viewer.srcdoc = viewer_page.replace("TAPES", () => tapes);
    timer = null;
  };
  viewer.addEventListener("load", () => { if (!timer) viewer.removeAttribute("aria-busy"); });
  const update = () => {
    try {
      const found = compute({compute: "expression", text: text.value, x: +x.value, y: +y.value, second: second.checked});
      const names = {value: "value", dx: "d/dx", dy: "d/dy", dxx: "d\u00b2/dx\u00b2", dxy: "d\u00b2/dx dy", dyy: "d\u00b2/dy\u00b2"};
      result.replaceChildren(html("table", {}, html("tr", {}, ...Object.keys(names).filter(key => key in found)
        .map(key => html("td", {}, names[key] + " ", html("b", {"data-value": key}, short(found[key])))))));
      clearTimeout(timer);
      viewer.setAttribute("aria-busy", "true");  // until the tape of the last key is there
      timer = setTimeout(() => show_tape(found.tape), 250);
    } catch (error) {
      result.replaceChildren(html("span", {class: "red", role: "alert"}, error.message));
    }
  };
  listen([text, x, y, second], update);
  root.append(controls(labelled("f(x, y) =", text), labelled("x =", x), labelled("y =", y), labelled("second derivatives", second)),
              html("div", {class: "wide"}, result), viewer);
  return update;
}

// ---- Gradients through depth ----
function depth(root) {
  const layers = slider("layers", 1, 30, 1, 12), count = html("output");
  const norm = choice("norm", compute({compute: "norms"}).map(name => [name]), "layer");
  const init = choice("init", [["he", "He"], ["xavier", "Xavier"], ["orthogonal"], ["0.5", "0.5 / sqrt(inputs)"], ["1", "1 / sqrt(inputs)"], ["2", "2 / sqrt(inputs)"]], "he");
  const activation = choice("activation", [["relu", "ReLU"], ["tanh"], ["gelu", "GELU"], ["identity", "none"]], "relu");
  const residual = choice("residual", [["none"], ["pre", "pre-norm"], ["post", "post-norm"]], "none");
  const panels = html("div", {class: "panels"}), words = html("p", {"aria-live": "polite", class: "faint"});
  let before = null, shown = null;
  const update = () => {
    const found = compute({compute: "depth", layers: +layers.value, norm: norm.value, init: isNaN(init.value) ? init.value : +init.value,
                           activation: activation.value, residual: residual.value});
    before = shown;
    shown = found;
    count.textContent = layers.value;
    const curve = (of, key) => of ? of[key].map((size, i) => [i, size]) : [];
    panels.replaceChildren(...[["gradients", "Gradients, by the layers below", "red"], ["states", "States, by the layers below", "blue"]]
      .map(([key, title, color]) => html("div", {class: "panel"},
        chart({title, across: "layers below", color, points: curve(found, key), before: curve(before, key), log: true}))));
    const factor = found.gradients[0] / found.gradients[found.gradients.length - 1];
    words.textContent = `The gradient that reaches the input has ${short(factor)} times the size of the one at the output. The setting before is grey.`;
  };
  listen([layers, norm, init, activation, residual], update);
  root.append(controls(labelled("layers", layers), count, labelled("norm", norm), labelled("initial weights", init), labelled("activation", activation),
                       labelled("residual", residual)), panels, words);
  return update;
}

// ---- The figures of the page ----
const lessons = {
  row: [row, "Drag the bars of the row and of the gradient, or move them by the arrow keys (left and right: to another bar). " +
             "The histograms have the gradient that leaves in each form; the framed one belongs to the switches, and its tape stands below."],
  drift: [drift, "A linear layer before a norm is trained as in the program above. Play, then change a switch and play again."],
  expression: [expression, "Type an expression in x and y. It may use + - * / ^ and abs, cos, detach, exp, log, relu, sigmoid, sin, sqrt, square, tanh."],
  depth: [depth, "A gradient of size 1 arrives at the last layer. Choose what it passes through."]};

async function start() {
  const figures = document.querySelectorAll("[data-live]");
  if (typeof WebAssembly !== "object" || !figures.length) return;
  try {
    engine = await engines.double();
  } catch (error) {
    return;  // the pictures stay
  }
  for (const figure of figures) {
    const root = html("div", {class: "live"});
    const [lesson, words] = lessons[figure.dataset.live];
    root.append(html("p", {}, words));
    lesson(root)();
    root.append(html("p", {class: "faint"}, `Computed by tapegrad itself, compiled to WebAssembly (${figure.dataset.size}), in `, took, "."));
    figure.replaceChildren(root);
  }
  window.live = {compute};
}
start();
})();
