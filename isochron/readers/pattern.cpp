#include "isochron/readers/pattern.h"

#include <algorithm>
#include <functional>

#include "isochron/base/error.h"

namespace isochron {
namespace {

enum class FieldType { count, duration, number };
struct Field {
  std::string_view name;
  FieldType type;
  void (*store)(LogEvent&, const Measured&);
};

template <auto Member>
void store_count(LogEvent& event, const Measured& value) {
  event.*Member = static_cast<int64_t>(value.value);
}
template <auto Member>
void store_measured(LogEvent& event, const Measured& value) {
  event.*Member = value;
}

constexpr Field kFields[] = {
    {"", FieldType::number, [](LogEvent&, const Measured&) {}},
    {"epoch", FieldType::count, store_count<&LogEvent::epoch>},
    {"epochs", FieldType::count, store_count<&LogEvent::epochs>},
    {"step", FieldType::count, store_count<&LogEvent::step>},
    {"steps", FieldType::count, store_count<&LogEvent::steps>},
    {"window_steps", FieldType::count, store_count<&LogEvent::window_steps>},
    {"epoch_time", FieldType::duration, store_measured<&LogEvent::epoch_time>},
    {"validation_time", FieldType::duration, store_measured<&LogEvent::validation_time>},
    {"run_time", FieldType::duration, store_measured<&LogEvent::run_time>},
    {"run_input_time", FieldType::duration, store_measured<&LogEvent::run_input_time>},
    {"clock", FieldType::duration, store_measured<&LogEvent::clock>},
    {"elapsed", FieldType::duration, store_measured<&LogEvent::elapsed>},
    {"left", FieldType::duration, store_measured<&LogEvent::left>},
    {"step_time", FieldType::duration, store_measured<&LogEvent::step_time>},
    {"step_ms", FieldType::number, [](LogEvent& event, const Measured& value) { event.step_time = value * 1e-3; }},
    {"mean_step_time", FieldType::duration, store_measured<&LogEvent::mean_step_time>},
    {"data_time", FieldType::duration, store_measured<&LogEvent::data_time>},
    {"mean_data_time", FieldType::duration, store_measured<&LogEvent::mean_data_time>},
    {"window_time", FieldType::duration, store_measured<&LogEvent::window_time>},
    {"rate", FieldType::number, store_measured<&LogEvent::rate>},
    {"examples_rate", FieldType::number, store_measured<&LogEvent::examples_rate>},
    {"examples", FieldType::number, [](LogEvent& event, const Measured& value) { event.examples = value.value; }},
};

const Field* field_named(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& f) { return f.name == name; });
  return found == std::end(kFields) ? nullptr : found;
}

}  // namespace

struct Pattern::Node {
  enum class Kind { text, blanks, anything, field, choice, start, end };
  Kind kind = Kind::text;
  std::string text;
  const Field* field = nullptr;
  std::vector<Sequence> choices;
  bool optional = false;
};

// Tries at the places of a line, one after the other; `budget` bounds the backtracking of them all.
struct Pattern::Attempt {
  std::string_view line;
  std::string_view lower_line;
  int& budget;
  LogEvent event;
  // What follows the sequence being matched: the rest of the enclosing ones.
  std::vector<std::pair<const Sequence*, size_t>> after;
};

Pattern::Pattern(std::string_view source) {
  size_t at = 0;
  nodes_ = parse(source, at);
  ISO_CHECK(at == source.size());
  for (const Node& node : nodes_)
    if (node.kind == Node::Kind::text && node.text.size() > required_.size()) required_ = node.text;
  may_be_empty_ = add_beginnings(nodes_, 0, beginnings_);
}
Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;

Pattern::Sequence Pattern::parse(std::string_view source, size_t& at) {
  Sequence nodes;
  const auto add_character = [&](char c) {
    if (nodes.empty() || nodes.back().kind != Node::Kind::text) nodes.push_back({Node::Kind::text});
    nodes.back().text += lower(c);
  };
  while (at < source.size() && source[at] != ')' && source[at] != '|') {
    const char c = source[at++];
    if (c == '\\') {
      add_character(source[at++]);
    } else if (c == ' ') {
      nodes.push_back({Node::Kind::blanks});
    } else if (c == '~') {
      nodes.push_back({Node::Kind::anything});
    } else if (c == '^' || c == '$') {
      nodes.push_back({c == '^' ? Node::Kind::start : Node::Kind::end});
    } else if (c == '{') {
      const size_t close = source.find('}', at);
      ISO_CHECK(close != std::string_view::npos);
      nodes.push_back({Node::Kind::field, "", field_named(source.substr(at, close - at))});
      ISO_CHECK(nodes.back().field != nullptr);
      at = close + 1;
    } else if (c == '(') {
      Node choice{Node::Kind::choice};
      do {
        choice.choices.push_back(parse(source, at));
        ISO_CHECK(at < source.size());
      } while (source[at++] == '|');
      if (at < source.size() && source[at] == '?') {
        choice.optional = true;
        ++at;
      }
      nodes.push_back(std::move(choice));
    } else {
      add_character(c);
    }
  }
  return nodes;
}

bool Pattern::add_beginnings(const Sequence& nodes, size_t index, std::bitset<256>& bytes) {
  const auto add = [&](std::string_view characters) {
    for (const char c : characters) bytes.set(static_cast<unsigned char>(c));
  };
  for (; index < nodes.size(); ++index) {
    const Node& node = nodes[index];
    switch (node.kind) {
      case Node::Kind::text:
        add(std::string_view(node.text).substr(0, 1));
        return false;
      case Node::Kind::field:
        add(node.field->type == FieldType::count ? "0123456789" : "0123456789+-.p");  // p of PT4.2S
        return false;
      case Node::Kind::blanks:
        for (int c = 0; c < 256; ++c)
          if (is_space(static_cast<char>(c))) bytes.set(static_cast<size_t>(c));
        break;
      case Node::Kind::choice: {
        bool passable = node.optional;
        for (const Sequence& choice : node.choices) passable = add_beginnings(choice, 0, bytes) || passable;
        if (!passable) return false;
        break;
      }
      case Node::Kind::anything:
      case Node::Kind::start:
      case Node::Kind::end:
        return true;
    }
  }
  return true;
}

bool Pattern::run(const Sequence& nodes, size_t index, size_t at, Attempt& attempt) {
  if (--attempt.budget < 0) return false;
  if (index == nodes.size()) {
    if (attempt.after.empty()) return true;
    const auto next = attempt.after.back();
    attempt.after.pop_back();
    const bool matched = run(*next.first, next.second, at, attempt);
    attempt.after.push_back(next);
    return matched;
  }
  const Node& node = nodes[index];
  switch (node.kind) {
    case Node::Kind::text:
      return attempt.lower_line.substr(at).starts_with(node.text) &&
             run(nodes, index + 1, at + node.text.size(), attempt);
    case Node::Kind::blanks:
      while (at < attempt.line.size() && is_space(attempt.line[at])) ++at;
      return run(nodes, index + 1, at, attempt);
    case Node::Kind::anything:
      for (size_t from = at; from <= attempt.line.size(); ++from) {
        if (index + 1 < nodes.size() && nodes[index + 1].kind == Node::Kind::text)
          from = std::min(attempt.lower_line.find(nodes[index + 1].text, from), attempt.line.size());
        if (run(nodes, index + 1, from, attempt)) return true;
      }
      return false;
    case Node::Kind::field: {
      Scanner scan(attempt.line, at);
      std::optional<Measured> value;
      if (node.field->type == FieldType::count) {
        if (const auto count = scan.count()) value = Measured::exact(static_cast<double>(*count));
      } else {
        if (node.field->type == FieldType::duration) value = scan.duration();
        if (!value) value = scan.number();
      }
      if (!value) return false;
      if (!run(nodes, index + 1, scan.position(), attempt)) return false;
      node.field->store(attempt.event, *value);  // only now: a try that fails leaves nothing behind
      return true;
    }
    case Node::Kind::choice: {
      attempt.after.emplace_back(&nodes, index + 1);
      bool matched = false;
      for (const Sequence& choice : node.choices)
        if ((matched = run(choice, 0, at, attempt))) break;
      attempt.after.pop_back();
      return matched || (node.optional && run(nodes, index + 1, at, attempt));
    }
    case Node::Kind::start:
      return trimmed(attempt.line.substr(0, at)).empty() && run(nodes, index + 1, at, attempt);
    case Node::Kind::end:
      return trimmed(attempt.line.substr(at)).empty() && run(nodes, index + 1, at, attempt);
  }
  return false;
}

std::optional<LogEvent> Pattern::match(std::string_view line, std::string_view line_lower) const {
  int budget = 20000;
  const Node& first = nodes_.front();
  Attempt attempt{line, line_lower, budget, {}, {}};
  for (size_t at = 0; at <= line.size() && budget > 0; ++at) {
    if (first.kind == Node::Kind::text) {
      at = line_lower.find(first.text, at);
      if (at == std::string_view::npos) break;
      if (at > 0 && is_word(first.text[0]) && is_word(line[at - 1])) continue;
    } else if (!may_be_empty_) {
      while (at < line.size() && !beginnings_.test(static_cast<unsigned char>(line_lower[at]))) ++at;
      if (at == line.size()) break;
    }
    if (run(nodes_, 0, at, attempt)) return std::move(attempt.event);
    if (first.kind == Node::Kind::start) break;
  }
  return std::nullopt;
}

}  // namespace isochron
