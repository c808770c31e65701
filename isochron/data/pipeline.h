// A data set in motion: what its plan runs as, from pass to pass.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "isochron/data/report.h"
#include "isochron/data/run.h"
#include "isochron/data/stage.h"

namespace isochron::data {

class Pipeline {
 public:
  // `ahead`: as if the stages ended in prefetch().
  explicit Pipeline(const StagePtr& stage, bool ahead = false, uint64_t first_pass = 0);
  ~Pipeline();
  // Starts the next pass.
  void begin();
  // The next element of the pass; false at its end. Rethrows what user code threw.
  bool next(Element& out);

  // The place before the next element, exact and independent of threads. restore() may be called on any pipeline of
  // the same plan. Of a stream that is stuck in a function that never returns, and was to be waited for no longer
  // (base/interrupt.h), the place is the number of elements taken: restore() makes those again and drops them.
  std::string state();
  void restore(std::string_view state);
  // Whether a state was taken of a pipeline made with `ahead`.
  static bool was_ahead(std::string_view state);
  bool ahead() const { return ahead_; }
  bool restored() const { return restored_; }
  uint64_t next_pass() const { return epoch_; }

  PipelineReport report();

 private:
  const bool ahead_;
  StagePtr plan_;
  std::string fingerprint_;
  Run run_;
  std::unique_ptr<Stream> root_;
  std::unique_ptr<Worker> consumer_;
  std::optional<Visible> visible_;
  uint64_t epoch_;     // of the next pass to begin
  int64_t taken_ = 0;  // of the pass under way
  bool begun_ = false, restored_ = false;
};

// The first elements after every stage of the tree, with times and shapes.
std::string inspect(const StagePtr& stage, int64_t count);

}  // namespace isochron::data
