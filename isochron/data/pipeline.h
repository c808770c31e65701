// A data set in motion: what its plan runs as, from pass to pass.
#pragma once

#include <memory>
#include <string>

#include "isochron/data/report.h"
#include "isochron/data/run.h"
#include "isochron/data/stage.h"

namespace isochron::data {

class Pipeline {
 public:
  explicit Pipeline(const StagePtr& stage);
  ~Pipeline();
  // Starts the next pass.
  void begin();
  // The next element of the pass; false at its end. Rethrows what user code threw.
  bool next(Element& out);

  // The place before the next element, exact and independent of threads. restore() may be called on any pipeline of
  // the same plan.
  std::string state();
  void restore(std::string_view state);

  PipelineReport report();

 private:
  StagePtr plan_;
  std::string fingerprint_;
  Run run_;
  std::unique_ptr<Stream> root_;
  std::unique_ptr<Worker> consumer_;
  uint64_t epoch_ = 0;  // of the next pass to begin
  bool restored_ = false;
};

// The first elements after every stage of the tree, with times and shapes.
std::string inspect(const StagePtr& stage, int64_t count);

}  // namespace isochron::data
