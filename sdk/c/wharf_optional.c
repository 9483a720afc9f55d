/* What a world may leave out: completions (then compile with -DWHARF_NO_COMPLETIONS), and file watching, which is here if the world has it. */
#include <stdlib.h>
#include <string.h>

#include "wharf_internal.h"

#ifndef WHARF_NO_COMPLETIONS

/* The host passes on no more than this. */
enum { SUGGESTIONS = 100 };

struct wharf_suggestions {
  const char *typed;
  my_provider_list_string_t values;
  uint32_t total;
};

void wharf_suggest_anyway(wharf_suggestions *suggestions, const char *value) {
  suggestions->total++;
  if (suggestions->values.len == SUGGESTIONS) return;
  if (!suggestions->values.ptr) suggestions->values.ptr = wharf_malloc(SUGGESTIONS * sizeof *suggestions->values.ptr);
  suggestions->values.ptr[suggestions->values.len++] = wharf_give(value);
}

void wharf_suggest(wharf_suggestions *suggestions, const char *value) {
  if (strncmp(value, suggestions->typed, strlen(suggestions->typed)) == 0) wharf_suggest_anyway(suggestions, value);
}

bool exports_wharf_provider_completions_complete(exports_wharf_provider_completions_completion_request_t *asked,
                                                 exports_wharf_provider_completions_completion_t *answer, error *error) {
  (void)error;
  wharf_begin();
  const wharf_resource *family = wharf_template_of(asked->uri_template);
  wharf_completing what = {
      .variable = wharf_borrow(asked->argument),
      .value = wharf_borrow(asked->value),
      .known = wharf_borrow_variables(asked->known),
      .context = family ? family->context : NULL,
  };
  exports_wharf_provider_completions_completion_request_free(asked);
  wharf_suggestions suggestions = {.typed = what.value};
  if (family && family->complete) family->complete(&what, &suggestions);
  *answer = (exports_wharf_provider_completions_completion_t){
      .values = suggestions.values,
      .total = {true, suggestions.total},
      .has_more = {true, suggestions.total > suggestions.values.len},
  };
  wharf_end();
  return true;
}

#endif

/* The generated header has this name if the world has `file-handler`. */
#ifdef EXPORTS_WHARF_PROVIDER_FILE_HANDLER_CHANGE_CREATED

typedef struct watch {
  struct watch *next;
  char *name;
  wharf_changed *changed;
  void *context;
} watch;

static watch *watches;

static watch **find_watch(const char *name) {
  watch **place = &watches;
  while (*place && strcmp((*place)->name, name) != 0) place = &(*place)->next;
  return place;
}

wharf_status wharf_watch(const char *name, const char *path, bool recursive, wharf_changed *changed, void *context) {
  string name_text = wharf_lend(name), path_text = wharf_lend(path);
  error error;
  if (!wharf_provider_file_watch_watch(&name_text, &path_text, recursive, &error)) return wharf_take_error(&error);
  watch *watch = *find_watch(name);
  if (!watch) {
    watch = wharf_malloc(sizeof *watch);
    watch->name = wharf_keep("%s", name);
    watch->next = watches;
    watches = watch;
  }
  watch->changed = changed;
  watch->context = context;
  return WHARF_OK;
}

void wharf_unwatch(const char *name) {
  string text = wharf_lend(name);
  wharf_provider_file_watch_unwatch(&text);
  watch **place = find_watch(name), *gone = *place;
  if (!gone) return;
  *place = gone->next;
  free(gone->name);
  free(gone);
}

void exports_wharf_provider_file_handler_changed(exports_wharf_provider_file_handler_list_file_change_t *changes) {
  static const wharf_change kinds[] = {WHARF_CREATED, WHARF_MODIFIED, WHARF_REMOVED, WHARF_RESCAN};
  wharf_begin();
  for (size_t i = 0; i < changes->len; i++) {
    exports_wharf_provider_file_handler_file_change_t *change = &changes->ptr[i];
    const char *name = wharf_borrow(change->name);
    watch *watch = *find_watch(name);
    if (watch) watch->changed(name, wharf_borrow(change->path), kinds[change->change & 3], watch->context);
  }
  exports_wharf_provider_file_handler_list_file_change_free(changes);
  wharf_end();
}

#endif
