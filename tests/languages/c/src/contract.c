/* The contract fixture in C: the same resources as in every other language of tests/languages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wharf.h"

#define COUNT "contract://count"
#define SETTING "contract://setting"
#define COUNT_MS 100
#define MIB (1 << 20)

static const char *const sizes[] = {"48x48", NULL};
static const wharf_icon icon = {"data:image/png;base64,AAAA", "image/png", sizes, WHARF_DARK};
static const wharf_annotations annotations = {WHARF_USER | WHARF_ASSISTANT, true, 0.5, 1700000000000};
static const char meta[] = "{\"contract/x\": 1}";

static unsigned counted;

static wharf_status read_full(const wharf_request *request, wharf_reply *reply) {
  wharf_reuse_ms(reply, 1000);
  if (wharf_unchanged(reply, "1")) return WHARF_OK;
  return wharf_text(reply, "hello");
}

static wharf_status read_utf8(const wharf_request *request, wharf_reply *reply) {
  const char *text = "grüße, 世界";
  return wharf_utf8(reply, text, strlen(text));
}

static wharf_status read_blob(const wharf_request *request, wharf_reply *reply) {
  unsigned char bytes[256];
  for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)i;
  return wharf_blob(reply, bytes, sizeof bytes);
}

static wharf_status read_two(const wharf_request *request, wharf_reply *reply) {
  wharf_text(reply, "one");
  return wharf_add(reply, &(wharf_contents){
      .uri = "contract://two/part",
      .mime_type = "text/markdown",
      .text = "two",
      .meta_json = "{\"contract/part\": 2}",
  });
}

static wharf_status read_count(const wharf_request *request, wharf_reply *reply) {
  return wharf_printf(reply, "%u", counted);
}

static void count_one(const char *timer, void *context) {
  counted++;
  wharf_updated(COUNT);
}

static wharf_status begin_count(const wharf_request *request) {
  return wharf_every("count", COUNT_MS, count_one, NULL);
}

static void end_count(const wharf_request *request) {
  wharf_cancel("count");
}

static wharf_status read_setting(const wharf_request *request, wharf_reply *reply) {
  const char *greeting = wharf_setting("greeting");
  return wharf_text(reply, greeting ? greeting : "none");
}

static const char *or_dash(const char *value) { return value ? value : "-"; }

static wharf_status read_echo(const wharf_request *request, wharf_reply *reply) {
  const char *word = wharf_variable_of(request, "word"), *from = wharf_variable_of(request, "from"), *to = wharf_variable_of(request, "to");
  return wharf_printf(reply, "word=%s from=%s to=%s", or_dash(word), or_dash(from), or_dash(to));
}

static void complete_echo(const wharf_completing *what, wharf_suggestions *suggestions) {
  if (strcmp(what->variable, "word") == 0) {
    wharf_suggest(suggestions, "alpha");
    wharf_suggest(suggestions, "beta");
    wharf_suggest(suggestions, "gamma");
  } else if (strcmp(what->variable, "from") == 0) {
    for (const wharf_variable *known = what->known; known->name; known++)
      if (strcmp(known->name, "word") == 0) wharf_suggest_anyway(suggestions, known->value);
  }
}

static wharf_status read_path(const wharf_request *request, wharf_reply *reply) {
  return wharf_text(reply, wharf_variable_of(request, "path"));
}

static wharf_status the_error(const wharf_request *request) {
  const char *kind = wharf_variable_of(request, "kind");
  if (strcmp(kind, "invalid") == 0) return wharf_invalid("as asked: %s", kind);
  if (strcmp(kind, "denied") == 0) return wharf_denied("as asked: %s", kind);
  if (strcmp(kind, "unavailable") == 0) return wharf_unavailable("as asked: %s", kind);
  if (strcmp(kind, "failed") == 0) return wharf_failed("as asked: %s", kind);
  return wharf_not_found();
}

static wharf_status read_error(const wharf_request *request, wharf_reply *reply) {
  return the_error(request);
}

static void allocate_all(void) {
  for (;;) {
    volatile char *memory = malloc(MIB);
    if (!memory) abort();
    for (size_t i = 0; i < MIB; i += 1024) memory[i] = 1;
  }
}

static wharf_status read_do(const wharf_request *request, wharf_reply *reply) {
  const char *what = wharf_variable_of(request, "what");
  if (strcmp(what, "trap") == 0) {
    fputs("about to die\n", stderr);
    abort();
  }
  if (strcmp(what, "loop") == 0)
    for (volatile unsigned turns = 0;; turns++) continue;
  if (strcmp(what, "allocate") == 0) allocate_all();
  if (strcmp(what, "stderr") == 0) {
    fputs("a line from the guest\n", stderr);
    return wharf_text(reply, "done");
  }
  if (strcmp(what, "random") == 0) return wharf_printf(reply, "%08x%08x", arc4random(), arc4random());
  if (strcmp(what, "now") == 0) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return wharf_printf(reply, "%.0f", now.tv_sec * 1000.0 + now.tv_nsec / 1000000);
  }
  if (strcmp(what, "announce") == 0) {
    wharf_updated(SETTING);
    return wharf_text(reply, "done");
  }
  return wharf_not_found();
}

void wharf_start(void) {
  wharf_page_size(1);
  wharf_add_resource(&(wharf_resource){
      .uri = "contract://full",
      .title = "Everything",
      .description = "Every field that a list can carry.",
      .mime_type = "text/plain",
      .size = 5,
      .icons = &icon,
      .icon_count = 1,
      .annotations = &annotations,
      .meta_json = meta,
      .read = read_full,
      .subscribable = true,
  });
  wharf_add_resource(&(wharf_resource){.uri = "contract://utf8", .mime_type = "text/plain", .read = read_utf8, .subscribable = true});
  wharf_add_resource(&(wharf_resource){.uri = "contract://blob", .mime_type = "application/octet-stream", .read = read_blob, .subscribable = true});
  wharf_add_resource(&(wharf_resource){.uri = "contract://two", .mime_type = "text/plain", .read = read_two, .subscribable = true});
  wharf_add_resource(
      &(wharf_resource){.uri = COUNT, .mime_type = "text/plain", .read = read_count, .on_subscribe = begin_count, .on_unsubscribe = end_count});
  wharf_add_resource(&(wharf_resource){.uri = SETTING, .mime_type = "text/plain", .read = read_setting, .subscribable = true});
  wharf_add_template(&(wharf_resource){
      .uri = "contract://echo/{word}{?from,to}",
      .title = "Echo",
      .description = "What the URI says.",
      .mime_type = "text/plain",
      .icons = &icon,
      .icon_count = 1,
      .annotations = &annotations,
      .meta_json = meta,
      .read = read_echo,
      .subscribable = true,
      .complete = complete_echo,
  });
  wharf_add_template(&(wharf_resource){.uri = "contract://path/{+path}", .read = read_path, .subscribable = true});
  wharf_add_template(&(wharf_resource){.uri = "contract://error/{kind}", .read = read_error, .on_subscribe = the_error});
  wharf_add_template(&(wharf_resource){.uri = "contract://do/{what}", .read = read_do, .subscribable = true});
}
