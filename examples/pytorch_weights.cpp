// Takes a network from PyTorch, trains it a little and hands it back. Prints its outputs, to
// compare with Python. Usage: pytorch_weights [FILE]; without a file it writes one first.
//
//   net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))
//   safetensors.torch.save_file(net.state_dict(), "net.safetensors")
//   ... pytorch_weights net.safetensors ...
//   net.load_state_dict(safetensors.torch.load_file("net_trained.safetensors"))
#include <tapegrad/tapegrad.h>

#include <filesystem>

using namespace tapegrad;

void print_logits(const char* which, const Tensor& logits) {
  fmt::print("{}: logits of (1, 2, 3, 4):", which);
  for (const real logit : logits.values()) fmt::print(" {:.6f}", logit);
  fmt::print("\n");
}

void train_weights(const std::filesystem::path& path) {
  Random random(1);
  const Mlp net({4, 4, 4, 3}, random);
  load_pytorch(net, path);
  const Tensor input({1, 4}, {1, 2, 3, 4});
  print_logits("from PyTorch", net(input));

  Adam adam(parameters(net), {.learning_rate = 0.01});
  for (int step = 0; step < 100; ++step) {
    Tape tape;
    adam.step(grad(cross_entropy(net(input), Indices({1}, {2})), adam.parameters()));
  }
  print_logits("trained to class 2", net(input));

  std::filesystem::path trained = path;
  trained.replace_filename(path.stem().string() + "_trained.safetensors");
  save_pytorch(trained, net);
  const Mlp again({4, 4, 4, 3}, random);
  load_pytorch(again, trained);
  print_logits("read again", again(input));
  fmt::print("for PyTorch: {}\n", trained.string());
}

int main(int argc, char** argv) {
  try {
    expect<Error>(argc <= 2, "one argument at most: {} given", argc - 1);
    std::filesystem::path path = std::filesystem::temp_directory_path() / "net.safetensors";
    if (argc > 1) {
      path = argv[1];
    } else {
      Random random(2);
      save_pytorch(path, Mlp({4, 4, 4, 3}, random));
    }
    train_weights(path);
  } catch (const std::exception& error) {
    fmt::print(stderr, "pytorch_weights: {}\n", error.what());
    return 1;
  }
}
