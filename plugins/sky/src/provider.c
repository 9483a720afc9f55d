/*
 * `sky`: when the sun rises and sets at places that wharf.toml names, and the phases of the moon. What is read hangs on the day alone, and
 * while someone is subscribed a timer watches for the next one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "almanac.h"
#include "sky.h"
#include "wharf.h"

#define MOON "sky://moon"
#define MARKDOWN "text/markdown"
#define PLACES "places."
/* The host's clock may be set, and the machine may sleep: look at least once an hour whether it is another day. */
#define LOOK_MS 3600000
/* Past midnight, not at it. */
#define MARGIN_MS 1000

static const place greenwich = {"greenwich", 51.4779, 0, 0};
static place *places;
static size_t place_count;

/* Julian day, UTC. */
static double now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return UNIX_EPOCH + (time.tv_sec + time.tv_nsec / 1e9) / 86400;
}

/* ---- Reading ---- */

typedef int text_of(char *text, size_t size, const void *what, double midnight);

static int write_sun(char *text, size_t size, const void *what, double midnight) { return sun_text(text, size, what, midnight); }

static int write_moon(char *text, size_t size, const void *what, double midnight) {
  return moon_text(text, size, midnight);
}

static wharf_status give(wharf_reply *reply, text_of *write, const void *what, double midnight) {
  size_t size = (size_t)write(NULL, 0, what, midnight) + 1;
  char *text = wharf_alloc(size);
  write(text, size, what, midnight);
  return wharf_text(reply, text);
}

static wharf_status no_date(const char *text) { return wharf_invalid("%s is no date from 1900-01-01 to 2099-12-31", text); }

static const place *find_place(const wharf_request *request) {
  const char *name = wharf_variable_of(request, "place");
  for (size_t i = 0; name && i < place_count; i++)
    if (strcmp(places[i].name, name) == 0) return &places[i];
  return NULL;
}

static wharf_status read_moon(const wharf_request *request, wharf_reply *reply) {
  static const place utc = {"UTC", 0, 0, 0};
  const char *date = wharf_variable_of(request, "date");
  double midnight = midnight_at(&utc, now());
  if (date && !read_date(date, &midnight)) return no_date(date);
  return give(reply, write_moon, NULL, midnight);
}

static wharf_status read_sun(const wharf_request *request, wharf_reply *reply) {
  const place *place = find_place(request);
  if (!place) return wharf_not_found();
  const char *date = wharf_variable_of(request, "date");
  double midnight;
  if (!date) {
    midnight = midnight_at(place, now());
  } else {
    if (!read_date(date, &midnight)) return no_date(date);
    midnight -= place->offset;
  }
  return give(reply, write_sun, place, midnight);
}

/* ---- Telling of the next day ---- */

typedef struct watched {
  struct watched *next;
  const place *place; /* whose day */
  double midnight;
  char uri[];
} watched;

static watched *all_watched;

static void look(const char *uri, void *context);

static wharf_status wait_for_tomorrow(watched *watched) {
  double ms = (watched->midnight + 1 - now()) * 86400000 + MARGIN_MS;
  return wharf_after(watched->uri, (uint32_t)fmax(MARGIN_MS, fmin(ms, LOOK_MS)), look, watched);
}

static void look(const char *uri, void *context) {
  watched *watched = context;
  double midnight = midnight_at(watched->place, now());
  bool another = midnight != watched->midnight;
  watched->midnight = midnight;
  if (wait_for_tomorrow(watched) != WHARF_OK) fprintf(stderr, "%s is not watched any more: %s\n", uri, wharf_message());
  if (another) wharf_updated(uri);
}

static wharf_status watch(const char *uri, const place *place) {
  watched *watched = malloc(sizeof *watched + strlen(uri) + 1);
  if (!watched) abort();
  *watched = (struct watched){all_watched, place, midnight_at(place, now())};
  strcpy(watched->uri, uri);
  wharf_status status = wait_for_tomorrow(watched);
  if (status == WHARF_OK) all_watched = watched;
  else free(watched);
  return status;
}

static void unwatch(const wharf_request *request) {
  for (watched **place = &all_watched; *place; place = &(*place)->next) {
    if (strcmp((*place)->uri, request->uri) != 0) continue;
    watched *gone = *place;
    *place = gone->next;
    wharf_cancel(gone->uri);
    free(gone);
    return;
  }
}

static wharf_status watch_moon(const wharf_request *request) {
  static const place utc = {"UTC", 0, 0, 0};
  return watch(request->uri, &utc);
}

static wharf_status watch_sun(const wharf_request *request) {
  const place *place = find_place(request);
  if (!place) return wharf_not_found();
  /* What is said of a date does not change. */
  return wharf_variable_of(request, "date") ? WHARF_OK : watch(request->uri, place);
}

/* ---- What there is ---- */

static void list_places(wharf_list *list, void *context) {
  for (size_t i = 0; i < place_count; i++) {
    wharf_variable variables[] = {{"place", places[i].name}, {NULL, NULL}};
    wharf_list_add(list, variables, &(wharf_resource){.name = places[i].name, .title = wharf_format("The sun today: %s", places[i].name)});
  }
}

static void complete_place(const wharf_completing *what, wharf_suggestions *suggestions) {
  if (strcmp(what->variable, "place") != 0) return;
  for (size_t i = 0; i < place_count; i++) wharf_suggest(suggestions, places[i].name);
}

static void add_place(place place) {
  places = realloc(places, (place_count + 1) * sizeof *places);
  if (!places) abort();
  places[place_count++] = place;
}

void wharf_start(void) {
  for (const wharf_variable *setting = wharf_settings(); setting->name; setting++) {
    if (strncmp(setting->name, PLACES, strlen(PLACES)) != 0) continue;
    place place = {.name = setting->name + strlen(PLACES)};
    if (read_place(setting->value, &place)) add_place(place);
    else fprintf(stderr, "setting %s: \"%s\" is no place; write \"LATITUDE, LONGITUDE\" or \"LATITUDE, LONGITUDE, +01:00\"\n", setting->name, setting->value);
  }
  if (!place_count) add_place(greenwich);

  wharf_add_resource(&(wharf_resource){
      .uri = MOON,
      .title = "The moon today",
      .description = "Its phase, how much of it is lit, and when the next four phases are. Changes with the day (UTC).",
      .mime_type = MARKDOWN,
      .read = read_moon,
      .on_subscribe = watch_moon,
      .on_unsubscribe = unwatch,
  });
  wharf_add_template(&(wharf_resource){
      .uri = "sky://moon/{date}",
      .title = "The moon on a day",
      .description = "As sky://moon, for a date such as 2026-12-24, from 1900 to 2099.",
      .mime_type = MARKDOWN,
      .read = read_moon,
      .subscribable = true,
  });
  wharf_add_template(&(wharf_resource){
      .uri = "sky://sun/{place}{?date}",
      .name = "sun",
      .title = "The sun at a place",
      .description = "Sunrise, noon, sunset and length of the day; of today, or of a date such as 2026-12-24.",
      .mime_type = MARKDOWN,
      .read = read_sun,
      .on_subscribe = watch_sun,
      .on_unsubscribe = unwatch,
      .list = list_places,
      .complete = complete_place,
  });
}
