#include "isochron/timeline/run_record.h"

#include <nlohmann/json.hpp>

#include "isochron/base/error.h"

namespace isochron {

using json = nlohmann::ordered_json;

namespace {

constexpr int kSchema = 1;

json phases_to_json(const PhaseSeconds& phases) {
  json out = json::object();
  for (int i = 0; i < kPhaseCount; ++i)
    if (phases[i] != 0) out[std::string(name_of(static_cast<Phase>(i)))] = phases[i];
  return out;
}

Phase phase_of(const std::string& name) {
  if (auto phase = phase_from_name(name)) return *phase;
  fail<FileError>("run record", "unknown phase \"{}\"", name);
}

template <class T>
std::optional<T> optional_of(const json& object, const char* key) {
  if (auto it = object.find(key); it != object.end() && !it->is_null()) return it->get<T>();
  return std::nullopt;
}

json to_json(const Epoch& e) {
  json out{{"index", e.index}, {"start", e.start}, {"seconds", e.seconds}};
  if (e.steps) out["steps"] = *e.steps;
  if (e.examples) out["examples"] = *e.examples;
  if (e.validation_seconds) out["validation_seconds"] = *e.validation_seconds;
  if (json phases = phases_to_json(e.phases); !phases.empty()) out["phases"] = std::move(phases);
  if (!e.metrics.empty()) out["metrics"] = e.metrics;
  return out;
}

Epoch epoch_from(const json& in) {
  Epoch e;
  e.index = in.at("index");
  e.start = in.value("start", 0.0);
  e.seconds = in.at("seconds");
  e.steps = optional_of<int64_t>(in, "steps");
  e.examples = optional_of<int64_t>(in, "examples");
  e.validation_seconds = optional_of<double>(in, "validation_seconds");
  if (auto it = in.find("phases"); it != in.end())
    for (const auto& [name, seconds] : it->items()) e.phases[static_cast<int>(phase_of(name))] = seconds;
  if (auto it = in.find("metrics"); it != in.end())
    for (const auto& [name, value] : it->items())
      if (value.is_number()) e.metrics[name] = value;
  return e;
}

}  // namespace

std::string RunRecord::to_json(int indent) const {
  json out{{"schema", kSchema}, {"source", source}, {"framework", framework}, {"seconds", seconds}};
  out["epochs"] = json::array();
  for (const Epoch& e : epochs) out["epochs"].push_back(isochron::to_json(e));
  out["steps"] = json::array();
  for (const Step& s : steps) {
    json step{{"index", s.index}, {"epoch", s.epoch}, {"start", s.start}, {"seconds", s.seconds}};
    if (s.input_seconds) step["input_seconds"] = *s.input_seconds;
    out["steps"].push_back(std::move(step));
  }
  out["spans"] = json::array();
  for (const Span& s : spans)
    out["spans"].push_back({{"name", s.name},
                            {"phase", name_of(s.phase)},
                            {"start", s.start},
                            {"seconds", s.seconds},
                            {"epoch", s.epoch},
                            {"thread", s.thread}});
  out["samples"] = json::array();
  for (const Sample& s : samples) out["samples"].push_back({{"time", s.time}, {"values", s.values}});
  out["facts"] = json::array();
  for (const Fact& f : facts) out["facts"].push_back({{"key", f.key}, {"value", f.value}, {"source", f.source}});
  return out.dump(indent, ' ', false, json::error_handler_t::replace);
}

RunRecord RunRecord::from_json(const std::string& text) {
  try {
    const json in = json::parse(text);
    if (in.value("schema", 0) != kSchema)
      fail<FileError>("run record", "schema must be {}, got {}", kSchema, in.value("schema", json()).dump());
    RunRecord run;
    run.source = in.value("source", "");
    run.framework = in.value("framework", "");
    run.seconds = in.value("seconds", 0.0);
    for (const json& e : in.value("epochs", json::array())) run.epochs.push_back(epoch_from(e));
    for (const json& s : in.value("steps", json::array()))
      run.steps.push_back({s.at("index"), s.value("epoch", 0), s.value("start", 0.0), s.at("seconds"),
                           optional_of<double>(s, "input_seconds")});
    for (const json& s : in.value("spans", json::array()))
      run.spans.push_back({s.at("name"), phase_of(s.at("phase")), s.at("start"), s.at("seconds"), s.value("epoch", 0),
                           s.value("thread", 0)});
    for (const json& s : in.value("samples", json::array())) {
      Sample sample{s.at("time"), {}};
      for (const auto& [name, value] : s.at("values").items())
        if (value.is_number()) sample.values[name] = value;
      run.samples.push_back(std::move(sample));
    }
    for (const json& f : in.value("facts", json::array()))
      run.facts.push_back({f.at("key"), f.at("value"), f.value("source", "")});
    return run;
  } catch (const json::exception& e) {
    fail<FileError>("run record", "not a run record: {}", e.what());
  }
}

std::string RunRecord::to_chrome_trace() const {
  json events = json::array();
  const auto add = [&](const std::string& name, std::string_view category, double start, double duration, int thread) {
    events.push_back({{"name", name},
                      {"cat", category},
                      {"ph", "X"},
                      {"ts", start * 1e6},
                      {"dur", duration * 1e6},
                      {"pid", 1},
                      {"tid", thread}});
  };
  for (const Epoch& e : epochs) add(fmt::format("epoch {}", e.index), "epoch", e.start, e.seconds, 0);
  for (const Step& s : steps) add(fmt::format("step {}", s.index), "step", s.start, s.seconds, 0);
  for (const Span& s : spans) add(s.name, name_of(s.phase), s.start, s.seconds, s.thread);
  for (const Sample& s : samples)
    for (const auto& [name, value] : s.values)
      events.push_back({{"name", name}, {"ph", "C"}, {"ts", s.time * 1e6}, {"pid", 1}, {"args", {{name, value}}}});
  return json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump(-1, ' ', false,
                                                                                  json::error_handler_t::replace);
}

const Fact* RunRecord::find_fact(const std::string& key) const {
  for (const Fact& fact : facts)
    if (fact.key == key) return &fact;
  return nullptr;
}

}  // namespace isochron
