#include <tapegrad/train.h>

#include "examples.h"
#include "support/scratch.h"

using namespace tapegrad;

namespace {

/// The header and the bytes of an IDX file.
void write_idx(const std::string& path, std::initializer_list<Index> extents) {
  std::string bytes{0, 0, 8, static_cast<char>(extents.size())};
  Index size = 1;
  for (const Index extent : extents) {
    bytes += {0, 0, 0, static_cast<char>(extent)};
    size *= extent;
  }
  bytes.append(static_cast<std::size_t>(size), 1);
  write_file(path, std::as_bytes(std::span(bytes)));
}

void write_text(const std::string& path, const std::string& text) {
  write_file(path, std::as_bytes(std::span(text)));
}

/// The log of a run of one step with --probe.
void write_probe_log() {
  Random random(3);
  const Mlp net({6, 8, 3}, random, {.norm = "layer"});
  const std::vector<Parameter> all = parameters(net);
  Probe probe(fields(net));
  const AroundNorms seen(probe.around());
  const Tape tape;
  const std::vector<Tensor> gradients = grad(sum(net(random.normal({4, 6}))), all);
  probe.around_update(0, all, gradients, [] {});
  make_directory("log");
  probe.write("log");
}

/// The files that examples read, in the current folder.
void write_files() {
  write_text("input.txt", "the dogs run and the dog runs\n");
  write_text("sentences.txt", "0 the dog runs\n1 the dogs run\n");
  write_text("strokes.txt", "0,0,0 12,-6,1\n0,0,0 6,18,0 -6,0,1\n");
  write_text("treebank.conllu", "1\truns\t_\tVERB\tVBZ\t_\t0\troot\t_\t_\n\n");
  write_text("table.csv", "height,width\n1,2\n3,4\n");
  const Tensor x = Random(1).normal({4, 6});
  const Indices labels({4}, {0, 2, 1, 2});
  write_npy("x.npy", x);
  write_npy("labels.npy", labels);
  write_npz("data.npz", {{"x", x}}, {{"labels", labels}});
  write_idx("images.idx", {4, 28, 28});
  write_idx("labels.idx", {4});
  make_directory("mnist");
  for (const std::string set : {"train", "t10k"}) {
    write_idx("mnist/" + set + "-images-idx3-ubyte", {4, 28, 28});
    write_idx("mnist/" + set + "-labels-idx1-ubyte", {4});
  }
  Random random(2);
  const Mlp net({6, 8, 3}, random);
  save_pytorch("mlp.safetensors", net);
  save_checkpoint("saved.checkpoint", {.net = fields(net), .notes = {{"epoch", "3"}}});
  write_probe_log();
}

}  // namespace

int main() {
  const tapegrad::testing::Scratch folder;
  std::filesystem::current_path(folder.path);
  write_files();
  int failed = 0;
  for (const Example& example : examples) {
    try {
      example.run();
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", example.place, error.what());
      ++failed;
    }
  }
  std::filesystem::current_path("/");
  fmt::print("{} examples, {} failed\n", examples.size(), failed);
  return failed == 0 ? 0 : 1;
}
