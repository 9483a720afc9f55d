/* What this provider has to say. There is no WebAssembly here: `make test` tests it on your own machine. */
#ifndef CONTENT_H
#define CONTENT_H

#include <stddef.h>

/* What `{{scheme}}://sentence` holds. Change it and save while `wharf dev` runs: whoever is subscribed reads the new one. */
#define SENTENCE "The tide is coming in."

/* What `{{scheme}}://greeting/{name}` and `{{scheme}}://seconds` hold. Both write as `snprintf` does. */
int greeting(char *text, size_t size, const char *name);
int seconds(char *text, size_t size, unsigned count);

#endif
