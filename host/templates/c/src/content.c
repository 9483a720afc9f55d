#include "content.h"

#include <stdio.h>

int greeting(char *text, size_t size, const char *name) { return snprintf(text, size, "Hello, %s!", name); }

int seconds(char *text, size_t size, unsigned count) { return snprintf(text, size, count == 1 ? "%u second" : "%u seconds", count); }
