// The contract fixture in C++: the same resources as in every other language of tests/languages.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "wharf.hpp"

namespace {

constexpr const char* COUNT = "contract://count";
constexpr const char* SETTING = "contract://setting";
constexpr const char* TEXT = "text/plain";
constexpr const char* META = R"({"contract/x": 1})";
constexpr uint32_t COUNT_MS = 100;
constexpr size_t MIB = 1 << 20;

unsigned counted = 0;

wharf::Icon icon() { return {.src = "data:image/png;base64,AAAA", .mime_type = "image/png", .sizes = {"48x48"}, .theme = WHARF_DARK}; }

wharf::Answer full(const wharf::Request& request) {
  wharf::Reading reading{.contents = {}, .version = "1", .reuse_ms = 1000};
  if (request.if_none_match != reading.version) reading.contents.push_back({"hello"});
  return reading;
}

wharf::Answer blob(const wharf::Request&) {
  std::vector<uint8_t> bytes;
  for (unsigned i = 0; i < 256; i++) bytes.push_back(static_cast<uint8_t>(i));
  return bytes;
}

wharf::Answer two(const wharf::Request&) {
  wharf::Contents part{.body = "two", .uri = "contract://two/part", .mime_type = "text/markdown", .meta_json = R"({"contract/part": 2})"};
  return wharf::Reading{.contents = {{"one"}, part}};
}

wharf::Answer echo(const wharf::Request& request) {
  auto said = [&](const char* name) { return request.variable(name).value_or("-"); };
  return "word=" + said("word") + " from=" + said("from") + " to=" + said("to");
}

wharf::Error the_error(const wharf::Request& request) {
  std::string kind = *request.variable("kind"), text = "as asked: " + kind;
  if (kind == "invalid") return wharf::invalid(text);
  if (kind == "denied") return wharf::denied(text);
  if (kind == "unavailable") return wharf::unavailable(text);
  if (kind == "failed") return wharf::failed(text);
  return wharf::not_found();
}

[[noreturn]] void allocate_all() {
  for (;;) {
    volatile char* memory = static_cast<volatile char*>(std::malloc(MIB));
    if (!memory) std::abort();
    for (size_t i = 0; i < MIB; i += 1024) memory[i] = 1;
  }
}

wharf::Answer act(const wharf::Request& request) {
  std::string what = *request.variable("what");
  if (what == "trap") {
    std::fputs("about to die\n", stderr);
    std::abort();
  }
  if (what == "loop")
    for (volatile unsigned turns = 0;; turns = turns + 1) continue;
  if (what == "allocate") allocate_all();
  if (what == "stderr") {
    std::fputs("a line from the guest\n", stderr);
    return "done";
  }
  if (what == "random") {
    std::random_device device;
    char text[17];
    std::snprintf(text, sizeof text, "%08x%08x", device(), device());
    return text;
  }
  if (what == "now") {
    auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  }
  if (what == "announce") {
    wharf::updated(SETTING);
    return "done";
  }
  return wharf::not_found();
}

std::vector<std::string> words(const std::string& typed, const wharf::Variables&) {
  std::vector<std::string> fitting;
  for (const char* word : {"alpha", "beta", "gamma"})
    if (std::string_view(word).starts_with(typed)) fitting.push_back(word);
  return fitting;
}

std::vector<std::string> the_word(const std::string&, const wharf::Variables& known) {
  auto word = wharf::find(known, "word");
  return word ? std::vector{*word} : std::vector<std::string>{};
}

}  // namespace

void wharf_start() {
  wharf_page_size(1);
  wharf::resource("contract://full")
      .title("Everything")
      .describe("Every field that a list can carry.")
      .mime_type(TEXT)
      .size(5)
      .icon(icon())
      .annotations(WHARF_USER | WHARF_ASSISTANT, 0.5, 1700000000000)
      .meta_json(META)
      .subscribable()
      .read(full);
  wharf::resource("contract://utf8").mime_type(TEXT).subscribable().read([](const wharf::Request&) { return "grüße, 世界"; });
  wharf::resource("contract://blob").mime_type("application/octet-stream").subscribable().read(blob);
  wharf::resource("contract://two").mime_type(TEXT).subscribable().read(two);
  wharf::resource(COUNT)
      .mime_type(TEXT)
      .subscribable(
          [](const wharf::Request&) {
            return wharf::every("count", COUNT_MS, [] {
              counted++;
              wharf::updated(COUNT);
            });
          },
          [](const wharf::Request&) { wharf::cancel("count"); })
      .read([](const wharf::Request&) { return std::to_string(counted); });
  wharf::resource(SETTING).mime_type(TEXT).subscribable().read([](const wharf::Request&) { return wharf::setting("greeting").value_or("none"); });
  wharf::template_("contract://echo/{word}{?from,to}")
      .title("Echo")
      .describe("What the URI says.")
      .mime_type(TEXT)
      .icon(icon())
      .annotations(WHARF_USER | WHARF_ASSISTANT, 0.5, 1700000000000)
      .meta_json(META)
      .subscribable()
      .complete("word", words)
      .complete("from", the_word)
      .read(echo);
  wharf::template_("contract://path/{+path}").subscribable().read([](const wharf::Request& request) { return *request.variable("path"); });
  wharf::template_("contract://error/{kind}").subscribable(the_error).read(the_error);
  wharf::template_("contract://do/{what}").subscribable().read(act);
}
