// ---- Nets to start from ----
const kinds = {
  linear: {out: 16}, activation: {name: "relu"}, norm: {norm: "layer"}, dropout: {rate: .1}, residual: {over: 2},
  recurrent: {cell: "lstm", out: 32, norm: "none"}, attention: {heads: 2, norm: "layer", placement: "pre"},
  convolution: {out: 8, size: 3}, pool: {size: 2}};
const block = (kind, settings = {}) => ({block: kind, ...kinds[kind], ...settings});
const points = {kind: "points", set: "spirals", count: 400, noise: .03}, text = {kind: "text", set: "grammar", count: 400, length: 32, channels: 16};
const data_of = {points, digits: {kind: "digits", count: 500}, text}, circles = {...points, set: "circles"};
const plain = {split: .8, init: "default", seed: 1, batch: 32, optimizer: "adam", rate: .01, schedule: "constant", steps: 1000, clip: 0, precision: "double"};
const layers = (count, norm, activation, out = 16) => Array.from({length: count}, () =>
  [block("linear", {out}), ...norm ? [block("norm", {norm})] : [], block("activation", {name: activation})]).flat();
const deep = norm => ({...plain, data: circles, net: layers(8, norm, "tanh"), optimizer: "sgd", rate: .05});
const starts = {
  "Perceptron, exclusive or": {...plain, data: {...points, set: "xor"}, net: layers(1, "", "tanh")},
  "Deep perceptron with layer norm": deep("layer"),
  "Residual net, spirals": {...plain, data: points, net: [block("linear", {out: 24}),
    ...Array.from({length: 3}, () => [block("residual", {over: 3}), block("norm"), block("activation", {name: "gelu"}), block("linear", {out: 24})]).flat()]},
  "Convolutions, digits": {...plain, data: data_of.digits, net: [block("convolution"), block("norm", {norm: "batch"}), block("activation"),
    block("pool", {size: 4}), block("linear", {out: 32}), block("activation")]},
  "Layer-normalized LSTM, text": {...plain, data: text, net: [block("recurrent", {norm: "layer_simple"})], batch: 8},
  "Two-block Transformer, text": {...plain, data: text, net: [block("attention"), block("attention"), block("norm")], batch: 8, rate: .003}};

// ---- Guided tours ----
// Each step builds a net, if it has one, which forks the run before at step `at`, if it has that; goes to step `run`; and
// shows the histograms (look) or the tape. Its words are read when it has been done.
const drifting = norm => ({...plain, data: circles, net: layers(2, norm, "relu"), optimizer: "momentum", rate: .1});
const writing = norm => ({...plain, data: text, net: [block("attention", {norm}), block("attention", {norm}), block("norm", {norm})], batch: 8});
const dying = (activation, rate) => ({...plain, data: circles, net: layers(4, "", activation), rate});
const backward = "layer_simple:forward=identity,factor=1";  // the value x, and the gradient of a norm but for its factor 1/s
const reading = (norm, optimizer, rate) => ({...plain, data: data_of.digits, net: layers(6, norm, "relu", 32), optimizer, rate});
const tours = {
  norm: {title: "A deep net without a norm, and with", steps: [
    {net: deep(""), words: "Eight layers without a norm, and plain gradient descent. Next: 200 steps."},
    {run: 200, look: true, words: "The loss stays near 0.69, the logarithm of 2, as if by guessing. Below, in \u201cLook inside\u201d: the nearer to the data, " +
      "the smaller the lengths of the gradients (red), by a factor of 300 in all. Next: the same net with layer norm."},
    {net: deep("layer"), words: "Each layer has a norm now. Next: 200 steps; the run before stays grey."},
    {run: 200, look: true, words: "With the norm it learns: see loss and accuracy. In \u201cLook inside\u201d, the gradients keep their lengths on their way to the data, within a factor of 10."}]},
  mean: {title: "Detach the mean, and watch the common mode", steps: [
    {net: drifting("layer_simple"), words: "Two layers with norms, trained with momentum. Next: 200 steps."},
    {run: 200, words: "No gradient ever moves the mean over outputs of these weights, since the derivative of the norm's mean takes it out: " +
      "the common mode stays level. Next: fork at step 100 with the mean detached."},
    {net: drifting("detach_mean"), at: 100, words: "The mean is constant for the gradient now. Next: 300 steps."},
    {run: 400, words: "Grey: the run before. Nothing holds the common mode any more, and it drifts; no forward pass sees it."}]},
  deviation: {title: "Detach the deviation, and watch the lengths", steps: [
    {net: writing("layer_simple"), words: "A Transformer of two blocks continues sentences; its norms have no gain and no bias. Next: 100 steps."},
    {run: 100, look: true, words: "The loss falls below 1. Two numbers to remember: the length of the weights, and in \u201cLook inside\u201d the length " +
      "of the values before the last norm (block 3). Next: the same net with the deviation detached, which is a constant for the gradient then."},
    {net: writing("detach_variance"), look: true, words: "Weights, values and loss at step 0 are the same as in the run before, for the forward pass is the " +
      "same. The gradients before each norm still have mean 0, but keep their part along the normalized values: each is a little longer. Next: 100 steps."},
    {run: 100, look: true, words: "Grey: the run before, whose loss is little more than half as high. That part of the gradient makes what stands before a norm longer in every " +
      "step, although no norm sees it: compare the two lengths. The longer the values, the smaller the gradient behind the norm."}]},
  zero: {title: "Why is this gradient zero?", steps: [
    {net: dying("relu", .3), words: "Four layers of relu, and a rate 30 times as large as usual with Adam. Next: 40 steps."},
    {run: 40, look: true, words: "The loss stays near 0.69, as if by guessing. In \u201cLook inside\u201d: after block 8, the last relu, all values are 0, and above " +
      "it in the table, nearer to the data, every gradient is exactly 0. Next: ask the tape."},
    {tape: true, words: "Here is the tape of the next step, which stands at the end of the page. Choose blocks.layers.0.weight, and below " +
      "it \u201cWhy this gradient?\u201d: its way ends at a relu of whose inputs none is positive. Even 2,000 more steps do not revive it. Next: fork here, with leaky_relu and a third of the rate."},
    {net: dying("leaky_relu", .1), at: 40, look: true, words: "The weights are the same, but a hundredth of the gradient passes where inputs are negative: it is small, and not 0. Next: 100 steps."},
    {run: 140, look: true, words: "It learns again. Grey: the run before. A rate of 0.1 from the beginning would have kept the relus alive, too. A layer norm before them does not at the rate 0.3: try it."}]},
  adam: {title: "Momentum against Adam, with the backward pass alone", steps: [
    {net: reading("layer_simple", "momentum", .01), run: 300, words: "Six layers with norms read digits, by 300 steps with momentum. They learn: see loss and accuracy. " +
      "Next: the backward pass of the norm alone. Values pass unchanged; only the gradient is re-centered and re-scaled."},
    {net: reading(backward, "momentum", .01), run: 300, look: true, words: "The loss stays near 2.3, the logarithm of 10: as if by guessing. In \u201cLook inside\u201d: " +
      "the values have lengths below 1, where the norms made 5.7, and the gradients are 300 times smaller at the first block than at the output. " +
      "Rates of 0.03 and 0.1 do not help. Next: the same net with Adam."},
    {net: reading(backward, "adam", .003), run: 300, words: "Grey: momentum. Adam divides each gradient by its size, so that small ones do as well, and the backward pass alone learns. Next: no norm at all, with Adam."},
    {net: reading("", "adam", .003), run: 300, words: "It learns, too: in six layers Adam makes up for what the norm's forward pass does for momentum. A comparison of norms holds for its optimizer and its rate."}]}};

