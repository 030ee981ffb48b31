#include <dlfcn.h>

#include <cstdio>

// Usage: host [LIBRARY...] PLUGIN
int main(int count, char** arguments) {
  void* plugin = nullptr;
  for (int i = 1; i < count; ++i) {
    plugin = dlopen(arguments[i], RTLD_NOW);
    if (plugin == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
  }
  const auto slope = reinterpret_cast<double (*)(double)>(dlsym(plugin, "slope_of_cube"));
  return slope != nullptr && slope(2) == 12 ? 0 : 1;
}
