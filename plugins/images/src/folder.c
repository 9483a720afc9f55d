/* The granted folder, as C's library shows it: what Zig calls for it. */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "wharf.h"

/* Folders in folders; links that go round end here. */
enum { DEPTH = 16 };

static void walk(const char *folder, const char *below, int depth, void (*found)(const char *path, double size, void *context), void *context) {
  DIR *open = opendir(folder);
  if (!open) return;
  for (struct dirent *entry; (entry = readdir(open));) {
    if (entry->d_name[0] == '.') continue;
    const char *path = wharf_format("%s/%s", folder, entry->d_name);
    const char *shown = *below ? wharf_format("%s/%s", below, entry->d_name) : wharf_format("%s", entry->d_name);
    struct stat about;
    if (stat(path, &about) != 0) continue;
    if (S_ISDIR(about.st_mode) && depth < DEPTH) walk(path, shown, depth + 1, found, context);
    else if (S_ISREG(about.st_mode)) found(shown, (double)about.st_size, context);
  }
  closedir(open);
}

/* Calls `found` for each file below, but hidden ones, with its path in the folder. */
void folder_walk(const char *folder, void (*found)(const char *path, double size, void *context), void *context) { walk(folder, "", 0, found, context); }

/* The beginning of a file; false if there is none. */
bool folder_read(const char *path, unsigned char *bytes, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  *size = fread(bytes, 1, *size, file);
  bool fine = !ferror(file);
  fclose(file);
  return fine;
}
