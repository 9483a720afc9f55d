#include "schedule.hpp"

#include <chrono>
#include <cstdio>
#include <vector>

namespace {

int passed = 0, failed = 0;

void check(const std::string& what, const std::string& is, const std::string& should_be) {
  if (is == should_be) {
    passed++;
  } else {
    failed++;
    std::printf("%s: %s, should be %s\n", what.c_str(), is.c_str(), should_be.c_str());
  }
}

Minute at(int year, unsigned month, unsigned day, int hour = 0, int minute = 0) {
  std::chrono::sys_days date = std::chrono::year{year} / std::chrono::month{month} / std::chrono::day{day};
  return Minute{date.time_since_epoch().count()} * 24 * 60 + hour * 60 + minute;
}

std::string after(const std::string& line, Minute minute) {
  auto schedule = parse(line);
  if (!schedule) return schedule.error();
  auto due = next(*schedule, minute);
  return due ? text_of(*due) : "never";
}

}  // namespace

int main() {
  Minute monday = at(2026, 11, 30, 8, 5);
  struct {
    const char *line, *due;
  } schedules[] = {
      {"* * * * *", "2026-11-30 08:06 Mon"},
      {"5 8 * * *", "2026-12-01 08:05 Tue"},
      {"*/20 * * * *", "2026-11-30 08:20 Mon"},
      {"10/20 * * * *", "2026-11-30 08:10 Mon"},
      {"0 3 * * 1-5", "2026-12-01 03:00 Tue"},
      {"0 3 * * sat,SUN", "2026-12-05 03:00 Sat"},
      {"0 0 * * 7", "2026-12-06 00:00 Sun"},
      {"0 0 1 jan-mar *", "2027-01-01 00:00 Fri"},
      {"30 4 1,15 * 5", "2026-12-01 04:30 Tue"},   // either day
      {"0 0 29 2 *", "2028-02-29 00:00 Tue"},
      {"0 0 30 2 *", "never"},
      {"@weekly", "2026-12-06 00:00 Sun"},
      {"@hourly run-parts", "2026-11-30 09:00 Mon"},
  };
  for (const auto& [line, due] : schedules) check(line, after(line, monday), due);
  check("eight years", after("0 0 29 2 *", at(2096, 2, 29)), "2104-02-29 00:00 Fri");
  check("before 1970", after("0 0 * * *", at(1969, 12, 30, 12)), "1969-12-31 00:00 Wed");
  check("the command", parse("0 3 * * *   /bin/backup -v")->command, "/bin/backup -v");

  for (const char* line : {"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *", "*/0 * * * *", "1,,2 * * * *", "1, * * * *",
                           "a * * * *", "-1 * * * *", "@reboot", "* * * * mond"})
    check(line, parse(line) ? "read" : "refused", "refused");

  check("an offset", std::to_string(parse_offset("-03:30").value_or(0)), "-210");
  for (const char* offset : {"", "1", "+1:00", "+15:00", "+01:60", "+01-00"}) check(offset, parse_offset(offset) ? "read" : "refused", "refused");
  check("its text", offset_text(-210), "UTC-03:30");

  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
