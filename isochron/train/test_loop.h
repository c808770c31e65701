// What fit, evaluate and predict share: the state of a compiled model, data in the model's order, and the loop over
// batches that tests a model.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "isochron/train/callback.h"
#include "isochron/train/dataset_feed.h"
#include "isochron/train/progress.h"
#include "isochron/train/training.h"

namespace isochron {

// The training state, about to trace this model. StateError, in the name of `what`, before compile().
TrainingState& compiled(Model& model, const char* what);

inline int64_t batches_of(int64_t rows, int64_t batch) { return (rows + batch - 1) / batch; }

// What a user gave, in the model's order and checked.
Columns columns_of(Model& model, const char* what, const Tensors& x, const Tensors& y, const Tensors& weight);

// Where tests and predictions get batch `i` from: rows of tensors in order, or a pass over a data set.
class TestBatches {
 public:
  TestBatches(Columns columns, int64_t batch_size) : columns_(std::move(columns)), batch_size_(batch_size) {}
  explicit TestBatches(DatasetFeed& feed) : feed_(&feed) {}

  bool next(int64_t i) {
    if (feed_) {
      if (!feed_->next(columns_)) return false;
      count = columns_.rows();
      return true;
    }
    first = i * batch_size_;
    count = std::min(batch_size_, columns_.rows() - first);
    return count > 0;
  }
  const Columns& columns() const { return columns_; }
  void stop() {
    if (feed_) feed_->stop();
  }

  int64_t first = 0, count = 0;

 private:
  DatasetFeed* feed_ = nullptr;
  Columns columns_;
  int64_t batch_size_ = 0;
};

// Loss and metrics over all rows in order.
Logs run_test(TrainingState& state, TestBatches source, std::optional<int64_t> steps,
              const std::vector<std::shared_ptr<Callback>>& callbacks, ProgressLine* progress);

}  // namespace isochron
