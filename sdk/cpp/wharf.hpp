// wharf.hpp: write a Wharf provider in C++23, on top of the C SDK (wharf.h).
//
// Define `wharf_start`, and say in it what there is:
//
//     void wharf_start() {
//       wharf::resource("hello://sentence").title("A sentence").mime_type("text/plain").subscribable()
//           .read([](const wharf::Request&) { return "The tide is coming in."; });
//     }
//
// Strings and answers are values: there is nothing to free. There are no exceptions in WebAssembly as it is built here, so an error is
// an answer: `return wharf::invalid("no such day");`. No call may wait, and there are no threads.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "wharf.h"

namespace wharf {

using Variables = std::vector<std::pair<std::string, std::string>>;

// The value of a variable; nothing if the URI leaves it out. The first, if there are several.
inline std::optional<std::string> find(const Variables& variables, std::string_view name) {
  for (const auto& [known, value] : variables)
    if (known == name) return value;
  return std::nullopt;
}

struct Request {
  std::string uri;                           // what the client sent, unchanged
  Variables variables;                       // percent-decoded; an exploded one comes once for each value
  std::optional<std::string> if_none_match;  // a version of this URI that the host still holds

  std::optional<std::string> variable(std::string_view name) const { return find(variables, name); }
};

// Why there is no answer. The user and the model see the text: say what to do, and no secrets.
struct Error {
  wharf_status status;
  std::string text;
};
inline Error not_found() { return {WHARF_NOT_FOUND, {}}; }
inline Error invalid(std::string text) { return {WHARF_INVALID, std::move(text)}; }
inline Error denied(std::string text) { return {WHARF_DENIED, std::move(text)}; }
inline Error unavailable(std::string text) { return {WHARF_UNAVAILABLE, std::move(text)}; }
inline Error failed(std::string text) { return {WHARF_FAILED, std::move(text)}; }

// One content.
struct Contents {
  std::variant<std::string, std::vector<uint8_t>> body;  // text, or bytes
  std::optional<std::string> uri = {};                   // nothing: the URI asked for; else that of a part of it
  std::optional<std::string> mime_type = {};             // nothing: what the resource or template says
  std::optional<std::string> meta_json = {};             // a JSON object, for MCP's `_meta`
};

// What a resource holds at one moment, with a version: no contents are needed if the request's `if_none_match` is that version.
struct Reading {
  std::vector<Contents> contents;
  std::optional<std::string> version = {};
  std::optional<uint32_t> reuse_ms = {};  // how long the host may answer from this without asking again
  bool reuse_until_announced = false;
};

// What `read` gives: text, bytes, a reading, or an error.
class Answer {
 public:
  Answer(std::string text) : Answer(Contents{std::move(text)}) {}
  Answer(std::string_view text) : Answer(std::string(text)) {}
  Answer(const char* text) : Answer(std::string(text)) {}
  Answer(std::vector<uint8_t> bytes) : Answer(Contents{std::move(bytes)}) {}
  Answer(Contents contents) : value_(Reading{}) { std::get<Reading>(value_).contents.push_back(std::move(contents)); }
  Answer(Reading reading) : value_(std::move(reading)) {}
  Answer(Error error) : value_(std::move(error)) {}

  const std::variant<Reading, Error>& value() const { return value_; }

 private:
  std::variant<Reading, Error> value_;
};

// Nothing, or an error: what `subscribable` and the timers give.
using Outcome = std::optional<Error>;

struct Icon {
  std::string src;  // an https: URL or a data: URI
  std::optional<std::string> mime_type = {};
  std::vector<std::string> sizes = {};
  wharf_theme theme = WHARF_ANY_THEME;
};

// One member of a family that can be enumerated. What is left out is as the template says.
struct Member {
  Variables variables;
  std::optional<std::string> name = {}, title = {}, description = {}, mime_type = {};
  std::optional<double> size = {};
};

namespace detail {

// What stays for good of a resource or template; the C SDK keeps a pointer to it.
struct Offer {
  std::string uri, name, title, description, mime_type, meta_json;
  std::vector<Icon> icons;
  std::vector<std::vector<const char*>> icon_sizes;
  std::vector<wharf_icon> icon_table;
  wharf_annotations annotations{};
  std::function<Answer(const Request&)> read;
  std::function<Outcome(const Request&)> on_subscribe;
  std::function<void(const Request&)> on_unsubscribe;
  std::function<std::vector<Member>()> list;
  std::vector<std::pair<std::string, std::function<std::vector<std::string>(const std::string&, const Variables&)>>> complete;
  wharf_resource table{};
};

inline const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }
inline const char* or_null(const std::optional<std::string>& text) { return text ? text->c_str() : nullptr; }
inline const Offer& offer(void* context) { return *static_cast<const Offer*>(context); }

inline Variables variables(const wharf_variable* from) {
  Variables all;
  for (; from && from->name; from++) all.emplace_back(from->name, from->value);
  return all;
}

inline std::vector<wharf_variable> table(const Variables& variables) {
  std::vector<wharf_variable> all;
  for (const auto& [name, value] : variables) all.push_back({name.c_str(), value.c_str()});
  all.push_back({nullptr, nullptr});
  return all;
}

inline Request request(const wharf_request* from) {
  Request request{from->uri, variables(from->variables), std::nullopt};
  if (from->if_none_match) request.if_none_match = from->if_none_match;
  return request;
}

inline wharf_status give(const Error& error) {
  switch (error.status) {
    case WHARF_NOT_FOUND: return wharf_not_found();
    case WHARF_INVALID: return wharf_invalid("%s", error.text.c_str());
    case WHARF_DENIED: return wharf_denied("%s", error.text.c_str());
    case WHARF_UNAVAILABLE: return wharf_unavailable("%s", error.text.c_str());
    default: return wharf_failed("%s", error.text.c_str());
  }
}

inline Outcome take(wharf_status status) {
  if (status == WHARF_OK) return std::nullopt;
  return Error{status, wharf_message()};
}

inline wharf_status read(const wharf_request* asked, wharf_reply* reply) {
  Answer answer = offer(asked->context).read(request(asked));
  if (const Error* error = std::get_if<Error>(&answer.value())) return give(*error);
  const Reading& reading = std::get<Reading>(answer.value());
  if (reading.reuse_ms) wharf_reuse_ms(reply, *reading.reuse_ms);
  if (reading.reuse_until_announced) wharf_reuse_until_announced(reply);
  if (reading.version && wharf_unchanged(reply, reading.version->c_str())) return WHARF_OK;
  for (const Contents& contents : reading.contents) {
    wharf_contents one{};
    one.uri = or_null(contents.uri);
    one.mime_type = or_null(contents.mime_type);
    one.meta_json = or_null(contents.meta_json);
    if (const std::string* text = std::get_if<std::string>(&contents.body)) {
      one.bytes = text->data();
      one.size = text->size();
      one.utf8 = true;
    } else {
      const auto& bytes = std::get<std::vector<uint8_t>>(contents.body);
      one.bytes = bytes.data();
      one.size = bytes.size();
    }
    wharf_add(reply, &one);
  }
  return WHARF_OK;
}

inline wharf_status subscribe(const wharf_request* asked) {
  Outcome outcome = offer(asked->context).on_subscribe(request(asked));
  return outcome ? give(*outcome) : WHARF_OK;
}

inline void unsubscribe(const wharf_request* asked) { offer(asked->context).on_unsubscribe(request(asked)); }

inline void list(wharf_list* list, void* context) {
  for (const Member& member : offer(context).list()) {
    wharf_resource details{};
    details.name = or_null(member.name);
    details.title = or_null(member.title);
    details.description = or_null(member.description);
    details.mime_type = or_null(member.mime_type);
    details.size = member.size.value_or(0);
    wharf_list_add(list, table(member.variables).data(), &details);
  }
}

inline void complete(const wharf_completing* what, wharf_suggestions* suggestions) {
  for (const auto& [variable, suggest] : offer(what->context).complete)
    if (variable == what->variable)
      for (const std::string& value : suggest(what->value, variables(what->known))) wharf_suggest_anyway(suggestions, value.c_str());
}

}  // namespace detail

// Says what a resource or a template is; `read` ends it and adds it. Whatever is not said is left out.
class Builder {
 public:
  Builder(std::string uri, void (*add)(const wharf_resource*)) : offer_(std::make_unique<detail::Offer>()), add_(add) { offer_->uri = std::move(uri); }

  // What a client shows when there is no title. Not said: the last segment of the URI.
  Builder&& name(std::string text) && { return offer_->name = std::move(text), std::move(*this); }
  Builder&& title(std::string text) && { return offer_->title = std::move(text), std::move(*this); }
  Builder&& describe(std::string text) && { return offer_->description = std::move(text), std::move(*this); }
  Builder&& mime_type(std::string text) && { return offer_->mime_type = std::move(text), std::move(*this); }
  Builder&& meta_json(std::string text) && { return offer_->meta_json = std::move(text), std::move(*this); }
  Builder&& icon(Icon icon) && { return offer_->icons.push_back(std::move(icon)), std::move(*this); }
  // Bytes; for resources.
  Builder&& size(double bytes) && { return offer_->table.size = bytes, std::move(*this); }
  // For whom (WHARF_USER | WHARF_ASSISTANT; 0: not said), how important (0.0 to 1.0), and when it last changed (milliseconds since 1970).
  Builder&& annotations(unsigned audience, std::optional<double> priority = {}, double last_modified = 0) && {
    offer_->annotations = {audience, priority.has_value(), priority.value_or(0), last_modified};
    offer_->table.annotations = &offer_->annotations;
    return std::move(*this);
  }
  // It tells of changes: when you announce it, and at a reload. The first function is called for the first subscriber, the second when
  // none is left.
  Builder&& subscribable(std::function<Outcome(const Request&)> on_subscribe = {}, std::function<void(const Request&)> on_unsubscribe = {}) && {
    offer_->table.subscribable = true;
    offer_->on_subscribe = std::move(on_subscribe);
    offer_->on_unsubscribe = std::move(on_unsubscribe);
    return std::move(*this);
  }
  // Those of a family that can be enumerated; asked for each list, and when one of them is read.
  Builder&& list(std::function<std::vector<Member>()> members) && { return offer_->list = std::move(members), std::move(*this); }
  // Suggests values of one variable while someone types: given what is typed, and the variables filled in already.
  Builder&& complete(std::string variable, std::function<std::vector<std::string>(const std::string&, const Variables&)> suggest) && {
    return offer_->complete.emplace_back(std::move(variable), std::move(suggest)), std::move(*this);
  }

  void read(std::function<Answer(const Request&)> answer) && {
    // It stays for good, at this address.
    detail::Offer* offer = offer_.release();
    offer->read = std::move(answer);
    wharf_resource& table = offer->table;
    table.uri = offer->uri.c_str();
    table.name = detail::or_null(offer->name);
    table.title = detail::or_null(offer->title);
    table.description = detail::or_null(offer->description);
    table.mime_type = detail::or_null(offer->mime_type);
    table.meta_json = detail::or_null(offer->meta_json);
    for (const Icon& icon : offer->icons) {
      auto& sizes = offer->icon_sizes.emplace_back();
      for (const std::string& size : icon.sizes) sizes.push_back(size.c_str());
      sizes.push_back(nullptr);
      offer->icon_table.push_back({icon.src.c_str(), detail::or_null(icon.mime_type), icon.sizes.empty() ? nullptr : sizes.data(), icon.theme});
    }
    table.icons = offer->icon_table.data();
    table.icon_count = offer->icon_table.size();
    table.read = detail::read;
    if (offer->on_subscribe) table.on_subscribe = detail::subscribe;
    if (offer->on_unsubscribe) table.on_unsubscribe = detail::unsubscribe;
    if (offer->list) table.list = detail::list;
    if (!offer->complete.empty()) table.complete = detail::complete;
    table.context = offer;
    add_(&table);
  }

 private:
  std::unique_ptr<detail::Offer> offer_;
  void (*add_)(const wharf_resource*);
};

inline Builder resource(std::string uri) { return {std::move(uri), wharf_add_resource}; }
inline Builder template_(std::string uri_template) { return {std::move(uri_template), wharf_add_template}; }

// The content of these URIs has changed, or may have: call it after what `read` answers has changed.
inline void updated(std::initializer_list<std::string_view> uris) {
  for (std::string_view uri : uris) wharf_updated(std::string(uri).c_str());
}
inline void updated(const std::string& uri) { wharf_updated(uri.c_str()); }
inline void list_changed() { wharf_list_changed(); }

// The URI of one member of a family.
inline std::string expand(const std::string& uri_template, const Variables& variables) {
  return wharf_expand(uri_template.c_str(), detail::table(variables).data());
}

inline std::optional<std::string> setting(const std::string& name) {
  const char* value = wharf_setting(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}
// All of them, sorted by name.
inline Variables settings() { return detail::variables(wharf_settings()); }

namespace detail {

// By name; what is replaced or cancelled while it runs stays until it has ended.
inline std::vector<std::pair<std::string, std::shared_ptr<std::function<void()>>>> timers;

inline void forget(const std::string& name) {
  std::erase_if(timers, [&](const auto& timer) { return timer.first == name; });
}

inline void fire(const char* name, void* once) {
  for (const auto& [known, run] : timers) {
    if (known != name) continue;
    auto kept = run;
    if (once) forget(name);
    return (*kept)();
  }
}

inline Outcome start(const std::string& name, uint32_t ms, bool again, std::function<void()> run) {
  static char once;
  auto started = again ? wharf_every(name.c_str(), ms, fire, nullptr) : wharf_after(name.c_str(), ms, fire, &once);
  if (started != WHARF_OK) return take(started);
  forget(name);
  timers.emplace_back(name, std::make_shared<std::function<void()>>(std::move(run)));
  return std::nullopt;
}

}  // namespace detail

// Calls `run` each time so many milliseconds have passed, or once after that; at least 100. One of the same name is replaced.
inline Outcome every(const std::string& name, uint32_t ms, std::function<void()> run) { return detail::start(name, ms, true, std::move(run)); }
inline Outcome after(const std::string& name, uint32_t ms, std::function<void()> run) { return detail::start(name, ms, false, std::move(run)); }
inline void cancel(const std::string& name) {
  wharf_cancel(name.c_str());
  detail::forget(name);
}

}  // namespace wharf
