#include <dlfcn.h>

#include <cstdio>

// Usage: host PLUGIN
int main(int, char** arguments) {
  void* const plugin = dlopen(arguments[1], RTLD_NOW);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto slope = reinterpret_cast<double (*)(double)>(dlsym(plugin, "slope_of_cube"));
  return slope != nullptr && slope(2) == 12 ? 0 : 1;
}
