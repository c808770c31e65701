// Input pipelines of `isochron bench pipeline-…`: timed alone, without a model.
//
//   PipelineResult images(const std::string& folder, int passes) {
//     return time_passes(passes, [&] { return image_folder(folder).batch(32).prefetch(); });
//   }
//   const RegisteredPipelines registered{{"pipeline-images", 4, images}};
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/data/dataset.h"

namespace isochron::cli {

struct PipelineResult {
  double first_batch_ms = 0;      // from before the data set was made to its first batch in hand
  std::vector<double> passes_ms;  // the first one includes making the data set
  int64_t elements = 0;           // of a pass, counted by the first axis of the batches
  double rss_mb = 0;              // at most
  // What it should be: the program and data held before, what the pipeline keeps of its files, and its buffers.
  double expected_mb = 0;
};

struct BenchPipeline {
  std::string_view name;
  int usual_passes;
  // `folder` is where the workload makes its files, if they are not there yet; not timed.
  PipelineResult (*run)(const std::string& folder, int passes);
};

struct RegisteredPipelines {
  RegisteredPipelines(std::initializer_list<BenchPipeline> some);
};
const std::vector<BenchPipeline>& pipelines();

// Passes over the data set that `make` gives, every batch looked at. `kept_bytes`: of files that the data set holds in
// memory; -1: all its elements.
PipelineResult time_passes(int passes, const std::function<data::Dataset()>& make, int64_t kept_bytes = 0);
void print_pipeline(std::string_view name, const PipelineResult& result, bool json);

}  // namespace isochron::cli
