#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "rows.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::bench {
namespace {

constexpr Index million = 1'000'000;

// A file that is removed with the last copy of the row's step.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / fmt::format("{}-{}", getpid(), name)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// `prepare` writes the file, and returns what reads it.
template <class Prepare>
BenchRow reading(const char* name, Prepare prepare) {
  return {.name = name,
          .prepare = [=]() -> std::function<void()> {
            const auto file = std::make_shared<TemporaryFile>(name);
            return [file, read = prepare(file->path())] { read(); };
          },
          .bytes = 100 * million};
}

// Characters of a vocabulary of 65, as numbers.
BenchRow text() {
  return reading("read_text", [](const std::filesystem::path& path) {
    Random random(1);
    std::string characters;
    for (const Index id : random_tokens(65, {100 * million}, random).values())
      characters += static_cast<char>('0' + id);
    write_file(path, std::as_bytes(std::span(characters)));
    return [=] {
      const std::string text = read_text(path);
      Characters(text).encode(text);
    };
  });
}

// Ten columns of numbers such as -0.318912.
BenchRow csv() {
  return reading("read_csv", [](const std::filesystem::path& path) {
    Random random(1);
    std::string lines;
    for (Index i = 0; std::ssize(lines) < 100 * million; ++i)
      lines += fmt::format("{:.6f}{}", random.uniform() * 2 - 1, i % 10 == 9 ? '\n' : ',');
    lines.resize(lines.rfind('\n') + 1);
    write_file(path, std::as_bytes(std::span(lines)));
    return [=] { read_csv(path); };
  });
}

BenchRow npy() {
  return reading("read_npy", [](const std::filesystem::path& path) {
    Random random(1);
    write_npy(path, random.normal({25'000, 1000}));
    return [=] { read_npy(path); };
  });
}

// A perceptron with 25 million parameters, without the state of an optimizer.
BenchRow checkpoint() {
  return reading("load_checkpoint", [](const std::filesystem::path& path) {
    Random random(1);
    const Mlp net({2000, 4000, 4000, 250}, random);
    save_checkpoint(path, {.net = fields(net)});
    return [=] {
      Checkpoint saved{.net = fields(net)};
      load_checkpoint(path, saved);
    };
  });
}

}  // namespace

std::vector<BenchRow> files() { return {text(), csv(), npy(), checkpoint()}; }

}  // namespace tapegrad::bench
