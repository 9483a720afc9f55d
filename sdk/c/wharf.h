/*
 * wharf.h: write a Wharf provider in C, C++ or Zig.
 *
 * Define `wharf_start`, and add in it what there is: resources and templates, each with a function that reads it. Everything else,
 * from the lists to the dispatch of timers, is done here, on top of the plain contract (`wit/`) and its generated bindings (`gen/`).
 *
 * Memory, in three rules:
 *   1. What a function here gives you, and what your functions are given, lives until the call you are in has ended. What says that
 *      it lives for good does.
 *   2. What you give to a function here it copies. Only a `wharf_resource` keeps what it points to: string literals, or `wharf_keep`.
 *   3. So free nothing but what you have from `malloc` yourself.
 *
 * No call may wait, and there are no threads. A call that returns an error leaves the provider as it is; `abort`, a null pointer
 * that is called and a call that takes too long end the instance, and the host makes a fresh one. What goes to stderr is in the host's log.
 *
 * Strings are UTF-8 and end with a NUL: no URI, variable or setting can hold one.
 */
#ifndef WHARF_H
#define WHARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WHARF_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define WHARF_PRINTF(text, first)
#endif

/* Yours: called once, before everything else, with settings at hand. */
void wharf_start(void);

/* ---- Answers and errors ---- */

/* What became of a call. Not-found: the host asks the next provider that may own the URI; any other error is final. */
typedef enum wharf_status {
  WHARF_OK,
  WHARF_NOT_FOUND,
  WHARF_INVALID,     /* the request cannot be right: a bad variable */
  WHARF_DENIED,      /* it exists, and may not be had */
  WHARF_UNAVAILABLE, /* not now; the same request may succeed later */
  WHARF_FAILED       /* anything else */
} wharf_status;

/* To be returned: `return wharf_invalid("%s is no date", date);`. The user and the model see the text: say what to do, and no secrets. */
wharf_status wharf_not_found(void);
wharf_status wharf_invalid(const char *format, ...) WHARF_PRINTF(1, 2);
wharf_status wharf_denied(const char *format, ...) WHARF_PRINTF(1, 2);
wharf_status wharf_unavailable(const char *format, ...) WHARF_PRINTF(1, 2);
wharf_status wharf_failed(const char *format, ...) WHARF_PRINTF(1, 2);
/* The text of the error that a function here has just returned. "" if there is none. */
const char *wharf_message(void);

/* ---- Reading ---- */

/* Name and value of a variable of a template. Lists of them end with one whose name is NULL. */
typedef struct wharf_variable {
  const char *name;
  const char *value;
} wharf_variable;

typedef struct wharf_request {
  const char *uri;                 /* what the client sent, unchanged */
  const char *uri_template;        /* NULL: no template, but a resource of its own */
  const wharf_variable *variables; /* percent-decoded; an exploded one (`{/seg*}`) comes once for each value */
  const char *if_none_match;       /* see wharf_unchanged; NULL if there is none, and always when subscribing */
  void *context;                   /* the resource's */
} wharf_request;

/* The value of a variable; NULL if the URI leaves it out. */
const char *wharf_variable_of(const wharf_request *request, const char *name);

/* What is being answered. */
typedef struct wharf_reply wharf_reply;

/* One content: `text`, or `bytes` and `size`. */
typedef struct wharf_contents {
  const char *uri;       /* NULL: the URI asked for; else that of a part of it */
  const char *mime_type; /* NULL: what the resource or template says */
  const char *text;      /* NULL: `bytes` */
  const void *bytes;
  size_t size;
  bool utf8;             /* the bytes are text */
  const char *meta_json; /* a JSON object, for MCP's `_meta`; NULL: none */
} wharf_contents;

/* Each adds one content, of at most 16 MiB in all, and returns WHARF_OK. */
wharf_status wharf_text(wharf_reply *reply, const char *text);
wharf_status wharf_printf(wharf_reply *reply, const char *format, ...) WHARF_PRINTF(2, 3);
wharf_status wharf_utf8(wharf_reply *reply, const char *text, size_t size);
wharf_status wharf_blob(wharf_reply *reply, const void *bytes, size_t size);
wharf_status wharf_add(wharf_reply *reply, const wharf_contents *contents);

/* Names the version of what is read (at most 1024 bytes, another whenever the contents differ). If the host still has just that, this
   is true, and nothing need be added: `if (wharf_unchanged(reply, revision)) return WHARF_OK;`. */
bool wharf_unchanged(wharf_reply *reply, const char *version);
/* How long the host may answer from this without asking again. Neither: it asks each time. */
void wharf_reuse_ms(wharf_reply *reply, uint32_t ms);
void wharf_reuse_until_announced(wharf_reply *reply);

typedef wharf_status wharf_read(const wharf_request *request, wharf_reply *reply);

/* ---- What there is ---- */

typedef enum wharf_theme { WHARF_ANY_THEME, WHARF_LIGHT, WHARF_DARK } wharf_theme;

typedef struct wharf_icon {
  const char *src;          /* an https: URL or a data: URI */
  const char *mime_type;    /* may be NULL */
  const char *const *sizes; /* "48x48", …, then NULL; or NULL */
  wharf_theme theme;        /* the background it is drawn for */
} wharf_icon;

enum { WHARF_USER = 1, WHARF_ASSISTANT = 2 };

typedef struct wharf_annotations {
  unsigned audience; /* WHARF_USER | WHARF_ASSISTANT; 0: not said */
  bool has_priority;
  double priority;      /* 0.0, entirely optional, to 1.0, effectively required */
  double last_modified; /* milliseconds since 1970; 0: not said */
} wharf_annotations;

/* Where `list` puts a family's members, and `complete` its suggestions. */
typedef struct wharf_list wharf_list;
typedef struct wharf_suggestions wharf_suggestions;

typedef struct wharf_completing {
  const char *variable;        /* the variable being filled in */
  const char *value;           /* what is typed of it, maybe "" */
  const wharf_variable *known; /* those that are filled in */
  void *context;               /* the template's */
} wharf_completing;

/* A resource, or a template: then `uri` is an RFC 6570 URI template. Whatever is left out (0, NULL) is not said. */
typedef struct wharf_resource {
  const char *uri;
  const char *name; /* NULL: the last segment of the URI */
  const char *title;
  const char *description;
  const char *mime_type;
  double size; /* bytes */
  const wharf_icon *icons;
  size_t icon_count;
  const wharf_annotations *annotations;
  const char *meta_json; /* a JSON object */

  wharf_read *read;

  /* Whether it tells of changes. Without `on_subscribe`: when you announce it, and at a reload. */
  bool subscribable;
  /* The first subscriber is there: begin to look, call wharf_updated at each change. An error: it cannot be watched. */
  wharf_status (*on_subscribe)(const wharf_request *request);
  /* The last one left. */
  void (*on_unsubscribe)(const wharf_request *request);

  /* For templates. `list` gives those of the family that can be enumerated; it is called for each list and also when one of them
     is read. `complete` suggests values while someone types. */
  void (*list)(wharf_list *list, void *context);
  void (*complete)(const wharf_completing *what, wharf_suggestions *suggestions);

  /* Whatever you like: handed to the functions above. */
  void *context;
} wharf_resource;

/* The struct is copied, what it points to is not. In the order in which it is to be listed or tried. */
void wharf_add_resource(const wharf_resource *resource);
void wharf_add_template(const wharf_resource *template_);

/* One member of a family: the values of the template's variables, ended by {NULL}, and what else there is to say (NULL: as the template). */
void wharf_list_add(wharf_list *list, const wharf_variable *variables, const wharf_resource *details);
/* A value, if it begins with what is typed; and one that is suggested whatever is typed. */
void wharf_suggest(wharf_suggestions *suggestions, const char *value);
void wharf_suggest_anyway(wharf_suggestions *suggestions, const char *value);

/* The URI of one member of a family: to announce it, for instance. */
const char *wharf_expand(const char *uri_template, const wharf_variable *variables);

/* How many entries one page of the list has: 1000. */
void wharf_page_size(size_t entries);

/* ---- Changes, time, settings ---- */

/* The content of this URI has changed, or may have: call it after what `read` answers has changed. */
void wharf_updated(const char *uri);
/* What is listed has changed. */
void wharf_list_changed(void);

typedef void wharf_timer(const char *name, void *context);
/* Calls `fire` once after so many milliseconds, or each time they have passed; at least 100. One of the same name is replaced. */
wharf_status wharf_after(const char *name, uint32_t ms, wharf_timer *fire, void *context);
wharf_status wharf_every(const char *name, uint32_t ms, wharf_timer *fire, void *context);
void wharf_cancel(const char *name);

/* The setting of this name in wharf.toml, or NULL; one in a table has a dotted name. Lives for good. */
const char *wharf_setting(const char *name);
/* All of them, sorted by name, ended by {NULL}. Lives for good. */
const wharf_variable *wharf_settings(void);

/* ---- Files: if the world imports `file-watch` and exports `file-handler` ---- */

typedef enum wharf_change { WHARF_CREATED, WHARF_MODIFIED, WHARF_REMOVED, WHARF_RESCAN } wharf_change;
typedef void wharf_changed(const char *name, const char *path, wharf_change change, void *context);
/* Calls `changed` for each change of a granted file or folder; RESCAN: look at everything below `path`. */
wharf_status wharf_watch(const char *name, const char *path, bool recursive, wharf_changed *changed, void *context);
void wharf_unwatch(const char *name);

/* ---- Memory ---- */

/* Zeroed memory, and formatted text, until the call has ended. */
void *wharf_alloc(size_t size);
char *wharf_format(const char *format, ...) WHARF_PRINTF(1, 2);
/* Formatted text for good: for `wharf_start`. */
char *wharf_keep(const char *format, ...) WHARF_PRINTF(1, 2);

#ifdef __cplusplus
}
#endif
#endif
