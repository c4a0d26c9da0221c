// Loads shared libraries side by side, each in a scope of its own, and runs the echo of each.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  using run_echo = int (*)();
  run_echo plugins[8] = {};
  for (int i = 1; i < argc && i <= 8; ++i) {
    void* library = ::dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    plugins[i - 1] = library ? reinterpret_cast<run_echo>(::dlsym(library, "run_echo")) : nullptr;
    if (!plugins[i - 1]) {
      std::fprintf(stderr, "%s\n", ::dlerror());
      return 1;
    }
  }
  for (int round = 0; round < 2; ++round) {
    for (const run_echo plugin : plugins) {
      if (plugin && plugin() != 0) return 1;
    }
  }
  return 0;
}
