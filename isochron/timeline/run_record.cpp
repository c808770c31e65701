#include "isochron/timeline/run_record.h"

#include "isochron/base/error.h"
#include "isochron/base/json.h"

namespace isochron {

namespace {

constexpr int kSchema = 1;

Json phases_to_json(const PhaseSeconds& phases) {
  Json out = Json::object();
  for (int i = 0; i < kPhaseCount; ++i)
    if (phases[i] != 0) out[std::string(name_of(static_cast<Phase>(i)))] = phases[i];
  return out;
}

Phase phase_of(const std::string& name) {
  if (auto phase = phase_from_name(name)) return *phase;
  fail<FileError>("run record", "unknown phase \"{}\"", name);
}

template <class T>
std::optional<T> optional_of(const Json& object, const char* key) {
  if (auto it = object.find(key); it != object.end() && !it->is_null()) return it->get<T>();
  return std::nullopt;
}

Json to_json(const Epoch& e) {
  Json out{{"index", e.index}, {"start", e.start}, {"seconds", e.seconds}};
  if (e.steps) out["steps"] = *e.steps;
  if (e.examples) out["examples"] = *e.examples;
  if (e.validation_seconds) out["validation_seconds"] = *e.validation_seconds;
  if (Json phases = phases_to_json(e.phases); !phases.empty()) out["phases"] = std::move(phases);
  if (!e.metrics.empty()) out["metrics"] = e.metrics;
  if (e.first_step_seconds) out["first_step_seconds"] = *e.first_step_seconds;
  if (e.input_seconds) out["input_seconds"] = *e.input_seconds;
  if (e.tail_seconds) out["tail_seconds"] = *e.tail_seconds;
  if (!e.callbacks.empty()) out["callbacks"] = e.callbacks;
  if (e.resolution > 0) out["resolution"] = e.resolution;
  return out;
}

Json to_json(const Step& s) {
  Json out{{"index", s.index}, {"epoch", s.epoch}, {"start", s.start}, {"seconds", s.seconds}};
  if (s.input_seconds) out["input_seconds"] = *s.input_seconds;
  return out;
}

Step step_from(const Json& in) {
  return {in.at("index"), in.value("epoch", 0), in.value("start", 0.0), in.at("seconds"),
          optional_of<double>(in, "input_seconds")};
}

Json to_json(const Fact& f) {
  Json out{{"key", f.key}, {"value", f.value}, {"source", f.source}};
  if (f.time) out["time"] = *f.time;
  if (f.epoch > 0) out["epoch"] = f.epoch;
  return out;
}

Json to_json(const Profile& p) {
  Json out{{"source", p.source}, {"start", p.start}, {"seconds", p.seconds}};
  out["steps"] = Json::array();
  for (size_t i = 0; i < p.steps.size(); ++i) {
    Json step = to_json(p.steps[i]);
    if (i < p.step_phases.size()) step["phases"] = phases_to_json(p.step_phases[i]);
    out["steps"].push_back(std::move(step));
  }
  out["ops"] = Json::array();
  for (const ProfileOp& op : p.ops) {
    Json row{{"name", op.name}, {"phase", name_of(op.phase)}, {"counts", op.counts}, {"seconds", op.seconds}};
    if (!op.elements.empty()) row["elements"] = op.elements;
    out["ops"].push_back(std::move(row));
  }
  return out;
}

PhaseSeconds phases_from(const Json& in, const char* key = "phases") {
  PhaseSeconds phases{};
  if (auto it = in.find(key); it != in.end())
    for (const auto& [name, seconds] : it->items()) phases[static_cast<int>(phase_of(name))] = seconds;
  return phases;
}

Profile profile_from(const Json& in) {
  Profile p{in.value("source", ""), in.value("start", 0.0), in.value("seconds", 0.0), {}, {}, {}};
  for (const Json& step : in.at("steps")) {
    p.steps.push_back(step_from(step));
    p.step_phases.push_back(phases_from(step));
  }
  for (const Json& op : in.value("ops", Json::array())) {
    p.ops.push_back({op.at("name"), phase_of(op.at("phase")), op.at("counts"), op.at("seconds"),
                     op.value("elements", std::vector<double>())});
    const ProfileOp& row = p.ops.back();
    if (row.counts.size() != p.steps.size() || row.seconds.size() != p.steps.size() ||
        (!row.elements.empty() && row.elements.size() != p.steps.size()))
      fail<FileError>("run record", "operation \"{}\" must have one value per step, {}", row.name, p.steps.size());
  }
  return p;
}

Epoch epoch_from(const Json& in) {
  Epoch e;
  e.index = in.at("index");
  e.start = in.value("start", 0.0);
  e.seconds = in.at("seconds");
  e.steps = optional_of<int64_t>(in, "steps");
  e.examples = optional_of<int64_t>(in, "examples");
  e.validation_seconds = optional_of<double>(in, "validation_seconds");
  e.phases = phases_from(in);
  e.first_step_seconds = optional_of<double>(in, "first_step_seconds");
  e.input_seconds = optional_of<double>(in, "input_seconds");
  e.tail_seconds = optional_of<double>(in, "tail_seconds");
  e.resolution = in.value("resolution", 0.0);
  for (auto [key, values] : {std::pair("metrics", &e.metrics), std::pair("callbacks", &e.callbacks)})
    if (auto it = in.find(key); it != in.end())
      for (const auto& [name, value] : it->items())
        if (value.is_number()) (*values)[name] = value;
  return e;
}

}  // namespace

std::string RunRecord::to_json(int indent) const {
  Json out{{"schema", kSchema}, {"source", source}, {"framework", framework}, {"seconds", seconds}};
  out["epochs"] = Json::array();
  for (const Epoch& e : epochs) out["epochs"].push_back(isochron::to_json(e));
  out["steps"] = Json::array();
  for (const Step& s : steps) out["steps"].push_back(isochron::to_json(s));
  out["spans"] = Json::array();
  for (const Span& s : spans)
    out["spans"].push_back({{"name", s.name},
                            {"phase", name_of(s.phase)},
                            {"start", s.start},
                            {"seconds", s.seconds},
                            {"epoch", s.epoch},
                            {"thread", s.thread}});
  out["samples"] = Json::array();
  for (const Sample& s : samples) out["samples"].push_back({{"time", s.time}, {"values", s.values}});
  out["facts"] = Json::array();
  for (const Fact& f : facts) out["facts"].push_back(isochron::to_json(f));
  if (!profiles.empty()) {
    out["profiles"] = Json::array();
    for (const Profile& p : profiles) out["profiles"].push_back(isochron::to_json(p));
  }
  for (const InputStage& stage : input_stages)
    out["input_stages"].push_back({{"name", stage.name},
                                   {"elements", stage.elements},
                                   {"busy_seconds", stage.busy_seconds},
                                   {"threads", stage.threads},
                                   {"wait_seconds", stage.wait_seconds}});
  if (wall_start) out["wall_start"] = *wall_start;
  if (planned_epochs) out["planned_epochs"] = *planned_epochs;
  if (open_epoch) {
    Json open{{"index", open_epoch->index}, {"start", open_epoch->start}};
    if (open_epoch->step) open["step"] = *open_epoch->step;
    if (open_epoch->steps) open["steps"] = *open_epoch->steps;
    out["open_epoch"] = std::move(open);
  }
  if (Json phases = phases_to_json(outside_phases); !phases.empty()) out["outside_phases"] = std::move(phases);
  return json_text(out, indent);
}

RunRecord RunRecord::from_json(const std::string& text) {
  try {
    const Json in = with_numbers_in_range(parse_json(text), "metrics");
    if (in.value("schema", 0) != kSchema)
      fail<FileError>("run record", "schema must be {}, got {}", kSchema, json_text(in.value("schema", Json())));
    RunRecord run;
    run.source = in.value("source", "");
    run.framework = in.value("framework", "");
    run.seconds = in.value("seconds", 0.0);
    for (const Json& e : in.value("epochs", Json::array())) run.epochs.push_back(epoch_from(e));
    for (const Json& s : in.value("steps", Json::array())) run.steps.push_back(step_from(s));
    for (const Json& s : in.value("spans", Json::array()))
      run.spans.push_back({s.at("name"), phase_of(s.at("phase")), s.at("start"), s.at("seconds"), s.value("epoch", 0),
                           s.value("thread", 0)});
    for (const Json& s : in.value("samples", Json::array())) {
      Sample sample{s.at("time"), {}};
      for (const auto& [name, value] : s.at("values").items())
        if (value.is_number()) sample.values[name] = value;
      run.samples.push_back(std::move(sample));
    }
    for (const Json& f : in.value("facts", Json::array()))
      run.facts.push_back(
          {f.at("key"), f.at("value"), f.value("source", ""), optional_of<double>(f, "time"), f.value("epoch", 0)});
    for (const Json& p : in.value("profiles", Json::array())) run.profiles.push_back(profile_from(p));
    for (const Json& stage : in.value("input_stages", Json::array()))
      run.input_stages.push_back({stage.at("name"), stage.value("elements", int64_t{0}),
                                  stage.value("busy_seconds", 0.0), stage.value("threads", 0),
                                  stage.value("wait_seconds", 0.0)});
    run.wall_start = optional_of<double>(in, "wall_start");
    run.planned_epochs = optional_of<int>(in, "planned_epochs");
    if (auto it = in.find("open_epoch"); it != in.end())
      run.open_epoch = OpenEpoch{it->at("index"), it->value("start", 0.0), optional_of<int64_t>(*it, "step"),
                                 optional_of<int64_t>(*it, "steps")};
    run.outside_phases = phases_from(in, "outside_phases");
    return run;
  } catch (const Json::exception& e) {
    fail<FileError>("run record", "not a run record: {}", e.what());
  } catch (const std::out_of_range& e) {
    fail<FileError>("run record", "not a run record: {}", e.what());
  }
}

std::string RunRecord::to_chrome_trace() const {
  Json events = Json::array();
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
  return json_text(Json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}});
}

const Fact* RunRecord::find_fact(const std::string& key) const {
  for (const Fact& fact : facts)
    if (fact.key == key) return &fact;
  return nullptr;
}

}  // namespace isochron
