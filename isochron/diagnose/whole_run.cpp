#include "isochron/diagnose/whole_run.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "isochron/base/median.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron {
namespace {

// Whether what was imported within the first epoch is known, and is the framework itself. What else it draws in
// (Lightning loads torchmetrics) is short beside it.
bool imports_itself(const Case& patient) {
  constexpr double kMost = 0.8;
  double own_seconds = 0, all = 0;
  const Epoch& first = patient.epoch(0);
  for (const Span& span : patient.run.spans) {
    // It may have begun before the epoch did.
    const double within =
        std::min(span.start + span.seconds, first.start + first.seconds) - std::max(span.start, first.start);
    if (span.phase != Phase::start || within <= 0) continue;
    all += within;
    const bool own = patient.tensorflow()
                         ? span.name == "import tensorflow" || span.name == "import keras"
                         : span.name == "import torch" || span.name == "import " + patient.run.framework;
    if (own) own_seconds += within;
  }
  return all > 0 && own_seconds >= kMost * all;
}

struct FileWritten {
  double bytes = 0, times = 0, all_bytes = 0;
};
// "out/last.pt (179921 kB, written 9 times, 599955 kB in all)"
std::optional<FileWritten> file_written(const Fact& fact) {
  FileWritten file;
  const size_t at = fact.value.rfind(" (");
  if (at == std::string::npos || std::sscanf(fact.value.c_str() + at, " (%lf kB, written %lf times, %lf kB in all)",
                                             &file.bytes, &file.times, &file.all_bytes) != 3)
    return std::nullopt;
  file.bytes *= 1e3;
  file.all_bytes *= 1e3;
  return file;
}

// Nearly all bytes went to the end of one file that was opened once: a log, whatever single epochs seem to write.
bool only_appends(const Case& patient) {
  constexpr double kMost = 0.7;
  const double all_bytes = patient.growth(sample_key::write_chars, 0, 1e18).value_or(0);
  for (const Fact* fact : patient.facts("written_file"))
    if (const auto file = file_written(*fact); file && file->times <= 1 && file->bytes > kMost * all_bytes) return true;
  return false;
}

// Of epochs shorter than some samples it is uncertain which of them wrote. A file tells by itself: as long as it is now
// it was not on average, and nobody appends to one that takes all of its bytes each time.
Growth rewritten_file(const Case& patient) {
  constexpr double kMany = 1e6, kAboveAverage = 1.4, kWritten = 0.7;
  const double all_bytes = patient.growth(sample_key::write_chars, 0, 1e18).value_or(0);
  for (const Fact* fact : patient.facts("written_file")) {
    const auto file = file_written(*fact);
    if (!file || file->times < 4 || 2 * file->times < static_cast<double>(patient.epochs().size())) continue;
    const double last = file->bytes, average = file->all_bytes / file->times;
    if (last >= kMany && last > kAboveAverage * average && all_bytes > kWritten * file->all_bytes)
      return {true, std::max(0.0, 2 * average - last), last};
  }
  return {};
}

}  // namespace

bool is_overall(const Case& patient, double seconds, double share) {
  const Symptom symptom = patient.shape.symptom;
  if (symptom == Symptom::healthy) return seconds > share * patient.total;
  // Single long epochs may be the machine's noise; a trend or a lasting change is seldom.
  const bool lasting = symptom == Symptom::slowing || symptom == Symptom::slower_later;
  return patient.dwarfs_extra(seconds) && (!lasting || seconds > 4 * patient.shape.extra_total);
}

std::optional<double> told_size(const Case& patient, size_t epoch) {
  std::optional<double> size;
  for (const Fact* fact : patient.facts("work.changed")) {
    if (fact->epoch > patient.epoch(epoch).index) break;
    std::string text = fact->value;
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const char* word : {"image size", "resolution", "sequence length", "seq_len", "context length"}) {
      const size_t at = text.find(word);
      const size_t digit = at == std::string::npos ? at : text.find_first_of("0123456789", at);
      if (digit == std::string::npos) continue;
      double width = 0, height = 1;
      std::sscanf(text.c_str() + digit, "%lf x %lf", &width, &height);
      if (width > 0 && height > 0) size = width * height;
      break;
    }
  }
  return size;
}

bool work_grows(const Case& patient) {
  if (patient.empty()) return false;
  const Epoch &first = patient.epochs().front(), &last = patient.epochs().back();
  const auto grown = [](const auto& before, const auto& after) {
    return before && after && *before > 0 && static_cast<double>(*after) > 1.3 * static_cast<double>(*before);
  };
  return grown(first.steps, last.steps) || grown(first.examples, last.examples) ||
         grown(told_size(patient, 0), told_size(patient, patient.epochs().size() - 1));
}

bool forward_grows_alike(const Case& patient) {
  constexpr double kAlike = 0.5, kGrown = 1.5, kLeast = 0.05;  // kLeast: seconds, below which looks are too few
  const auto slow = patient.slow_epochs();
  if (slow.empty()) return false;
  // The later half of the slow epochs: the last one alone may have met the machine's noise in one of its passes.
  const size_t from = slow.size() / 2;
  const auto factor = [&](Phase which) {
    const auto seconds = [&](size_t i) { return patient.phase(i, which); };
    const auto usual = patient.shape.symptom == Symptom::slowing ? seconds(0) : patient.usually(seconds);
    double late = 0;
    for (size_t k = from; k < slow.size(); ++k) late += seconds(slow[k]).value_or(0);
    return usual && *usual >= kLeast ? late / static_cast<double>(slow.size() - from) / *usual : 0.0;
  };
  const double forward = factor(Phase::forward), backward = factor(Phase::backward);
  return forward > kGrown && backward > kGrown && forward > kAlike * backward;
}

std::vector<std::string> words_of(const std::string& metric) {
  std::vector<std::string> words(1);
  for (const char c : metric)
    if (std::isalpha(static_cast<unsigned char>(c)))
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!words.back().empty())
      words.emplace_back();
  return words;
}

bool names_validation(const std::string& metric) {
  constexpr std::string_view kWords[] = {"val",  "valid", "validation", "eval",    "evaluation",
                                         "test", "dev",   "held",       "heldout", "holdout"};
  const auto words = words_of(metric);
  return std::find_first_of(words.begin(), words.end(), std::begin(kWords), std::end(kWords)) != words.end();
}

std::optional<double> behind_steps(const Case& patient, size_t epoch) {
  const Epoch& told = patient.epoch(epoch);
  if (!told.tail_seconds || !(patient.tensorflow() || patient.run.framework == "lightning")) return std::nullopt;
  return std::max(0.0, *told.tail_seconds - told.validation_seconds.value_or(0));
}

bool saves_in_every_epoch(const Case& patient) {
  std::set<int> saved;
  for (const Fact* fact : patient.facts("checkpoint")) saved.insert(fact->epoch);
  return std::all_of(patient.epochs().begin(), patient.epochs().end(),
                     [&](const Epoch& epoch) { return saved.contains(epoch.index); });
}

Validated validated_when_slow(const Case& patient) {
  std::set<int> with;
  std::string name;
  for (const Epoch& epoch : patient.epochs())
    for (const auto& [metric, value] : epoch.metrics)
      if (names_validation(metric)) {
        with.insert(epoch.index);
        name = metric;
      }
  if (with.size() == patient.epochs().size()) return {};
  std::vector<size_t> slow = patient.slow_among({with.begin(), with.end()});
  return slow.empty() ? Validated{} : Validated{name, std::move(slow)};
}

std::vector<OwnLine> own_lines(const Case& patient, std::string_view work) {
  const std::string words = " s " + std::string(work) + " at ";  // "2.50 s other at train.py:14 report_metrics"
  std::vector<OwnLine> lines;
  for (const Fact* spot : patient.facts("hotspot"))
    if (const size_t at = spot->value.find(words); at != std::string::npos)
      lines.push_back({spot->epoch, std::strtod(spot->value.c_str(), nullptr), spot->value.substr(at + words.size())});
  return lines;
}

std::string most_seen(const Case& patient, double seconds) {
  constexpr double kLeast = 0.3;
  std::map<std::string, double> places;
  for (const Fact* spot : patient.facts("hotspot")) {
    const size_t space = spot->value.find(" s ");  // "2.50 s a generator at train.py:14 batches"
    if (space == std::string::npos) continue;
    const std::string what = spot->value.substr(space + 3);
    const bool step = what.starts_with("forward") || what.starts_with("backward") || what.starts_with("optimizer") ||
                      what.starts_with("TensorFlow") || what.starts_with("session.run");
    if (!step && what.find(" at ") != std::string::npos) places[what] += std::strtod(spot->value.c_str(), nullptr);
  }
  const auto most =
      std::max_element(places.begin(), places.end(), [](auto& a, auto& b) { return a.second < b.second; });
  if (most == places.end() || most->second < kLeast * seconds) return "";
  return time_text(most->second) + ": " + most->first;
}

std::vector<double> memory_by_epoch(const Case& patient) {
  std::vector<double> memory;
  for (size_t i = 0; i < patient.epochs().size(); ++i)
    if (const auto rss = patient.average(sample_key::rss_bytes, i)) memory.push_back(*rss);
  return memory;
}

bool memory_rises_on(const Case& patient) {
  constexpr double kTypical = 0.4;  // of the mean rise, that the median one has at least
  constexpr size_t kFewest = 3;
  const std::vector<double> memory = memory_by_epoch(patient);
  if (memory.size() < kFewest) return false;
  const size_t latest = std::max<size_t>(memory.size() - kFewest, 1);
  const size_t from =
      patient.shape.symptom == Symptom::slower_later ? std::clamp<size_t>(patient.shape.change, 1, latest) : 1;
  std::vector<double> rises;
  for (size_t i = from; i < memory.size(); ++i) rises.push_back(memory[i] - memory[i - 1]);
  std::sort(rises.begin(), rises.end());
  const double mean = (memory.back() - memory[from - 1]) / static_cast<double>(rises.size());
  return mean > 0 && rises[(rises.size() - 1) / 2] >= kTypical * mean;
}

Growth written_per_epoch(const Case& patient) {
  constexpr double kMany = 1e6, kGrown = 1.5;
  std::vector<double> written;
  for (size_t i = 0; i < patient.epochs().size(); ++i)
    if (const auto bytes = patient.growth(sample_key::write_chars, i)) written.push_back(*bytes);
  Growth growth = growth_of(written);
  growth.steady =
      growth.steady && growth.last >= kMany && growth.last >= kGrown * growth.first && !only_appends(patient);
  return growth.steady ? growth : rewritten_file(patient);
}

FirstWaits first_waits(const Case& patient, size_t from) {
  FirstWaits waits;
  for (size_t i = from; i < patient.epochs().size(); ++i) {
    const Epoch& epoch = patient.epoch(i);
    if (!epoch.first_step_seconds || !epoch.steps || *epoch.steps < 3) continue;
    ++waits.known;
    const double rest = (epoch.seconds - *epoch.first_step_seconds) / static_cast<double>(*epoch.steps - 1);
    if (*epoch.first_step_seconds <= 5 * rest || *epoch.first_step_seconds <= 0.2 * epoch.seconds) continue;
    ++waits.waiting;
    waits.seconds += *epoch.first_step_seconds - rest;
  }
  return waits;
}

std::optional<double> first_step_beyond_others(const Case& patient) {
  if (patient.empty() || !patient.epoch(0).first_step_seconds) return std::nullopt;
  std::vector<double> others;
  for (size_t i = 1; i < patient.epochs().size(); ++i)
    if (patient.epoch(i).first_step_seconds) others.push_back(*patient.epoch(i).first_step_seconds);
  return std::max(0.0, *patient.epoch(0).first_step_seconds - median_of(std::move(others)));
}

bool small_graph_traced(const Case& patient) {
  return std::any_of(patient.run.profiles.begin(), patient.run.profiles.end(), runs_small_graph);
}

InputLead input_lead(const Case& patient, size_t epoch) {
  for (const Fact* fact : patient.facts("input.lead"))
    if (fact->epoch == patient.epoch(epoch).index) {
      const size_t space = fact->value.find(' ');  // "6.30 buffer"
      return {std::strtod(fact->value.c_str(), nullptr),
              space == std::string::npos ? "" : fact->value.substr(space + 1)};
    }
  return {};
}

std::optional<double> computed_seconds(const Case& patient, size_t epoch) {
  const auto cpu = patient.growth(sample_key::cpu_seconds, epoch);
  if (!cpu) return std::nullopt;
  return std::max(0.0, *cpu - patient.growth(sample_key::system_seconds, epoch).value_or(0));
}

double starting_workers(const Case& patient) {
  std::map<int, double> by_epoch;
  for (const Fact* fact : patient.facts("workers.start"))
    by_epoch[fact->epoch] += std::strtod(fact->value.c_str(), nullptr);
  double seconds = 0;
  for (const Epoch& epoch : patient.epochs()) seconds += std::min(by_epoch[epoch.index], epoch.seconds);
  return seconds;
}

bool is_of_framework(const Case& patient, const Finding& finding) {
  return (finding.cause == Cause::startup_graph && patient.tensorflow()) ||
         (finding.cause == Cause::startup_import && imports_itself(patient));
}

bool starts_as_usual(const Case& patient, const std::vector<Finding>& findings) {
  constexpr double kAlways = 2.0, kLongest = 3.0, kLongestImport = 5.0;  // seconds
  constexpr double kHighestRatio = 2.5;
  constexpr double kElse = 1.0, kElseShare = 0.3;
  // Thread pools, caches and lazy parts that nobody sees start with the first epoch of any framework. Within its steps
  // memory is touched for the first time as well.
  constexpr double kUnseen = 0.6, kUnseenInSteps = 1.2, kUnseenRatio = 2, kMostInSteps = 0.6;
  const EpochShape& shape = patient.shape;
  if (shape.symptom != Symptom::slow_first) return false;
  // On a busy machine it takes longer and is as ordinary.
  const double own_share = 1 - standing_still(patient, 0).value_or(0);
  const double overhead = shape.first_overhead * own_share;
  double traced_seconds = 0, imported_seconds = 0, most_else = 0;
  for (const Finding& finding : findings) {
    if (is_of_framework(patient, finding))
      (finding.cause == Cause::startup_graph ? traced_seconds : imported_seconds) += finding.seconds;
    else if (!finding.overall && finding.cause != Cause::machine_contention)
      most_else = std::max(most_else, finding.seconds);
  }
  // A fault of seconds beside it is a fault.
  if (most_else > kElseShare * shape.first_overhead && most_else * own_share > kElse) return false;
  const double explained = std::max({traced_seconds, imported_seconds, most_else});
  const bool in_steps = patient.explained_by({Phase::forward, Phase::backward, Phase::update}).value_or(0) >
                        kMostInSteps * shape.first_overhead;
  if (overhead < (in_steps ? kUnseenInSteps : kUnseen) && shape.ratio < kUnseenRatio &&
      explained < 0.3 * shape.first_overhead)
    return true;
  const bool long_start = overhead > kAlways && (overhead > kLongest || shape.ratio > kHighestRatio);
  if (imported_seconds > traced_seconds ? overhead > kLongestImport : long_start) return false;
  const double own = traced_seconds + imported_seconds;
  return own > 0.4 * shape.first_overhead && own > most_else;
}

std::optional<double> standing_still(const Case& patient, size_t i) {
  const auto delay = patient.growth(sample_key::run_delay_seconds, i), cpu = patient.growth(sample_key::cpu_seconds, i);
  const double seconds = patient.epoch(i).seconds;
  if (!delay || !cpu || seconds <= 0) return std::nullopt;
  // Delays add up over threads: what counts is their part of the time in which any thread wanted to run.
  return std::clamp(*delay / std::max(seconds, *delay + *cpu), 0.0, 0.99);
}

std::optional<double> cores_of_others(const Case& patient) {
  return patient.usually([&](size_t i) -> std::optional<double> {
    const auto used = patient.growth(sample_key::other_cpu_seconds, i);
    return used ? std::optional<double>(*used / std::max(patient.epoch(i).seconds, 1e-9)) : std::nullopt;
  });
}

bool noise_of_shared_machine(const Case& patient) {
  constexpr double kLargestRatio = 2.5;
  const auto used = cores_of_others(patient);
  const double cpus = patient.highest(sample_key::cpus, 0, 1e18).value_or(2);
  return used && *used > 0.5 * cpus && patient.shape.ratio < kLargestRatio;
}

bool speed_of_machine_changes(const Case& patient) {
  constexpr double kLargestRatio = 1.6, kMost = 0.6;
  const Symptom symptom = patient.shape.symptom;
  if (!patient.watched() || symptom == Symptom::slowing || patient.shape.ratio >= kLargestRatio) return false;
  const auto steps = patient.explained_by({Phase::forward, Phase::backward, Phase::update});
  if (!steps || *steps < kMost * patient.shape.extra_total) return false;
  const auto busy = [&](size_t i) -> std::optional<double> {
    const auto cpu = patient.growth(sample_key::cpu_seconds, i);
    return cpu ? std::optional(*cpu / std::max(patient.epoch(i).seconds, 1e-9)) : std::nullopt;
  };
  const auto usual = patient.usually(busy);
  const auto slow = patient.slow_epochs();
  return usual && !slow.empty() && std::all_of(slow.begin(), slow.end(), [&](size_t i) {
           const auto cores = busy(i);
           return cores && *cores > 0.85 * *usual;
         });
}

EpochShape shape_without(const Case& patient, const std::function<double(size_t)>& extra) {
  std::vector<double> seconds, resolution;
  for (size_t i = 0; i < patient.epochs().size(); ++i) {
    const double aside = i < patient.set_aside.size() ? patient.set_aside[i] : 0;
    seconds.push_back(patient.epoch(i).seconds - aside - extra(i));
    resolution.push_back(patient.epoch(i).resolution);
  }
  return shape_of(seconds, resolution);
}

EpochShape shape_without_start(const Case& patient) {
  EpochShape shape = shape_without(patient, [&](size_t i) { return i == 0 ? patient.shape.first_overhead : 0; });
  shape.first_overhead = patient.shape.first_overhead;
  return shape;
}

EpochShape shape_of_start(const Case& patient) {
  EpochShape shape = patient.shape;
  shape.symptom = Symptom::slow_first;
  shape.usual = patient.epoch(0).seconds - shape.first_overhead;
  shape.ratio = patient.epoch(0).seconds / std::max(shape.usual, 1e-9);
  shape.extra.assign(patient.epochs().size(), 0);
  shape.extra[0] = shape.extra_total = shape.first_overhead;
  return shape;
}

std::optional<EpochShape> shape_without_profiles(const Case& patient) {
  if (patient.shape.symptom == Symptom::healthy || patient.shape.symptom == Symptom::slow_first) return std::nullopt;
  std::set<int> begun, profiled;
  for (const Fact& fact : patient.run.facts) {
    if (fact.key == "profiler.start") begun.insert(fact.epoch);
    if (fact.key == "profiler.stop" && begun.contains(fact.epoch)) profiled.insert(fact.epoch);
  }
  const auto slow = patient.slow_epochs();
  constexpr size_t kMostProfiled = 2;  // more are not a look at some steps
  if (slow.empty() || slow.size() > kMostProfiled) return std::nullopt;
  for (const size_t i : slow)
    if (!profiled.contains(patient.epoch(i).index)) return std::nullopt;
  return shape_without(patient, [&](size_t i) { return patient.shape.extra[i]; });
}

}  // namespace isochron
