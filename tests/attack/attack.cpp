#include "attack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"

namespace tapegrad::attack {

void expect_property(bool holds, const char* property) {
  if (!holds) throw std::logic_error(fmt::format("this does not hold: {}", property));
}

bool refuses(const std::function<void()>& read) {
  constexpr std::size_t longest_message = 1000;
  try {
    read();
    return false;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    expect_property(!message.empty() && message.size() <= longest_message,
                    "a message is brief and not empty");
    return true;
  }
}

File::File(std::string_view bytes, Kind kind) {
  int ends[2] = {-1, -1};
  if (kind == Kind::mapped)
    ends[1] = ::memfd_create("input", MFD_CLOEXEC);
  else
    expect_property(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "the system gives a pipe");
  expect_property(
      ::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
      "the input fits into memory or a pipe");
  descriptor_ = kind == Kind::mapped ? ends[1] : ends[0];
  if (kind == Kind::pipe) ::close(ends[1]);  // the reader comes to an end
}

File::~File() { ::close(descriptor_); }

std::filesystem::path File::path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

}  // namespace tapegrad::attack

// Found by its name by libFuzzer. To find how many threads are possible takes more memory than it
// allows.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  tapegrad::set_threads(1);
  return 0;
}

// Found by its name by libFuzzer, and by corpus.cpp.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace tapegrad::attack;
  refuses([&] { attack({reinterpret_cast<const char*>(data), size}); });
  return 0;
}
