/* What the parts of the SDK share. The world is called `my-provider`, hence the names. */
#ifndef WHARF_INTERNAL_H
#define WHARF_INTERNAL_H

#include "my_provider.h"
#include "wharf.h"

typedef my_provider_string_t string;
typedef my_provider_option_string_t option_string;
typedef wharf_provider_types_error_t error;

/* Begins a call: the first one of all calls `wharf_start`. Each ends with `wharf_end`, which frees what was to live until then. */
void wharf_begin(void);
void wharf_end(void);

/* `malloc` and `realloc` that end the instance where there is no memory. */
void *wharf_malloc(size_t size);
void *wharf_realloc(void *memory, size_t size);

/* A copy that ends with a NUL, until the call ends. */
const char *wharf_borrow(string text);
/* A copy in memory that goes to the host, which the generated `cabi_post_…` frees when the host has taken it. NULL: none. */
string wharf_give(const char *text);
option_string wharf_give_option(const char *text);
/* Not a copy: for the arguments of imports, which the host only looks at. */
string wharf_lend(const char *text);

/* Variables until the call ends; the template of this name, or NULL. */
const wharf_variable *wharf_borrow_variables(my_provider_list_tuple2_string_string_t list);
const wharf_resource *wharf_template_of(string uri_template);

/* An error of a handler, for the host; and one of an import, for the author. */
error wharf_error(wharf_status status);
wharf_status wharf_take_error(error *error);

#endif
