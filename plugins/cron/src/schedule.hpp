// When a line of a crontab is due. No WebAssembly here: `make test` tests it on your own machine.
//
// The fields are those of crontab(5): minute, hour, day of the month, month, day of the week; each `*`, a number, a range `a-b`, with a step
// `/n`, or a list of these; months and weekdays also by the first three letters of their English names, Sunday is 0 and 7. `@hourly`,
// `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` and `@annually` stand for what they say. As in POSIX, if neither day begins with
// `*`, it is enough that one of them fits.
#pragma once

#include <bitset>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

// Minutes since 1970-01-01T00:00, of clocks that are ahead of UTC by whatever the caller says. There are no summer times.
using Minute = int64_t;

struct Schedule {
  std::bitset<60> minutes;
  std::bitset<24> hours;
  std::bitset<32> days;
  std::bitset<13> months;
  std::bitset<7> weekdays;
  bool any_day = false, any_weekday = false;
  std::string command;  // what stands after the fields
};

// A schedule, or what is wrong with it.
std::expected<Schedule, std::string> parse(std::string_view line);

// The first minute after `after` that fits; nothing if there is none within nine years (30 February).
std::optional<Minute> next(const Schedule& schedule, Minute after);

// `2026-11-30 08:05 Mon`.
std::string text_of(Minute minute);

// Minutes from `+01:00`.
std::optional<int> parse_offset(std::string_view text);
// `UTC+01:00`.
std::string offset_text(int minutes);
