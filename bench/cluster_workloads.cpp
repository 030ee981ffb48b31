#include "cluster_workloads.h"

#include <map>

namespace tapegrad::bench {
namespace {

constexpr Index vocabulary = 65;

Indices random_indices(const Shape& shape, Index below) {
  Random random(2);
  Indices indices = Indices::uninitialized(shape);
  for (Index i = 0; i < indices.size(); ++i) indices.mutable_data()[i] = random.below(below);
  return indices;
}

Indices rows_of(const Indices& x, Index begin, Index end) {
  const Index width = x.size() / x.shape()[0];
  return Indices({end - begin, width}, x.values().subspan(begin * width, (end - begin) * width));
}

Workload mlp() {
  Random random(2);
  const Mlp net({784, 1024, 1024, 10}, random, {.norm = "layer"});
  const Tensor images = random.uniform({128, 784});
  const Indices labels = random_indices({128, 1}, 10);
  return {"mlp", fields(net), 128, [=](Index begin, Index end) {
            return cross_entropy(net(slice(images, 0, begin, end)),
                                 rows_of(labels, begin, end).reshape({end - begin}));
          }};
}

// Rows of ids become columns: time is the first axis of a recurrent net.
Indices time_first(const Indices& x) {
  const Index rows = x.shape()[0], columns = x.shape()[1];
  Indices y = Indices::uninitialized({columns, rows});
  for (Index i = 0; i < y.size(); ++i)
    y.mutable_data()[i] = x.values()[(i % rows) * columns + i / rows];
  return y;
}

Workload lstm() {
  Random random(1);
  const CharRnn net(vocabulary, random, {.cell = Cell::lstm, .recurrent = {.norm = "none"}});
  const Indices ids = random_indices({32, 64}, vocabulary);
  return {"lstm", fields(net), 32, [=](Index begin, Index end) {
            const Indices part = time_first(rows_of(ids, begin, end));
            return cross_entropy(net(part).logits, part);
          }};
}

Workload transformer_m() {
  Random random(1);
  const TransformerLm net(vocabulary, random,
                          {.stack = {.layers = 6, .heads = 6, .channels = 384}, .length = 256});
  const Indices ids = random_indices({4, 256}, vocabulary);
  return {"transformer_m", fields(net), 4, [=](Index begin, Index end) {
            const Indices part = rows_of(ids, begin, end);
            return cross_entropy(net(part, {}), part);
          }};
}

const std::map<std::string, Workload (*)()> workloads{
    {"lstm", lstm}, {"mlp", mlp}, {"transformer_m", transformer_m}};

}  // namespace

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : workloads) names.push_back(name);
  return names;
}

Workload workload(const std::string& name) { return workloads.at(name)(); }

}  // namespace tapegrad::bench
