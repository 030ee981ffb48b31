#pragma once

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

namespace tapegrad::testing {

/// What `body` writes to standard error.
inline std::string said_by(const std::function<void()>& body) {
  std::FILE* const caught = std::tmpfile();
  const int saved = dup(fileno(stderr));
  dup2(fileno(caught), fileno(stderr));
  body();
  std::fflush(stderr);
  dup2(saved, fileno(stderr));
  close(saved);
  std::rewind(caught);
  std::string said;
  for (int c = std::fgetc(caught); c != EOF; c = std::fgetc(caught)) said += static_cast<char>(c);
  std::fclose(caught);
  return said;
}

}  // namespace tapegrad::testing
