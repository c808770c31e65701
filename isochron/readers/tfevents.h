// TensorBoard event files: scalars with the wall time they were written at.
//
//   EventSeries series;
//   TfEventsReader reader(series);
//   reader.feed(bytes);                 // in pieces
//
// Understands plain values (PyTorch) and tensors (TensorFlow 2). Damaged records end the file; nothing else is kept
// than step, wall time, tag and plain value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/timeline/run_record.h"

namespace isochron {

struct ScalarPoint {
  int64_t step = 0;
  double wall = 0;
  double value = 0;  // plain values only: those of tensors are left alone
};

// All scalars of a run's event files: by "folder/tag".
struct EventSeries {
  std::map<std::string, std::vector<ScalarPoint>> tags;
  double first_wall = 0;  // of the first event of any kind: when the writer was opened
  double model_wall = 0;  // when Keras' callback wrote the model down: as training begins
  bool keras = false;     // tags as Keras' callback names them
  bool plain = false;     // values as PyTorch's writer stores them
};

class TfEventsReader {
 public:
  // `folder` goes before the tags: "train", "validation".
  TfEventsReader(EventSeries& series, std::string folder) : series_(series), folder_(std::move(folder)) {}
  // False once a record is damaged.
  bool feed(std::string_view bytes);

 private:
  void read_event(std::string_view event);

  EventSeries& series_;
  std::string folder_;
  std::string pending_;
  bool damaged_ = false;
};

// Starts with a TensorBoard record whose checksum is right.
bool looks_like_tfevents(std::string_view start);

// "keras" or "torch" where the form of the events tells, else `otherwise`.
std::string framework_of(const EventSeries& series, const std::string& otherwise = "");

// Epochs and steps by the events alone, or by the number of epochs another input tells of.
RunRecord record_of(const EventSeries& series, size_t expected = 0);

// What the events add to epochs another input gave: where their first and last steps lie.
void refine(RunRecord& run, const EventSeries& series);

}  // namespace isochron
