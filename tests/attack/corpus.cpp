// Runs an attack on files, with any compiler. Usage: PROGRAM FILE...

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::vector<char> input{std::istreambuf_iterator<char>(file), {}};
    fmt::print("{}: {} bytes\n", argv[i], input.size());
    if (!file) return 1;
    LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(input.data()), input.size());
  }
  return argc > 1 ? 0 : 1;
}
