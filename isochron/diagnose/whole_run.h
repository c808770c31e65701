// Questions about a run as a whole: what every epoch pays alike, what grows with the work, what any run pays once.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isochron/diagnose/case.h"
#include "isochron/diagnose/profile_view.h"

namespace isochron {

// Whether a cost in every epoch alike is what makes the run slow: `share` of even epochs, or more than any unevenness.
bool is_overall(const Case& patient, double seconds, double share);

// The size of an example while an epoch ran, as lines before it told: 2304 for "image size 48x48".
std::optional<double> told_size(const Case& patient, size_t epoch);

// Later epochs have more steps or examples than the first, or larger ones: time and memory grow with them.
bool work_grows(const Case& patient);

// Forward passes of slow epochs take longer by about as much as backward ones: steps do more, and walk no graphs of
// earlier ones. False where a watch did not see both.
bool forward_grows_alike(const Case& patient);

// What passed behind an epoch's last step and was no validation, where event files tell. In Keras and Lightning only
// callbacks run there.
std::optional<double> behind_steps(const Case& patient, size_t epoch);
// The log says in every epoch that a checkpoint is saved.
bool saves_in_every_epoch(const Case& patient);

// The words of a metric's name, in lower case: "val", "loss" of "val_loss".
std::vector<std::string> words_of(const std::string& metric);
// A metric of data that was not trained on, by its name: "val_loss", "test/acc", "held_out_accuracy".
bool names_validation(const std::string& metric);
// Such a metric that stands in slow epochs, and hardly in others.
struct Validated {
  std::string metric;          // empty: none
  std::vector<size_t> epochs;  // the slow ones with it, by position
};
Validated validated_when_slow(const Case& patient);

// Where a watch saw the program's own code at work that is no part of training as frameworks do it, or that does what
// `work` says.
struct OwnLine {
  int epoch;
  double seconds;
  std::string place;  // "train.py:14 report_metrics"
};
std::vector<OwnLine> own_lines(const Case& patient, std::string_view work = "other");

// The place outside of the steps themselves at which a watch saw a run most, as evidence: "8.2 s: a generator at
// train.py:9 batches"; empty where it is less than a third of `seconds`.
std::string most_seen(const Case& patient, double seconds);

// Resident memory on average in each epoch that a watch saw.
std::vector<double> memory_by_epoch(const Case& patient);
// What is kept for every step makes memory rise in every epoch that is slow by it. Memory that rises once, with a
// larger working set or an arena, and then stays belongs to something else.
bool memory_rises_on(const Case& patient);

// Bytes written in each epoch, if they are many and become half as many again: something is written anew, longer each
// time.
Growth written_per_epoch(const Case& patient);

// What epochs wait before their first step, as a log or a watch shows it, beyond what their other steps take.
struct FirstWaits {
  double seconds = 0;
  size_t waiting = 0, known = 0;  // epochs with such a wait, and all whose first step is known
  bool in_every_epoch() const { return known >= 2 && waiting * 5 >= known * 4; }
  double average() const { return seconds / static_cast<double>(waiting); }
};
FirstWaits first_waits(const Case& patient, size_t from = 0);

// What the run's first step took beyond the first steps of other epochs, as a log shows it.
std::optional<double> first_step_beyond_others(const Case& patient);
// A trace of later steps shows that there was little to trace in the first.
bool small_graph_traced(const Case& patient);
constexpr double kTracingOfSmallGraph = 1.5;  // seconds, at most

// Input an epoch made before its first step, as a watch saw it, and what the program's own lines called the place it
// went to: "buffer", "cache" or nothing.
struct InputLead {
  double seconds = 0;
  std::string store;
};
InputLead input_lead(const Case& patient, size_t epoch);

// CPU time of an epoch without the kernel's part, where that is known: reading files is the kernel's work.
std::optional<double> computed_seconds(const Case& patient, size_t epoch);

// Seconds of all epochs in which loader workers started, as a watch saw it.
double starting_workers(const Case& patient);

// A finding about what a framework does by itself: TensorFlow traces the step, PyTorch loads parts of itself late.
bool is_of_framework(const Case& patient, const Finding& finding);
// What frameworks do once in every process. As long as
// it is of ordinary size, a first epoch that is longer by it is no fault of anybody.
bool starts_as_usual(const Case& patient, const std::vector<Finding>& findings);

// Share of an epoch in which the run stood still because its threads had no core; nullopt where nobody looked.
std::optional<double> standing_still(const Case& patient, size_t epoch);

// Cores that other programs used in usual epochs; nullopt where nobody looked.
std::optional<double> cores_of_others(const Case& patient);

// Others kept half of the machine busy from the first epoch to the last, and the epochs differ by less than a factor of
// two and a half: on such a machine equal epochs do.
bool noise_of_shared_machine(const Case& patient);

// Slow epochs compute the same, only for somewhat longer: their extra time lies in the steps, and the run kept its
// cores as busy as ever. So it looks where the clock or other guests of a host change how fast the cores are.
bool speed_of_machine_changes(const Case& patient);

// The shape of the epochs had each been so much shorter, besides what is set aside.
EpochShape shape_without(const Case& patient, const std::function<double(size_t)>& extra);

// The shape of the epochs had the first been as short as the next ones.
EpochShape shape_without_start(const Case& patient);

// The shape of the epochs where the slow first one is the story, and what makes later ones uneven is not.
EpochShape shape_of_start(const Case& patient);

// The shape of the epochs had nobody profiled some steps, where just the epochs with such steps are slow: what the
// profiler takes was wanted. nullopt where it is not so.
std::optional<EpochShape> shape_without_profiles(const Case& patient);

}  // namespace isochron
