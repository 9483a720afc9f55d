/* The SDK's URI templates, on this machine: RFC 6570's own examples, sections 3.2.2 to 3.2.9, as far as the host matches them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wharf.h"

/* What wharf_expand.c has of the rest of the SDK. */
void *wharf_realloc(void *memory, size_t size) { return realloc(memory, size); }
char *wharf_format(const char *format, ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&text, format, arguments) < 0) abort();
  va_end(arguments);
  return text;
}

int main(void) {
  static const wharf_variable variables[] = {{"var", "value"}, {"hello", "Hello World!"}, {"path", "/foo/bar"}, {"x", "1024"},      {"y", "768"},
                                             {"list", "red"},  {"list", "green"},         {"list", "blue"},     {"who", "fred?"},   {"odd", "\xc3\xbc%"}, {NULL, NULL}};
  static const char *const cases[][2] = {
      {"{var}", "value"},           {"a/{hello}/b", "a/Hello%20World%21/b"}, {"{+hello}", "Hello%20World!"}, {"{+path}/here", "/foo/bar/here"},
      {"{path}", "%2Ffoo%2Fbar"},   {"map?{x,y}", "map?1024,768"},           {"{#x,hello,y}", "#1024,Hello%20World!,768"},
      {"X{.var}", "X.value"},       {"{/var,x}/here", "/value/1024/here"},   {"{/list*}", "/red/green/blue"}, {"{list}", "red,green,blue"},
      {"{?x,y}", "?x=1024&y=768"},  {"{?x,undef,y}", "?x=1024&y=768"},       {"{?undef}", ""},                {"{&x}", "&x=1024"},
      {"{?list*}", "?list=red&list=green&list=blue"}, {"{?list}", "?list=red,green,blue"}, {"{+who}", "fred%3F"}, {"{odd}", "%C3%BC%25"},
      {"{undef}", ""},              {"no end {var", "no end "},              {"", ""},
  };
  int failed = 0, count = sizeof cases / sizeof *cases;
  for (int i = 0; i < count; i++) {
    const char *uri = wharf_expand(cases[i][0], variables);
    if (strcmp(uri, cases[i][1]) == 0) continue;
    printf("%s: %s, should be %s\n", cases[i][0], uri, cases[i][1]);
    failed++;
  }
  printf("%d passed, %d failed\n", count - failed, failed);
  return failed != 0;
}
