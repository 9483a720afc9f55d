/* Dates, places and texts. */
#ifndef ALMANAC_H
#define ALMANAC_H

#include <stdbool.h>
#include <stddef.h>

typedef struct place {
  const char *name;
  double latitude, longitude; /* degrees, north and east positive */
  double offset;              /* of its clocks from UTC, in days */
} place;

/* The Julian day at which a date `2026-11-30` begins in UTC; false if it is none from 1900 to 2099. */
bool read_date(const char *text, double *midnight);
/* `52.52, 13.405` or `52.52, 13.405, +01:00`. */
bool read_place(const char *text, place *place);
/* The Julian day in UTC at which the civil day there begins in which a moment (Julian day, UTC) lies. */
double midnight_at(const place *place, double moment);

/* Texts in Markdown, written as `snprintf` does. Both hang on the day alone: `midnight` is the Julian day in UTC at which it begins. */
int sun_text(char *text, size_t size, const place *place, double midnight);
int moon_text(char *text, size_t size, double midnight);

#endif
