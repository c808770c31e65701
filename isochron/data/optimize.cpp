#include "isochron/data/optimize.h"

#include "isochron/data/batch.h"

namespace isochron::data {

StagePtr optimized(const StagePtr& stage) {
  std::vector<StagePtr> inputs;
  bool changed = false;
  for (const StagePtr& input : stage->inputs()) {
    inputs.push_back(optimized(input));
    changed = changed || inputs.back() != input;
  }
  StagePtr result = changed ? stage->with_inputs(std::move(inputs)) : stage;
  if (const StagePtr merged = result->merged_with_input()) return optimized(merged);
  return result;
}

std::string plan_text(const Stage& stage) {
  std::string text = stage.describe() + (stage.is_indexed() ? "" : "  [stream]") + "\n";
  const bool several = stage.inputs().size() > 1;
  for (const StagePtr& input : stage.inputs()) {
    std::string below = plan_text(*input);
    if (several) {
      std::string indented = "  ";
      for (size_t i = 0; i < below.size(); ++i) {
        indented += below[i];
        if (below[i] == '\n' && i + 1 < below.size()) indented += "  ";
      }
      below = std::move(indented);
    }
    text += below;
  }
  return text;
}

}  // namespace isochron::data
