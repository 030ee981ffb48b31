// The rows of bench/ for PyTorch's C++ library, with the same flags and the same lines of JSON.

#include <sys/resource.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;
using torch::Tensor;

// Returns the loss, undefined for a row that does not train.
using Step = std::function<Tensor()>;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// A step: forward, cross entropy over the last dimension, backward, optimizer.
template <class Optimizer, class Net>
Step training_with(Optimizer optimizer, Net net, const Tensor& inputs, const Tensor& targets,
                   double clip = 0) {
  auto shared = std::make_shared<Optimizer>(std::move(optimizer));
  return [=]() mutable {
    shared->zero_grad();
    const Tensor loss = F::cross_entropy(net->forward(inputs).flatten(0, -2), targets.flatten());
    loss.backward();
    if (clip > 0) nn::utils::clip_grad_norm_(net->parameters(), clip);
    shared->step();
    return loss.detach();
  };
}

template <class Net>
Step on_images(Net net, int64_t batch) {
  return training_with(torch::optim::Adam(net->parameters(), 1e-3), net,
                       torch::rand({batch, 1, 28, 28}), torch::full({batch}, 3, torch::kLong));
}

nn::LayerNorm layer_norm(int64_t size) { return nn::LayerNorm(nn::LayerNormOptions({size})); }

Step mlp(int64_t batch, const std::string& norm) {
  nn::Sequential net{nn::Flatten()};
  for (const int64_t size_in : {784, 1024}) {
    net->push_back(nn::Linear(size_in, 1024));
    if (norm == "layer") net->push_back(layer_norm(1024));
    if (norm == "batch") net->push_back(nn::BatchNorm1d(1024));
    net->push_back(nn::ReLU());
  }
  net->push_back(nn::Linear(1024, 10));
  return on_images(net, batch);
}

Step cnn() {
  return on_images(
      nn::Sequential(nn::Conv2d(1, 20, 5), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(20, 50, 5),
                     nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(800, 500),
                     layer_norm(500), nn::ReLU(), nn::Linear(500, 10)),
      32);
}

// Ba et al. 2016, eq. 20-22, with the input's products before the loop.
struct LayerNormLstmImpl : nn::Module {
  nn::Linear w_x;
  Tensor w_h, bias;
  nn::LayerNorm norm_x, norm_h, norm_c;

  LayerNormLstmImpl(int64_t inputs, int64_t hidden)
      : w_x(register_module("w_x", nn::Linear(nn::LinearOptions(inputs, 4 * hidden).bias(false)))),
        w_h(register_parameter("w_h", torch::randn({hidden, 4 * hidden}) * 0.04)),
        bias(register_parameter("bias", torch::zeros({4 * hidden}))),
        norm_x(register_module("norm_x", layer_norm(4 * hidden))),
        norm_h(register_module("norm_h", layer_norm(4 * hidden))),
        norm_c(register_module("norm_c", layer_norm(hidden))) {}

  std::tuple<Tensor, Tensor> forward(const Tensor& x) {
    const Tensor inputs = norm_x(w_x(x)) + bias;
    Tensor h = torch::zeros({x.size(1), w_h.size(0)}), c = h;
    std::vector<Tensor> outputs;
    for (const Tensor& step : inputs.unbind()) {
      const std::vector<Tensor> gates = (step + norm_h(h.matmul(w_h))).chunk(4, -1);
      c = gates[1].sigmoid() * c + gates[0].sigmoid() * gates[2].tanh();
      h = gates[3].sigmoid() * norm_c(c).tanh();
      outputs.push_back(h);
    }
    return {torch::stack(outputs), {}};
  }
};
TORCH_MODULE(LayerNormLstm);

template <class Recurrent>
struct CharRnn : nn::Module {
  nn::Embedding embedding;
  Recurrent recurrent;
  nn::Linear output;

  explicit CharRnn(Recurrent r)
      : embedding(register_module("embedding", nn::Embedding(65, 128))),
        recurrent(register_module("recurrent", r)),
        output(register_module("output", nn::Linear(512, 65))) {}
  Tensor forward(const Tensor& ids) {
    return output(std::get<0>(recurrent->forward(embedding(ids))));
  }
};

template <class Recurrent>
Step char_rnn(Recurrent recurrent) {
  auto net = std::make_shared<CharRnn<Recurrent>>(recurrent);
  return training_with(torch::optim::Adam(net->parameters(), 1e-3), net,
                       torch::randint(65, {64, 32}), torch::randint(65, {64, 32}), 1.0);
}

struct BlockImpl : nn::Module {
  int64_t heads;
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, out, up, down;

  BlockImpl(int64_t channels, int64_t heads)
      : heads(heads),
        norm1(register_module("norm1", layer_norm(channels))),
        norm2(register_module("norm2", layer_norm(channels))),
        qkv(register_module("qkv", nn::Linear(channels, 3 * channels))),
        out(register_module("out", nn::Linear(channels, channels))),
        up(register_module("up", nn::Linear(channels, 4 * channels))),
        down(register_module("down", nn::Linear(4 * channels, channels))) {}

  Tensor forward(Tensor x) {
    const int64_t batch = x.size(0), length = x.size(1), channels = x.size(2);
    std::vector<Tensor> parts = qkv(norm1(x)).chunk(3, -1);
    for (Tensor& part : parts) part = part.reshape({batch, length, heads, -1}).transpose(1, 2);
    const Tensor y =
        at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, /*is_causal=*/true);
    x = x + out(y.transpose(1, 2).reshape({batch, length, channels}));
    return x + down(F::gelu(up(norm2(x))));
  }
};
TORCH_MODULE(Block);

// Decoder-only, pre-norm, GELU, learned positions, tied embeddings.
struct Transformer : nn::Module {
  nn::Embedding tokens;
  Tensor positions;
  nn::Sequential blocks;
  nn::LayerNorm norm;

  Transformer(int64_t layers, int64_t channels, int64_t heads, int64_t length)
      : tokens(register_module("tokens", nn::Embedding(65, channels))),
        positions(register_parameter("positions", torch::randn({length, channels}) * 0.02)),
        blocks(register_module("blocks", nn::Sequential())),
        norm(register_module("norm", layer_norm(channels))) {
    for (int64_t i = 0; i < layers; ++i) blocks->push_back(Block(channels, heads));
    nn::init::normal_(tokens->weight, 0, 0.02);
  }
  Tensor forward(const Tensor& ids) {
    return norm(blocks->forward(tokens(ids) + positions)).matmul(tokens->weight.t());
  }
};

Step transformer(int64_t layers, int64_t channels, int64_t heads, int64_t length, int64_t batch) {
  auto net = std::make_shared<Transformer>(layers, channels, heads, length);
  return training_with(torch::optim::AdamW(net->parameters(), 1e-3), net,
                       torch::randint(65, {batch, length}), torch::randint(65, {batch, length}));
}

// A step: forward and backward, with gradients of the leaves.
Step sweep(std::function<Tensor()> function, const Tensor& seed, std::vector<Tensor> leaves) {
  return [=]() mutable {
    for (Tensor& leaf : leaves) leaf.mutable_grad().reset();
    function().backward(seed);
    return Tensor();
  };
}

Step overhead() {
  const Tensor factor = torch::tensor({1.0F, -1.0F, 1.0F, -1.0F, 1.0F, -1.0F, 1.0F, -1.0F});
  const Tensor start = torch::randn(8), seed = torch::ones(8);
  return [=] {
    const Tensor x = start.clone().requires_grad_();
    Tensor y = x;
    for (int i = 0; i < 500; ++i) y = y * factor + x;
    y.backward(seed);
    return Tensor();
  };
}

Step matmul1024() {
  nn::Linear linear(1024, 1024);
  const Tensor x = torch::randn({1024, 1024}).requires_grad_();
  return sweep([=]() mutable { return linear(x); }, torch::randn({1024, 1024}),
               {x, linear->weight, linear->bias});
}

Step attention4096(int64_t heads) {
  const auto drawn = [=] { return torch::randn({1, heads, 4096, 64}).requires_grad_(); };
  const Tensor q = drawn(), k = drawn(), v = drawn();
  const auto attention = [=] {
    return at::scaled_dot_product_attention(q, k, v, {}, 0.0, /*is_causal=*/true);
  };
  return sweep(attention, torch::randn({1, heads, 4096, 64}), {q, k, v});
}

Step layernorm(int64_t rows, int64_t columns, bool composite) {
  const Tensor x = torch::randn({rows, columns}).requires_grad_();
  const auto normalized = [=] {
    if (!composite) return F::layer_norm(x, F::LayerNormFuncOptions({columns}));
    const Tensor centered = x - x.mean(-1, true);
    return centered / torch::sqrt((centered * centered).mean(-1, true) + 1e-5);
  };
  return sweep(normalized, torch::randn({rows, columns}), {x});
}

struct Row {
  std::string name;
  std::function<Step()> prepare;
};

std::vector<Row> all_rows() {
  std::vector<Row> rows{{"mlp", [] { return mlp(128, "layer"); }},
                        {"mlp_nonorm", [] { return mlp(128, "none"); }},
                        {"mlp_bn", [] { return mlp(128, "batch"); }},
                        {"mlp_b4", [] { return mlp(4, "layer"); }},
                        {"mlp_b32", [] { return mlp(32, "layer"); }},
                        {"cnn", cnn},
                        {"rnn", [] { return char_rnn(nn::RNN(128, 512)); }},
                        {"lstm", [] { return char_rnn(nn::LSTM(128, 512)); }},
                        {"gru", [] { return char_rnn(nn::GRU(128, 512)); }},
                        {"lnlstm", [] { return char_rnn(LayerNormLstm(128, 512)); }},
                        {"transformer", [] { return transformer(4, 128, 4, 128, 16); }},
                        {"transformer_m", [] { return transformer(6, 384, 6, 256, 4); }},
                        {"overhead", overhead},
                        {"matmul1024", matmul1024},
                        {"attention4096", [] { return attention4096(4); }},
                        {"attention4096_h1", [] { return attention4096(1); }}};
  for (const auto& [r, c] : {std::pair{4096, 512}, {128, 1024}, {64, 2048}})
    for (const bool composite : {false, true})
      rows.push_back({"layernorm_" + std::to_string(r) + "x" + std::to_string(c) +
                          (composite ? "_composite" : ""),
                      [r = r, c = c, composite] { return layernorm(r, c, composite); }});
  return rows;
}

// Milliseconds of steps, sorted: warm for 0.3 s, then for 1 s, from 10 to 1000, as bench does.
std::vector<double> measure(const Step& step) {
  for (const auto begin = Clock::now(); milliseconds_since(begin) < 300;) step();
  std::vector<double> times;
  for (const auto begin = Clock::now();
       times.size() < 10 || (milliseconds_since(begin) < 1000 && times.size() < 1000);) {
    const auto step_begin = Clock::now();
    step();
    times.push_back(milliseconds_since(step_begin));
  }
  std::sort(times.begin(), times.end());
  return times;
}

// Whether the loss of 20 steps falls; without a loss, that the step runs.
bool falls(const std::string& name, const Step& step) {
  const Tensor first = step();
  Tensor last;
  for (int i = 1; i < 20; ++i) last = step();
  if (!first.defined()) {
    std::printf("%-28s runs\n", name.c_str());
    return true;
  }
  const double begin = first.item<double>(), end = last.item<double>();
  std::printf("%-28s loss %.4f -> %.4f %s\n", name.c_str(), begin, end,
              end < begin ? "" : "DOES NOT FALL");
  return end < begin;
}

struct Flags {
  std::vector<std::string> rows;
  std::string json;
  int threads = 2;
  bool check = false;
};

std::optional<Flags> parse(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--check") {
      flags.check = true;
    } else if ((word == "--threads" || word == "--json") && i + 1 < argc) {
      const std::string value = argv[++i];
      if (word == "--json") {
        flags.json = value;
      } else if ((flags.threads = std::atoi(value.c_str())) < 1) {
        return {};
      }
    } else if (word.substr(0, 2) == "--") {
      return {};
    } else {
      flags.rows.push_back(word);
    }
  }
  return flags;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Flags> flags = parse(argc, argv);
  if (!flags) {
    std::fprintf(stderr, "usage: libtorch [ROW...] [--threads N] [--json FILE] [--check]\n");
    return 2;
  }
  const std::vector<Row> rows = all_rows();
  for (const std::string& name : flags->rows)
    if (std::none_of(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; })) {
      std::fprintf(stderr, "libtorch: unknown row %s\n", name.c_str());
      return 3;  // as the peers in Python, where there is no way to do a row
    }
  torch::set_num_threads(flags->threads);
  std::ofstream json(flags->json);
  int status = 0;
  for (const Row& row : rows) {
    const auto& chosen = flags->rows;
    if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), row.name) == chosen.end())
      continue;
    const Step step = row.prepare();
    if (flags->check) {
      if (!falls(row.name, step)) status = 1;
      continue;
    }
    const std::vector<double> times = measure(step);
    const double ms = times[times.size() / 2];
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double peak = static_cast<double>(usage.ru_maxrss) / 1024;
    std::printf("%-28s %10.3f %10.3f %10.3f %12.0f\n", row.name.c_str(), ms,
                times[times.size() / 10], times[times.size() * 9 / 10], peak);
    std::fflush(stdout);
    json << "{\"row\": \"" << row.name << "\", \"implementation\": \"libtorch\", \"version\": \""
         << TORCH_VERSION << "\", \"threads\": " << flags->threads << ", \"ms\": " << ms;
    if (row.name == "overhead") json << ", \"us_per_op\": " << ms;  // 1000 operations
    json << ", \"peak_rss_mb\": " << peak << "}\n";
  }
  return status;
}
