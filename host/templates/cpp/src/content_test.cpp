#undef NDEBUG
#include <cassert>
#include <cstdio>

#include "content.hpp"

int main() {
  assert(greeting("Ada") == "Hello, Ada!");
  assert(seconds(0) == "0 seconds");
  assert(seconds(1) == "1 second");
  std::puts("3 passed, 0 failed");
}
