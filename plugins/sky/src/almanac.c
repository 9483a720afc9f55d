#include "almanac.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sky.h"

#define MINUTES_A_DAY 1440

/* Julian day of 0 h, and back: Meeus, chapter 7, for the Gregorian calendar. */
static double julian(int year, int month, int date) {
  if (month <= 2) year--, month += 12;
  int century = year / 100;
  return floor(365.25 * (year + 4716)) + floor(30.6001 * (month + 1)) + date + 2 - century + century / 4 - 1524.5;
}

static void calendar(double midnight, int *year, int *month, int *date) {
  int z = (int)floor(midnight + 0.5);
  int century = (int)((z - 1867216.25) / 36524.25);
  int a = z + 1 + century - century / 4, b = a + 1524;
  int c = (int)((b - 122.1) / 365.25), d = (int)(365.25 * c), e = (int)((b - d) / 30.6001);
  *date = b - d - (int)(30.6001 * e);
  *month = e < 14 ? e - 1 : e - 13;
  *year = *month > 2 ? c - 4716 : c - 4715;
}

bool read_date(const char *text, double *midnight) {
  int year, month, date, end = 0;
  if (strlen(text) != 10 || sscanf(text, "%4d-%2d-%2d%n", &year, &month, &date, &end) != 3 || end != 10) return false;
  if (year < 1900 || year > 2099 || month < 1 || month > 12 || date < 1) return false;
  *midnight = julian(year, month, date);
  int same_year, same_month, same_date;
  calendar(*midnight, &same_year, &same_month, &same_date);
  return same_month == month && same_date == date; /* no 30 February */
}

bool read_place(const char *text, place *place) {
  int end = 0;
  if (sscanf(text, "%lf ,%lf %n", &place->latitude, &place->longitude, &end) != 2 || !end) return false;
  place->offset = 0;
  text += end;
  if (*text == ',') {
    char sign;
    int hours, minutes;
    end = 0;
    if (sscanf(text, ", %c%2d:%2d %n", &sign, &hours, &minutes, &end) != 3 || (sign != '+' && sign != '-') || hours > 14 || minutes > 59) return false;
    place->offset = (sign == '-' ? -1 : 1) * (hours * 60 + minutes) / (double)MINUTES_A_DAY;
    text += end;
  }
  return !*text && fabs(place->latitude) <= 90 && fabs(place->longitude) <= 180;
}

double midnight_at(const place *place, double moment) { return floor(moment + place->offset + 0.5) - 0.5 - place->offset; }

/* ---- Texts ---- */

typedef struct writer {
  char *text;
  size_t size;
  int length;
} writer;

static void put(writer *writer, const char *format, ...) {
  size_t used = (size_t)writer->length < writer->size ? (size_t)writer->length : writer->size;
  va_list arguments;
  va_start(arguments, format);
  writer->length += vsnprintf(writer->text ? writer->text + used : NULL, writer->size - used, format, arguments);
  va_end(arguments);
}

static void put_date(writer *writer, double midnight) {
  int year, month, date;
  calendar(midnight, &year, &month, &date);
  put(writer, "%04d-%02d-%02d", year, month, date);
}

/* To the nearest minute. `moment` is in the time of the clocks meant, and so is the day it is told of. */
static void put_time(writer *writer, const char *what, double moment, double midnight) {
  int minutes = (int)lround((moment - midnight) * MINUTES_A_DAY);
  int day = (int)floor(minutes / (double)MINUTES_A_DAY);
  minutes -= day * MINUTES_A_DAY;
  put(writer, "| %s | %02d:%02d%s |\n", what, minutes / 60, minutes % 60, day > 0 ? " the day after" : day < 0 ? " the day before" : "");
}

int sun_text(char *text, size_t size, const place *place, double midnight) {
  writer writer = {text, size, 0};
  sun_day sun = sun_on(midnight, place->latitude, place->longitude);
  int offset = (int)lround(place->offset * MINUTES_A_DAY), ahead = abs(offset);
  put(&writer, "# The sun at %s on ", place->name);
  put_date(&writer, midnight + place->offset);
  put(&writer, "\n\n%.4f, %.4f; times are UTC%c%02d:%02d.\n\n", place->latitude, place->longitude, offset < 0 ? '-' : '+', ahead / 60, ahead % 60);
  if (!sun.rises) put(&writer, sun.up ? "It does not set.\n\n" : "It does not rise.\n\n");
  put(&writer, "| | |\n|---|---|\n");
  if (sun.rises) put_time(&writer, "sunrise", sun.rise, midnight);
  put_time(&writer, "noon", sun.noon, midnight);
  if (sun.rises) {
    put_time(&writer, "sunset", sun.set, midnight);
    int minutes = (int)lround((sun.set - sun.rise) * MINUTES_A_DAY);
    put(&writer, "| daylight | %d h %02d min |\n", minutes / 60, minutes % 60);
  }
  return writer.length;
}

int moon_text(char *text, size_t size, double midnight) {
  static const char *const principal[] = {"new moon", "first quarter", "full moon", "last quarter"};
  static const char *const before[] = {"waning crescent", "waxing crescent", "waxing gibbous", "waning gibbous"};
  writer writer = {text, size, 0};
  phase next = next_phase(midnight);
  bool today = next.at < midnight + 1;
  put(&writer, "# The moon on ");
  put_date(&writer, midnight);
  put(&writer, "\n\nPhase: %s. At noon UTC %.0f %% of its disc are lit.\n\n| next | UTC |\n|---|---|\n", today ? principal[next.quarter] : before[next.quarter],
      100 * lit(midnight + 0.5));
  for (int i = 0; i < 4; i++) {
    double minute = floor(next.at * MINUTES_A_DAY + 0.5) / MINUTES_A_DAY + 0.1 / MINUTES_A_DAY;
    double day = floor(minute + 0.5) - 0.5;
    int minutes = (int)((minute - day) * MINUTES_A_DAY);
    put(&writer, "| %s | ", principal[next.quarter]);
    put_date(&writer, day);
    put(&writer, " %02d:%02d |\n", minutes / 60, minutes % 60);
    next = next_phase(next.at + 1);
  }
  return writer.length;
}
