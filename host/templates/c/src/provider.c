/* {{name}}, a Wharf provider: what it offers, and how it is read. What the resources hold is in content.c and content.h.
   sdk/wharf.h says what there is to call; the contract itself, with a comment on every item, is in wit/deps/provider. */
#include "content.h"
#include "wharf.h"

#define SECONDS "{{scheme}}://seconds"
#define EVERY_SECOND 1000 /* milliseconds */

/* Calls come one at a time, all to this one instance, which lives until the next reload: what one call leaves here is there in the next. */
static unsigned counted;

static wharf_status read_sentence(const wharf_request *request, wharf_reply *reply) {
  return wharf_text(reply, SENTENCE);
}

static wharf_status read_greeting(const wharf_request *request, wharf_reply *reply) {
  const char *name = wharf_variable_of(request, "name");
  int length = greeting(NULL, 0, name);
  char *text = wharf_alloc((size_t)length + 1); /* freed when this call has ended */
  greeting(text, (size_t)length + 1, name);
  return wharf_text(reply, text);
}

static wharf_status read_seconds(const wharf_request *request, wharf_reply *reply) {
  char text[32];
  seconds(text, sizeof text, counted);
  return wharf_text(reply, text);
}

/* First change what is read, then say so. */
static void a_second_has_passed(const char *timer, void *context) {
  counted++;
  wharf_updated(SECONDS);
}

/* The first subscriber is there. No call may wait, so time comes from the host. */
static wharf_status begin_seconds(const wharf_request *request) {
  return wharf_every("seconds", EVERY_SECOND, a_second_has_passed, NULL);
}

/* Nobody is left. */
static void end_seconds(const wharf_request *request) {
  wharf_cancel("seconds");
}

void wharf_start(void) {
  wharf_add_resource(&(wharf_resource){
      .uri = "{{scheme}}://sentence",
      .title = "A sentence",
      .mime_type = "text/plain",
      .read = read_sentence,
      .subscribable = true, /* it changes only when this program does: the host tells of that by itself */
  });
  wharf_add_resource(&(wharf_resource){
      .uri = SECONDS,
      .title = "How long somebody has been subscribed",
      .mime_type = "text/plain",
      .read = read_seconds,
      .on_subscribe = begin_seconds,
      .on_unsubscribe = end_seconds,
  });
  wharf_add_template(&(wharf_resource){
      .uri = "{{scheme}}://greeting/{name}",
      .title = "A greeting for anybody",
      .mime_type = "text/plain",
      .read = read_greeting,
      .subscribable = true,
  });
}
