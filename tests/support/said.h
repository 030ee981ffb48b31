#pragma once

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

namespace tapegrad::testing {

/// What `body` writes to standard error, or to another stream.
inline std::string said_by(const std::function<void()>& body, std::FILE* stream = stderr) {
  std::FILE* const caught = std::tmpfile();
  std::fflush(stream);
  const int saved = dup(fileno(stream));
  dup2(fileno(caught), fileno(stream));
  body();
  std::fflush(stream);
  dup2(saved, fileno(stream));
  close(saved);
  std::rewind(caught);
  std::string said;
  for (int c = std::fgetc(caught); c != EOF; c = std::fgetc(caught)) said += static_cast<char>(c);
  std::fclose(caught);
  return said;
}

}  // namespace tapegrad::testing
