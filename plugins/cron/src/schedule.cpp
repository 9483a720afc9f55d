#include "schedule.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace {

using namespace std::chrono;

constexpr int MINUTES_A_DAY = 24 * 60;
// From 29 February 2096 to the next, in 2104, are eight years.
constexpr int DAYS_TO_SEARCH = 9 * 366;
constexpr std::array<std::string_view, 12> MONTHS{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> WEEKDAYS{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> SHORTHANDS{{{"@hourly", "0 * * * *"},
                                                                                   {"@daily", "0 0 * * *"},
                                                                                   {"@midnight", "0 0 * * *"},
                                                                                   {"@weekly", "0 0 * * 0"},
                                                                                   {"@monthly", "0 0 1 * *"},
                                                                                   {"@yearly", "0 0 1 1 *"},
                                                                                   {"@annually", "0 0 1 1 *"}}};

// The text before the first of `separators`, which are taken away with it.
std::string_view take(std::string_view& text, std::string_view separators) {
  size_t end = std::min(text.find_first_of(separators), text.size());
  std::string_view first = text.substr(0, end);
  size_t rest = separators == "," ? std::min(end + 1, text.size()) : std::min(text.find_first_not_of(separators, end), text.size());
  text.remove_prefix(rest);
  return first;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

struct Field {
  std::string_view name;
  int first, last;

  std::optional<int> value(std::string_view text) const {
    std::string lower;
    for (char c : text) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    if (name == "month")
      for (size_t i = 0; i < MONTHS.size(); i++)
        if (lower == MONTHS[i]) return static_cast<int>(i) + 1;
    if (name == "weekday")
      for (size_t i = 0; i < WEEKDAYS.size(); i++)
        if (lower == WEEKDAYS[i]) return static_cast<int>(i);
    auto value = number(text);
    return value && *value >= first && *value <= last ? value : std::nullopt;
  }

  // Calls `set` with each value that fits; false if it cannot be read.
  template <typename Set>
  bool read(std::string_view text, Set set) const {
    if (text.empty() || text.back() == ',') return false;
    while (!text.empty()) {
      std::string_view range = take(text, ",");
      size_t slash = range.find('/');
      auto step = slash == std::string_view::npos ? std::optional{1} : number(range.substr(slash + 1));
      range = range.substr(0, slash);
      size_t dash = range.find('-');
      std::optional<int> from, to;
      if (range == "*") {
        from = first, to = last;
      } else if (dash != std::string_view::npos) {
        from = value(range.substr(0, dash)), to = value(range.substr(dash + 1));
      } else {
        from = value(range), to = slash == std::string_view::npos ? from : std::optional{last};
      }
      if (!from || !to || !step || *step == 0 || *from > *to) return false;
      for (int each = *from; each <= *to; each += *step) set(each);
    }
    return true;
  }
};

constexpr Field MINUTE{"minute", 0, 59}, HOUR{"hour", 0, 23}, DAY{"day", 1, 31}, MONTH{"month", 1, 12}, WEEKDAY{"weekday", 0, 7};

bool fits(const Schedule& schedule, sys_days day) {
  year_month_day date{day};
  if (!schedule.months[static_cast<unsigned>(date.month())]) return false;
  bool by_day = schedule.days[static_cast<unsigned>(date.day())], by_weekday = schedule.weekdays[weekday{day}.c_encoding()];
  return schedule.any_day || schedule.any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

}  // namespace

std::expected<Schedule, std::string> parse(std::string_view line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  Schedule schedule;
  std::string_view fields = line;
  if (line.starts_with('@')) {
    std::string_view word = take(line, " \t");
    fields = {};
    for (const auto& [shorthand, meaning] : SHORTHANDS)
      if (word == shorthand) fields = meaning;
    if (fields.empty()) return std::unexpected("\"" + std::string(word) + "\" is unknown: there are @hourly, @daily, @weekly, @monthly and @yearly");
    schedule.command = line;
  }
  std::array<std::string_view, 5> texts;
  for (auto& text : texts) {
    if (fields.empty()) return std::unexpected("a schedule has five fields: minute, hour, day of the month, month, day of the week");
    text = take(fields, " \t");
  }
  if (schedule.command.empty()) schedule.command = fields;
  auto wrong = [](const Field& field, std::string_view text) {
    return std::unexpected("\"" + std::string(text) + "\" is no " + std::string(field.name) + ": it is *, or numbers from " + std::to_string(field.first) + " to " +
                           std::to_string(field.last) + ", ranges a-b, steps /n, and lists of these");
  };
  if (!MINUTE.read(texts[0], [&](int value) { schedule.minutes.set(value); })) return wrong(MINUTE, texts[0]);
  if (!HOUR.read(texts[1], [&](int value) { schedule.hours.set(value); })) return wrong(HOUR, texts[1]);
  if (!DAY.read(texts[2], [&](int value) { schedule.days.set(value); })) return wrong(DAY, texts[2]);
  if (!MONTH.read(texts[3], [&](int value) { schedule.months.set(value); })) return wrong(MONTH, texts[3]);
  if (!WEEKDAY.read(texts[4], [&](int value) { schedule.weekdays.set(value % 7); })) return wrong(WEEKDAY, texts[4]);
  schedule.any_day = texts[2].starts_with('*');
  schedule.any_weekday = texts[4].starts_with('*');
  return schedule;
}

std::optional<Minute> next(const Schedule& schedule, Minute after) {
  Minute from = after + 1;
  Minute first_day = from >= 0 ? from / MINUTES_A_DAY : (from - MINUTES_A_DAY + 1) / MINUTES_A_DAY;
  for (Minute day = first_day; day < first_day + DAYS_TO_SEARCH; day++) {
    if (!fits(schedule, sys_days{days{day}})) continue;
    for (int hour = 0; hour < 24; hour++) {
      if (!schedule.hours[hour]) continue;
      for (int minute = 0; minute < 60; minute++) {
        Minute moment = day * MINUTES_A_DAY + hour * 60 + minute;
        if (schedule.minutes[minute] && moment >= from) return moment;
      }
    }
  }
  return std::nullopt;
}

std::string text_of(Minute minute) {
  sys_days day = floor<days>(sys_time<minutes>{minutes{minute}});
  year_month_day date{day};
  int of_day = static_cast<int>(minute - Minute{day.time_since_epoch().count()} * MINUTES_A_DAY);
  std::string_view weekday_name = WEEKDAYS[weekday{day}.c_encoding()];
  char text[48];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d %c%.2s", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), of_day / 60, of_day % 60, weekday_name[0] - 32, weekday_name.data() + 1);
  return text;
}

std::optional<int> parse_offset(std::string_view text) {
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  auto hours = number(text.substr(1, 2)), minutes = number(text.substr(4));
  if (!hours || !minutes || *hours > 14 || *minutes > 59) return std::nullopt;
  return (text[0] == '-' ? -1 : 1) * (*hours * 60 + *minutes);
}

std::string offset_text(int minutes) {
  char text[16];
  std::snprintf(text, sizeof text, "UTC%c%02d:%02d", minutes < 0 ? '-' : '+', std::abs(minutes) / 60 % 100, std::abs(minutes) % 60);
  return text;
}
