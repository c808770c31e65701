// Batches for training from a Dataset, and what its pipeline had to do with the length of each epoch.
#pragma once

#include <optional>

#include "isochron/data/dataset.h"
#include "isochron/timeline/timeline.h"
#include "isochron/train/training.h"

namespace isochron {

// Inputs, targets and sample weights (none, one for all targets, or one each) of a batch, by position. Shares the
// bytes. Without targets what follows the inputs is left out.
Columns columns_of(const char* what, const data::Element& batch, size_t inputs, size_t targets);

// ValueError for a data set without an end where no number of steps (by the option of that name) gives it one.
void check_ends(const char* what, const data::Dataset& dataset, bool steps_given, const char* option);

class DatasetFeed {
 public:
  DatasetFeed(const char* what, const data::Dataset& dataset, size_t inputs, size_t targets);

  // The next batch; false at the end of a pass, and the next call begins another one. Time spent here is input.
  bool next(Columns& batch);
  // Batches of a pass, or nothing where that is unknown (yet).
  std::optional<int64_t> batches() const { return batches_; }

  void begin_epoch();
  // Says on the timeline who made training wait, if anybody did.
  void end_epoch(int epoch, Timeline& timeline);
  // What every stage did so far.
  std::vector<InputStage> stages() const;
  // The place in the data behind the batch given out last, for another feed of an equal data set.
  std::string state() const;
  void restore(std::string_view state);
  // The pass ends here, wherever it is.
  void stop() { pass_.reset(); }
  // Likewise, without waiting for threads that may never return: they keep what they use, for ever.
  void abandon();

 private:
  const char* const what_;
  const size_t inputs_, targets_;
  data::Dataset dataset_;
  std::optional<data::DatasetIterator> pass_;
  std::optional<int64_t> batches_;
  int64_t seen_ = 0;
  int64_t resumed_at_ = 0;  // batches of the restored pass that were given out before
  bool begun_ = false;
  data::PipelineReport before_, before_waited_;
  std::string verdict_;  // of the epoch before
  int64_t epoch_begin_ns_ = 0, waited_ns_ = 0;
  int told_ = 0;
};

}  // namespace isochron
