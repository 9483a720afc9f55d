/* What a provider offers, and how the host asks for it: the exports of the contract. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wharf_internal.h"

typedef wharf_provider_types_resource_info_t resource_info;
typedef wharf_provider_types_template_info_t template_info;
typedef wharf_provider_types_template_match_t template_match;
typedef wharf_provider_types_contents_t contents;
typedef exports_wharf_provider_resources_reading_t reading;

/* ---- What there is ---- */

typedef struct offers {
  wharf_resource *all;
  size_t count;
} offers;

static offers resources, templates;
static size_t page_size = 1000;

static void offer(offers *offers, const wharf_resource *resource) {
  offers->all = wharf_realloc(offers->all, (offers->count + 1) * sizeof *offers->all);
  offers->all[offers->count++] = *resource;
}

void wharf_add_resource(const wharf_resource *resource) { offer(&resources, resource); }
void wharf_add_template(const wharf_resource *resource) { offer(&templates, resource); }
void wharf_page_size(size_t entries) { page_size = entries ? entries : 1; }

const char *wharf_variable_of(const wharf_request *request, const char *name) {
  for (const wharf_variable *variable = request->variables; variable && variable->name; variable++)
    if (strcmp(variable->name, name) == 0) return variable->value;
  return NULL;
}

/* The last segment of a URI; of a template, of what stands before its first variable. */
static const char *last_segment(const char *uri) {
  size_t end = strcspn(uri, "{?#");
  while (end && uri[end - 1] == '/') end--;
  size_t begin = end;
  while (begin && uri[begin - 1] != '/' && uri[begin - 1] != ':') begin--;
  return end > begin ? wharf_format("%.*s", (int)(end - begin), uri + begin) : uri;
}

/* ---- Lists ---- */

static wharf_provider_types_option_list_icon_t give_icons(const wharf_resource *resource) {
  wharf_provider_types_option_list_icon_t icons = {.is_some = resource->icon_count > 0};
  if (!icons.is_some) return icons;
  icons.val.len = resource->icon_count;
  icons.val.ptr = wharf_malloc(icons.val.len * sizeof *icons.val.ptr);
  for (size_t i = 0; i < icons.val.len; i++) {
    const wharf_icon *from = &resource->icons[i];
    wharf_provider_types_icon_t *to = &icons.val.ptr[i];
    *to = (wharf_provider_types_icon_t){.src = wharf_give(from->src), .mime_type = wharf_give_option(from->mime_type)};
    to->theme.is_some = from->theme != WHARF_ANY_THEME;
    to->theme.val = from->theme == WHARF_DARK ? WHARF_PROVIDER_TYPES_ICON_THEME_DARK : WHARF_PROVIDER_TYPES_ICON_THEME_LIGHT;
    to->sizes.is_some = from->sizes != NULL;
    size_t count = 0;
    while (from->sizes && from->sizes[count]) count++;
    if (!count) continue;
    to->sizes.val.len = count;
    to->sizes.val.ptr = wharf_malloc(count * sizeof *to->sizes.val.ptr);
    for (size_t k = 0; k < count; k++) to->sizes.val.ptr[k] = wharf_give(from->sizes[k]);
  }
  return icons;
}

static wharf_provider_types_option_annotations_t give_annotations(const wharf_resource *resource) {
  wharf_provider_types_option_annotations_t option = {.is_some = resource->annotations != NULL};
  if (!option.is_some) return option;
  const wharf_annotations *from = resource->annotations;
  wharf_provider_types_annotations_t *to = &option.val;
  if (from->audience & (WHARF_USER | WHARF_ASSISTANT)) {
    to->audience.is_some = true;
    to->audience.val.ptr = wharf_malloc(2);
    if (from->audience & WHARF_USER) to->audience.val.ptr[to->audience.val.len++] = WHARF_PROVIDER_TYPES_ROLE_USER;
    if (from->audience & WHARF_ASSISTANT) to->audience.val.ptr[to->audience.val.len++] = WHARF_PROVIDER_TYPES_ROLE_ASSISTANT;
  }
  to->priority.is_some = from->has_priority;
  to->priority.val = from->priority;
  to->last_modified.is_some = from->last_modified != 0;
  to->last_modified.val = from->last_modified;
  return option;
}

static resource_info give_resource(const char *uri, const wharf_resource *resource) {
  return (resource_info){
      .uri = wharf_give(uri),
      .name = wharf_give(resource->name ? resource->name : last_segment(uri)),
      .title = wharf_give_option(resource->title),
      .description = wharf_give_option(resource->description),
      .mime_type = wharf_give_option(resource->mime_type),
      .size = {.is_some = resource->size != 0, .val = resource->size},
      .icons = give_icons(resource),
      .annotations = give_annotations(resource),
      .meta_json = wharf_give_option(resource->meta_json),
  };
}

/* A page that is being filled; or, with `wanted`, a search for the variables of one URI. */
struct wharf_list {
  size_t seen, first;
  size_t capacity;
  wharf_provider_types_list_resource_info_t page;
  const wharf_resource *family;
  const char *wanted;
  const wharf_variable *found;
};

static void list_one(wharf_list *list, const char *uri, const wharf_resource *resource) {
  size_t place = list->seen++;
  if (place < list->first || list->page.len == page_size) return;
  if (list->page.len == list->capacity) {
    list->capacity = list->capacity ? 2 * list->capacity : 16;
    list->page.ptr = wharf_realloc(list->page.ptr, list->capacity * sizeof *list->page.ptr);
  }
  list->page.ptr[list->page.len++] = give_resource(uri, resource);
}

static const wharf_variable *copy_variables(const wharf_variable *variables) {
  size_t count = 0;
  while (variables[count].name) count++;
  wharf_variable *copy = wharf_alloc((count + 1) * sizeof *copy);
  for (size_t i = 0; i < count; i++)
    copy[i] = (wharf_variable){wharf_format("%s", variables[i].name), wharf_format("%s", variables[i].value)};
  return copy;
}

void wharf_list_add(wharf_list *list, const wharf_variable *variables, const wharf_resource *details) {
  const char *uri = wharf_expand(list->family->uri, variables);
  if (list->wanted) {
    if (!list->found && strcmp(uri, list->wanted) == 0) list->found = copy_variables(variables);
    return;
  }
  wharf_resource entry = details ? *details : (wharf_resource){0};
  if (!entry.mime_type) entry.mime_type = list->family->mime_type;
  list_one(list, uri, &entry);
}

bool exports_wharf_provider_resources_list(string *cursor, wharf_provider_types_resource_page_t *page, error *error) {
  wharf_begin();
  wharf_list list = {0};
  wharf_status status = WHARF_OK;
  if (cursor) {
    char *end;
    const char *text = wharf_borrow(*cursor);
    unsigned long first = strtoul(text, &end, 10);
    if (end == text || *end || text[0] < '1' || text[0] > '9') status = wharf_invalid("no such cursor: %s", text);
    list.first = first;
    my_provider_string_free(cursor);
  }
  if (status == WHARF_OK) {
    for (size_t i = 0; i < resources.count; i++) list_one(&list, resources.all[i].uri, &resources.all[i]);
    for (size_t i = 0; i < templates.count; i++) {
      list.family = &templates.all[i];
      if (list.family->list) list.family->list(&list, list.family->context);
    }
    if (list.first && list.first >= list.seen) status = wharf_invalid("no such cursor: the list has become shorter");
  }
  if (status == WHARF_OK) {
    *page = (wharf_provider_types_resource_page_t){.resources = list.page};
    size_t next = list.first + list.page.len;
    if (next < list.seen) page->next_cursor = wharf_give_option(wharf_format("%zu", next));
    page->reuse.is_some = true;
    page->reuse.val.tag = WHARF_PROVIDER_TYPES_REUSE_UNTIL_ANNOUNCED;
  } else {
    *error = wharf_error(status);
  }
  wharf_end();
  return status == WHARF_OK;
}

bool exports_wharf_provider_resources_templates(exports_wharf_provider_resources_list_template_info_t *list, error *error) {
  (void)error;
  wharf_begin();
  list->len = templates.count;
  list->ptr = list->len ? wharf_malloc(list->len * sizeof *list->ptr) : NULL;
  for (size_t i = 0; i < list->len; i++) {
    resource_info from = give_resource(templates.all[i].uri, &templates.all[i]);
    list->ptr[i] = (template_info){from.uri, from.name, from.title, from.description, from.mime_type, from.icons, from.annotations, from.meta_json};
  }
  wharf_end();
  return true;
}

/* ---- Whose is it? ---- */

const wharf_variable *wharf_borrow_variables(my_provider_list_tuple2_string_string_t list) {
  wharf_variable *variables = wharf_alloc((list.len + 1) * sizeof *variables);
  for (size_t i = 0; i < list.len; i++) variables[i] = (wharf_variable){wharf_borrow(list.ptr[i].f0), wharf_borrow(list.ptr[i].f1)};
  return variables;
}

const wharf_resource *wharf_template_of(string uri_template) {
  for (size_t i = 0; i < templates.count; i++) {
    const char *known = templates.all[i].uri;
    if (strlen(known) == uri_template.len && memcmp(known, uri_template.ptr, uri_template.len) == 0) return &templates.all[i];
  }
  return NULL;
}

/* Fills in the request, and finds what it is for. The host says which template a URI matched, but nothing of one that is listed. */
static const wharf_resource *find(string uri, const template_match *matched, wharf_request *request) {
  static const wharf_variable none = {NULL, NULL};
  *request = (wharf_request){.uri = wharf_borrow(uri), .variables = &none};
  const wharf_resource *found = NULL;
  for (size_t i = 0; !found && i < resources.count; i++)
    if (strcmp(resources.all[i].uri, request->uri) == 0) found = &resources.all[i];
  if (found) {
    request->context = found->context;
    return found;
  }
  if (matched) {
    found = wharf_template_of(matched->uri_template);
    request->variables = wharf_borrow_variables(matched->variables);
  }
  for (size_t i = 0; !found && !matched && i < templates.count; i++) {
    wharf_list search = {.family = &templates.all[i], .wanted = request->uri};
    if (search.family->list) search.family->list(&search, search.family->context);
    if (!search.found) continue;
    found = search.family;
    request->variables = search.found;
  }
  if (!found) return NULL;
  request->uri_template = found->uri;
  request->context = found->context;
  return found;
}

/* ---- Reading ---- */

struct wharf_reply {
  const wharf_request *request;
  reading reading;
  size_t capacity;
  bool unchanged;
};

wharf_status wharf_add(wharf_reply *reply, const wharf_contents *from) {
  exports_wharf_provider_resources_list_contents_t *list = &reply->reading.contents;
  if (list->len == reply->capacity) {
    reply->capacity = reply->capacity ? 2 * reply->capacity : 1;
    list->ptr = wharf_realloc(list->ptr, reply->capacity * sizeof *list->ptr);
  }
  contents *to = &list->ptr[list->len++];
  *to = (contents){
      .uri = wharf_give_option(from->uri),
      .mime_type = wharf_give_option(from->mime_type),
      .meta_json = wharf_give_option(from->meta_json),
  };
  if (from->text) {
    to->body.tag = WHARF_PROVIDER_TYPES_BODY_TEXT;
    to->body.val.text = wharf_give(from->text);
    return WHARF_OK;
  }
  to->body.tag = from->utf8 ? WHARF_PROVIDER_TYPES_BODY_UTF8 : WHARF_PROVIDER_TYPES_BODY_BLOB;
  to->body.val.blob = (my_provider_list_u8_t){wharf_malloc(from->size), from->size};
  if (from->size) memcpy(to->body.val.blob.ptr, from->bytes, from->size);
  else free(to->body.val.blob.ptr); /* the generated code frees none of length 0 */
  return WHARF_OK;
}

wharf_status wharf_text(wharf_reply *reply, const char *text) { return wharf_add(reply, &(wharf_contents){.text = text}); }

wharf_status wharf_utf8(wharf_reply *reply, const char *text, size_t size) {
  return wharf_add(reply, &(wharf_contents){.bytes = text, .size = size, .utf8 = true});
}

wharf_status wharf_blob(wharf_reply *reply, const void *bytes, size_t size) {
  return wharf_add(reply, &(wharf_contents){.bytes = bytes, .size = size});
}

wharf_status wharf_printf(wharf_reply *reply, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text;
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) return wharf_failed("out of memory, or no format: %s", format);
  wharf_status status = wharf_utf8(reply, text, (size_t)length);
  free(text);
  return status;
}

bool wharf_unchanged(wharf_reply *reply, const char *version) {
  if (reply->reading.version.is_some) my_provider_string_free(&reply->reading.version.val);
  reply->reading.version = wharf_give_option(version);
  const char *held = reply->request->if_none_match;
  return reply->unchanged = held && version && strcmp(held, version) == 0;
}

void wharf_reuse_ms(wharf_reply *reply, uint32_t ms) {
  reply->reading.reuse.is_some = true;
  reply->reading.reuse.val.tag = WHARF_PROVIDER_TYPES_REUSE_FOR_MS;
  reply->reading.reuse.val.val.for_ms = ms;
}

void wharf_reuse_until_announced(wharf_reply *reply) {
  reply->reading.reuse.is_some = true;
  reply->reading.reuse.val.tag = WHARF_PROVIDER_TYPES_REUSE_UNTIL_ANNOUNCED;
}

bool exports_wharf_provider_resources_read(exports_wharf_provider_resources_read_request_t *asked,
                                           exports_wharf_provider_resources_option_reading_t *answer, error *error) {
  wharf_begin();
  wharf_request request;
  const wharf_resource *resource = find(asked->uri, asked->matched.is_some ? &asked->matched.val : NULL, &request);
  if (asked->if_none_match.is_some) request.if_none_match = wharf_borrow(asked->if_none_match.val);
  exports_wharf_provider_resources_read_request_free(asked);
  wharf_reply reply = {.request = &request};
  wharf_status status = resource && resource->read ? resource->read(&request, &reply) : wharf_not_found();
  bool something = reply.reading.contents.len > 0;
  if (status == WHARF_OK && !something && !reply.unchanged) status = wharf_failed("%s gave no contents", request.uri);
  if (status == WHARF_OK && something) {
    *answer = (exports_wharf_provider_resources_option_reading_t){true, reply.reading};
  } else {
    exports_wharf_provider_resources_reading_free(&reply.reading);
    *answer = (exports_wharf_provider_resources_option_reading_t){.is_some = false};
    if (status != WHARF_OK) *error = wharf_error(status);
  }
  wharf_end();
  return status == WHARF_OK;
}

/* ---- Subscribing ---- */

/* Who is to be told of the last subscriber: the host then says the URI only. */
typedef struct subscription {
  struct subscription *next;
  const wharf_resource *resource;
  wharf_request request;
  char memory[];
} subscription;

static subscription *subscriptions;

/* All in one piece, so that one `free` takes it back. */
static void remember(const wharf_resource *resource, const wharf_request *request) {
  size_t count = 0, size = strlen(request->uri) + 1;
  for (; request->variables[count].name; count++) size += strlen(request->variables[count].name) + strlen(request->variables[count].value) + 2;
  size_t table = (count + 1) * sizeof(wharf_variable);
  subscription *kept = wharf_malloc(sizeof *kept + table + size);
  wharf_variable *variables = (wharf_variable *)kept->memory;
  char *text = kept->memory + table;
  *kept = (subscription){subscriptions, resource, *request};
  kept->request.variables = variables;
  kept->request.uri = strcpy(text, request->uri);
  text += strlen(text) + 1;
  for (size_t i = 0; i < count; i++) {
    variables[i].name = strcpy(text, request->variables[i].name);
    text += strlen(text) + 1;
    variables[i].value = strcpy(text, request->variables[i].value);
    text += strlen(text) + 1;
  }
  variables[count] = (wharf_variable){NULL, NULL};
  subscriptions = kept;
}

bool exports_wharf_provider_subscriptions_subscribe(string *uri, template_match *matched, error *error) {
  wharf_begin();
  wharf_request request;
  const wharf_resource *resource = find(*uri, matched, &request);
  my_provider_string_free(uri);
  if (matched) wharf_provider_types_template_match_free(matched);
  wharf_status status = !resource                ? wharf_not_found()
                        : resource->on_subscribe ? resource->on_subscribe(&request)
                        : resource->subscribable ? WHARF_OK
                                                 : wharf_failed("%s does not tell of changes", request.uri);
  if (status != WHARF_OK) *error = wharf_error(status);
  else if (resource->on_unsubscribe) remember(resource, &request);
  wharf_end();
  return status == WHARF_OK;
}

void exports_wharf_provider_subscriptions_unsubscribe(string *uri) {
  wharf_begin();
  const char *gone = wharf_borrow(*uri);
  my_provider_string_free(uri);
  for (subscription **place = &subscriptions; *place; place = &(*place)->next) {
    if (strcmp((*place)->request.uri, gone) != 0) continue;
    subscription *found = *place;
    *place = found->next;
    found->resource->on_unsubscribe(&found->request);
    free(found);
    break;
  }
  wharf_end();
}
