/* URI templates (RFC 6570), one way: from variables to the URI. (The other way, from a URI to its variables, is the host's work.) */
#include <stdlib.h>
#include <string.h>

#include "wharf_internal.h"

typedef struct buffer {
  char *text;
  size_t length;
} buffer;

static void put(buffer *buffer, const char *text, size_t length) {
  /* Short texts, one after the other: grown by wharf_alloc they would all live on until the call ends. */
  buffer->text = wharf_realloc(buffer->text, buffer->length + length + 1);
  memcpy(buffer->text + buffer->length, text, length);
  buffer->length += length;
  buffer->text[buffer->length] = 0;
}

/* RFC 3986 section 2.3; with `reserved` also what section 2.2 reserves, without `?`, `#`, `[` and `]`, so that it can be matched again. */
static bool stays(unsigned char c, bool reserved) {
  if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) return true;
  return c && (strchr("-._~", c) || (reserved && strchr(":/@!$&'()*+,;=", c)));
}

static void put_value(buffer *buffer, const char *value, bool reserved) {
  for (; *value; value++) {
    unsigned char c = (unsigned char)*value;
    if (stays(c, reserved)) {
      put(buffer, value, 1);
    } else {
      char triplet[3] = {'%', "0123456789ABCDEF"[c >> 4], "0123456789ABCDEF"[c & 15]};
      put(buffer, triplet, 3);
    }
  }
}

/* One expression, what stands between `{` and `}`. */
static void put_expression(buffer *buffer, const char *text, const char *end, const wharf_variable *variables) {
  char operator = 0;
  if (text < end && strchr("+#./?&", *text)) operator = *text++;
  bool named = operator == '?' || operator == '&', reserved = operator == '+' || operator == '#';
  const char *between = operator == '.' ? "." : operator == '/' ? "/" : named ? "&" : ",";
  bool first = true;
  while (text < end) {
    size_t length = 0;
    while (text + length < end && text[length] != ',') length++;
    size_t name = length && text[length - 1] == '*' ? length - 1 : length;
    bool again = false; /* a second value of one that is not exploded: after a comma */
    for (const wharf_variable *variable = variables; variable && variable->name; variable++) {
      if (strlen(variable->name) != name || memcmp(variable->name, text, name) != 0 || !variable->value) continue;
      bool joined = again && name == length;
      if (joined) put(buffer, ",", 1);
      else if (!first) put(buffer, between, 1);
      else if (operator && operator != '+') put(buffer, &operator, 1);
      if (named && !joined) put(buffer, text, name), put(buffer, "=", 1);
      put_value(buffer, variable->value, reserved);
      first = false, again = true;
    }
    text += length < (size_t)(end - text) ? length + 1 : length;
  }
}

const char *wharf_expand(const char *uri_template, const wharf_variable *variables) {
  buffer buffer = {0};
  put(&buffer, "", 0);
  while (*uri_template) {
    size_t literal = strcspn(uri_template, "{");
    put(&buffer, uri_template, literal);
    uri_template += literal;
    const char *end = strchr(uri_template, '}');
    if (!end) break;
    put_expression(&buffer, uri_template + 1, end, variables);
    uri_template = end + 1;
  }
  const char *uri = wharf_format("%s", buffer.text);
  free(buffer.text);
  return uri;
}
