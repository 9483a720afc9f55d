// `cron`: when the lines of a crontab that wharf.toml holds are due next, and what any cron expression means. Who is subscribed is told
// when a job's time has come, since then another one is the next.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>

#include "schedule.hpp"
#include "wharf.hpp"

namespace {

constexpr const char* NEXT = "cron://next";
constexpr const char* MARKDOWN = "text/markdown";
constexpr std::string_view JOBS = "jobs.";
constexpr int RUNS = 5, MOST_RUNS = 50;
// The host's clock may be set, and the machine may sleep: look at least once an hour.
constexpr int64_t LOOK_MS = 3'600'000, MARGIN_MS = 500, MS_A_MINUTE = 60'000;

std::map<std::string, Schedule> jobs;
int offset = 0;  // minutes that the crontab's clocks are ahead of UTC

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count() + offset * MS_A_MINUTE;
}
Minute now() { return now_ms() / MS_A_MINUTE; }

// ---- Reading ----

wharf::Answer runs_of(const Schedule& schedule, const std::string& heading, const wharf::Request& request) {
  int count = RUNS;
  if (auto asked = request.variable("count")) {
    auto [end, error] = std::from_chars(asked->data(), asked->data() + asked->size(), count);
    if (error != std::errc{} || end != asked->data() + asked->size() || count < 1 || count > MOST_RUNS)
      return wharf::invalid("count is a number from 1 to " + std::to_string(MOST_RUNS));
  }
  std::string text = heading + "\n\nTimes are " + offset_text(offset) + ".\n\n";
  auto due = next(schedule, now());
  if (!due) text += "It never runs.\n";
  for (; due && count > 0; count--, due = next(schedule, *due)) text += "- " + text_of(*due) + "\n";
  return text;
}

wharf::Answer read_job(const wharf::Request& request) {
  auto job = jobs.find(*request.variable("job"));
  if (job == jobs.end()) return wharf::not_found();
  return runs_of(job->second, "# " + job->first + (job->second.command.empty() ? "" : "\n\n`" + job->second.command + "`"), request);
}

wharf::Answer read_when(const wharf::Request& request) {
  auto expression = request.variable("expression");
  if (!expression) return wharf::invalid("say which: cron://when?expression=0%203%20*%20*%201-5");
  auto schedule = parse(*expression);
  if (!schedule) return wharf::invalid(schedule.error());
  return runs_of(*schedule, "# " + *expression, request);
}

wharf::Answer read_next(const wharf::Request&) {
  std::vector<std::pair<Minute, std::string>> due;
  std::string never;
  for (const auto& [name, schedule] : jobs) {
    if (auto minute = next(schedule, now())) due.emplace_back(*minute, name);
    else never += "| never | " + name + " | |\n";
  }
  std::ranges::sort(due);
  std::string text = "# What runs next\n\nTimes are " + offset_text(offset) + ".\n\n| when | job | command |\n|---|---|---|\n";
  for (const auto& [minute, name] : due) text += "| " + text_of(minute) + " | " + name + " | " + jobs[name].command + " |\n";
  return text + never;
}

// ---- Telling ----

// The next minute at which what is read changes: when one of these jobs is due.
std::optional<Minute> next_change(const std::string& job) {
  std::optional<Minute> first;
  for (const auto& [name, schedule] : jobs) {
    if (!job.empty() && name != job) continue;
    auto due = next(schedule, now());
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

// A timer a URI, of the same name.
wharf::Outcome wait_for(const std::string& uri, const std::string& job) {
  auto change = next_change(job);
  if (!change) return std::nullopt;
  int64_t ms = std::clamp(*change * MS_A_MINUTE - now_ms() + MARGIN_MS, MARGIN_MS, LOOK_MS);
  return wharf::after(uri, static_cast<uint32_t>(ms), [uri, job, change] {
    if (auto error = wait_for(uri, job)) std::fprintf(stderr, "%s is not watched any more: %s\n", uri.c_str(), error->text.c_str());
    if (now() >= *change) wharf::updated(uri);
  });
}

std::vector<wharf::Member> list_jobs() {
  std::vector<wharf::Member> all;
  for (const auto& [name, schedule] : jobs) all.push_back({.variables = {{"job", name}}, .name = name, .title = "Next runs of " + name});
  return all;
}

std::vector<std::string> suggest_jobs(const std::string& typed, const wharf::Variables&) {
  std::vector<std::string> fitting;
  for (const auto& [name, schedule] : jobs)
    if (name.starts_with(typed)) fitting.push_back(name);
  return fitting;
}

void read_settings() {
  if (auto text = wharf::setting("utc-offset")) {
    auto minutes = parse_offset(*text);
    if (minutes) offset = *minutes;
    else std::fprintf(stderr, "setting utc-offset: \"%s\" is none; write \"+01:00\"\n", text->c_str());
  }
  for (const auto& [name, value] : wharf::settings()) {
    if (!name.starts_with(JOBS)) continue;
    auto schedule = parse(value);
    if (schedule) jobs.emplace(name.substr(JOBS.size()), *schedule);
    else std::fprintf(stderr, "setting %s: %s\n", name.c_str(), schedule.error().c_str());
  }
}

}  // namespace

void wharf_start() {
  read_settings();

  wharf::resource(NEXT)
      .title("What runs next")
      .describe("All jobs of the crontab, the next one first. Changes when one is due.")
      .mime_type(MARKDOWN)
      .subscribable([](const wharf::Request& request) { return wait_for(request.uri, ""); }, [](const wharf::Request& request) { wharf::cancel(request.uri); })
      .read(read_next);

  wharf::template_("cron://job/{job}{?count}")
      .title("Next runs of a job")
      .describe("When a job runs the next times, 5 or so many as asked.")
      .mime_type(MARKDOWN)
      .list(list_jobs)
      .complete("job", suggest_jobs)
      .subscribable(
          [](const wharf::Request& request) -> wharf::Outcome {
            std::string job = *request.variable("job");
            if (!jobs.contains(job)) return wharf::not_found();
            return wait_for(request.uri, job);
          },
          [](const wharf::Request& request) { wharf::cancel(request.uri); })
      .read(read_job);

  wharf::template_("cron://when{?expression,count}")
      .title("When a cron expression is due")
      .describe("The next times of any expression, such as 0 3 * * 1-5; what is wrong with it, if it is none.")
      .mime_type(MARKDOWN)
      .read(read_when);
}
