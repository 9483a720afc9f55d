/* Memory, errors, settings, announcements and timers. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wharf_internal.h"

/* ---- Memory ---- */

typedef struct block {
  struct block *next;
  max_align_t memory[];
} block;

/* What lives until the call ends, the text of an error too. */
static block *blocks;
static const char *message;

void *wharf_realloc(void *memory, size_t size) {
  void *moved = realloc(memory, size ? size : 1);
  if (!moved) {
    fputs("out of memory\n", stderr);
    abort();
  }
  return moved;
}

void *wharf_malloc(size_t size) { return wharf_realloc(NULL, size); }

void *wharf_alloc(size_t size) {
  if (size > SIZE_MAX - sizeof(block)) size = SIZE_MAX - sizeof(block);
  block *block = wharf_malloc(sizeof *block + size);
  block->next = blocks;
  blocks = block;
  return memset(block->memory, 0, size);
}

void wharf_begin(void) {
  static bool started;
  if (started) return;
  started = true;
  wharf_start();
}

void wharf_end(void) {
  while (blocks) {
    block *next = blocks->next;
    free(blocks);
    blocks = next;
  }
  message = NULL;
}

static char *format_into(void *(*memory)(size_t), const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = memory(length < 0 ? 1 : (size_t)length + 1);
  text[0] = 0;
  if (length > 0) vsnprintf(text, (size_t)length + 1, format, arguments);
  return text;
}

char *wharf_format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = format_into(wharf_alloc, format, arguments);
  va_end(arguments);
  return text;
}

char *wharf_keep(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = format_into(wharf_malloc, format, arguments);
  va_end(arguments);
  return text;
}

const char *wharf_borrow(string text) {
  char *copy = wharf_alloc(text.len + 1);
  if (text.len) memcpy(copy, text.ptr, text.len);
  return copy;
}

string wharf_give(const char *text) {
  string copy;
  my_provider_string_dup(&copy, text ? text : "");
  return copy;
}

option_string wharf_give_option(const char *text) {
  option_string option = {.is_some = text != NULL};
  if (text) option.val = wharf_give(text);
  return option;
}

string wharf_lend(const char *text) { return (string){(uint8_t *)text, strlen(text)}; }

/* ---- Errors ---- */

const char *wharf_message(void) { return message ? message : ""; }

static wharf_status say(wharf_status status, const char *format, va_list arguments) {
  message = format_into(wharf_alloc, format, arguments);
  return status;
}

#define SAYS(name, status)                        \
  wharf_status name(const char *format, ...) {    \
    va_list arguments;                            \
    va_start(arguments, format);                  \
    wharf_status said = say(status, format, arguments); \
    va_end(arguments);                            \
    return said;                                  \
  }
SAYS(wharf_invalid, WHARF_INVALID)
SAYS(wharf_denied, WHARF_DENIED)
SAYS(wharf_unavailable, WHARF_UNAVAILABLE)
SAYS(wharf_failed, WHARF_FAILED)

wharf_status wharf_not_found(void) {
  message = NULL;
  return WHARF_NOT_FOUND;
}

error wharf_error(wharf_status status) {
  error error = {.tag = WHARF_PROVIDER_TYPES_ERROR_NOT_FOUND};
  if (status == WHARF_NOT_FOUND) return error;
  error.tag = status == WHARF_INVALID       ? WHARF_PROVIDER_TYPES_ERROR_INVALID
              : status == WHARF_DENIED      ? WHARF_PROVIDER_TYPES_ERROR_DENIED
              : status == WHARF_UNAVAILABLE ? WHARF_PROVIDER_TYPES_ERROR_UNAVAILABLE
                                            : WHARF_PROVIDER_TYPES_ERROR_FAILED;
  /* All cases but not-found carry a string, in one place. */
  error.val.failed = wharf_give(wharf_message());
  message = NULL;
  return error;
}

wharf_status wharf_take_error(error *error) {
  static const wharf_status statuses[] = {WHARF_NOT_FOUND, WHARF_INVALID, WHARF_DENIED, WHARF_UNAVAILABLE, WHARF_FAILED};
  message = error->tag == WHARF_PROVIDER_TYPES_ERROR_NOT_FOUND ? NULL : wharf_borrow(error->val.failed);
  wharf_status status = error->tag < sizeof statuses / sizeof *statuses ? statuses[error->tag] : WHARF_FAILED;
  wharf_provider_types_error_free(error);
  return status;
}

/* ---- Settings ---- */

const wharf_variable *wharf_settings(void) {
  static wharf_variable *settings;
  if (settings) return settings; /* they stay as they are for the life of the instance */
  my_provider_list_tuple2_string_string_t all;
  wharf_provider_settings_all(&all);
  settings = wharf_malloc((all.len + 1) * sizeof *settings);
  for (size_t i = 0; i < all.len; i++) {
    settings[i].name = wharf_keep("%.*s", (int)all.ptr[i].f0.len, (const char *)all.ptr[i].f0.ptr);
    settings[i].value = wharf_keep("%.*s", (int)all.ptr[i].f1.len, (const char *)all.ptr[i].f1.ptr);
  }
  settings[all.len] = (wharf_variable){NULL, NULL};
  my_provider_list_tuple2_string_string_free(&all);
  return settings;
}

const char *wharf_setting(const char *name) {
  for (const wharf_variable *setting = wharf_settings(); setting->name; setting++)
    if (strcmp(setting->name, name) == 0) return setting->value;
  return NULL;
}

/* ---- Announcements ---- */

void wharf_updated(const char *uri) {
  string text = wharf_lend(uri);
  my_provider_list_string_t uris = {&text, 1};
  wharf_provider_announce_updated(&uris);
}

void wharf_list_changed(void) { wharf_provider_announce_list_changed(); }

/* ---- Timers ---- */

typedef struct timer {
  struct timer *next;
  char *name;
  wharf_timer *fire;
  void *context;
  bool again;
} timer;

static timer *timers;

static timer **find_timer(const char *name) {
  timer **place = &timers;
  while (*place && strcmp((*place)->name, name) != 0) place = &(*place)->next;
  return place;
}

static void forget_timer(const char *name) {
  timer **place = find_timer(name), *gone = *place;
  if (!gone) return;
  *place = gone->next;
  free(gone->name);
  free(gone);
}

static wharf_status start_timer(const char *name, uint32_t ms, bool again, wharf_timer *fire, void *context) {
  string text = wharf_lend(name);
  error error;
  if (!wharf_provider_timers_start(&text, ms, again ? &ms : NULL, &error)) return wharf_take_error(&error);
  /* The name may be the very one of the timer that is replaced. */
  char *kept = wharf_keep("%s", name);
  forget_timer(name);
  timer *timer = wharf_malloc(sizeof *timer);
  timer->next = timers;
  timer->name = kept;
  timer->fire = fire;
  timer->context = context;
  timer->again = again;
  timers = timer;
  return WHARF_OK;
}

wharf_status wharf_after(const char *name, uint32_t ms, wharf_timer *fire, void *context) {
  return start_timer(name, ms, false, fire, context);
}

wharf_status wharf_every(const char *name, uint32_t ms, wharf_timer *fire, void *context) {
  return start_timer(name, ms, true, fire, context);
}

void wharf_cancel(const char *name) {
  string text = wharf_lend(name);
  wharf_provider_timers_cancel(&text);
  forget_timer(name);
}

void exports_wharf_provider_timer_handler_fired(my_provider_list_string_t *names) {
  wharf_begin();
  for (size_t i = 0; i < names->len; i++) {
    const char *name = wharf_borrow(names->ptr[i]);
    timer *timer = *find_timer(name);
    if (!timer) continue; /* cancelled by one before it */
    wharf_timer *fire = timer->fire;
    void *context = timer->context;
    if (!timer->again) forget_timer(name);
    fire(name, context);
  }
  my_provider_list_string_free(names);
  wharf_end();
}
