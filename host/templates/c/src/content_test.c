#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "content.h"

int main(void) {
  char text[64];

  greeting(text, sizeof text, "Ada");
  assert(strcmp(text, "Hello, Ada!") == 0);

  seconds(text, sizeof text, 0);
  assert(strcmp(text, "0 seconds") == 0);
  seconds(text, sizeof text, 1);
  assert(strcmp(text, "1 second") == 0);

  puts("3 passed, 0 failed");
}
