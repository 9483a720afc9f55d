// {{name}}, a Wharf provider: what it offers, and how it is read. What the resources hold is in content.cpp and content.hpp.
// sdk/wharf.hpp says what there is to call; the contract itself, with a comment on every item, is in wit/deps/provider.
#include "content.hpp"
#include "wharf.hpp"

namespace {

constexpr const char* SECONDS = "{{scheme}}://seconds";
constexpr uint32_t EVERY_SECOND = 1000;  // milliseconds

// Calls come one at a time, all to this one instance, which lives until the next reload: what one call leaves here is there in the next.
unsigned counted = 0;

}  // namespace

void wharf_start() {
  wharf::resource("{{scheme}}://sentence")
      .title("A sentence")
      .mime_type("text/plain")
      .subscribable()  // it changes only when this program does: the host tells of that by itself
      .read([](const wharf::Request&) { return SENTENCE; });

  wharf::resource(SECONDS)
      .title("How long somebody has been subscribed")
      .mime_type("text/plain")
      .subscribable(
          // The first subscriber is there. No call may wait, so time comes from the host. First change what is read, then say so.
          [](const wharf::Request&) {
            return wharf::every("seconds", EVERY_SECOND, [] {
              counted++;
              wharf::updated(SECONDS);
            });
          },
          // Nobody is left.
          [](const wharf::Request&) { wharf::cancel("seconds"); })
      .read([](const wharf::Request&) { return seconds(counted); });

  wharf::template_("{{scheme}}://greeting/{name}")
      .title("A greeting for anybody")
      .mime_type("text/plain")
      .subscribable()
      .read([](const wharf::Request& request) { return greeting(*request.variable("name")); });
}
