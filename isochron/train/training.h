// What compile() leaves in a model: loss, metrics, optimizer, and the plans of its steps by shape.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "isochron/exec/function.h"
#include "isochron/nn/model.h"

namespace isochron {

// The columns of a data set, whole; batches are rows of them.
struct Columns {
  Tensor x, y, weight;  // weight may be undefined
  int64_t rows() const { return x.shape()[0]; }
};

enum class StepKind { train, test, predict };
enum class StepResult { done, skipped, not_finite };
// How a batch reaches a plan: as rows picked by index inside the plan, or as a slice already in order.
enum class Feed { gathered, sliced };

class TrainingState {
 public:
  TrainingState(Model& model, CompileOptions options);
  // Copies of a model share this state: the one that is being called is the one to trace.
  void use(Model& model) { model_ = &model; }

  // One step on rows of the columns: `indices` of them (gathered) or `count` from `first` on (sliced). A loss that is
  // not finite is met by the policy: NumericError naming the first bad op, or a result that says what was done.
  StepResult step(StepKind kind, const Columns& columns, Feed feed, int64_t first, int64_t count,
                  const int64_t* indices, void* prediction = nullptr);
  // Why the first such loss since this was last cleared was not finite.
  const std::string& bad_loss() const { return bad_loss_; }
  void clear_bad_loss() { bad_loss_.clear(); }
  void reset_metrics();
  // Loss and metrics so far.
  Logs logs() const;
  const TensorSpec& prediction_spec(const Columns& columns, int64_t batch);

  CompileOptions options;

 private:
  struct Plan {
    StepKind kind;
    Feed feed;
    std::vector<TensorSpec> arguments;
    std::unique_ptr<TracedPlan> traced;
  };
  Plan& plan_for(StepKind kind, const Columns& columns, Feed feed, int64_t count);
  TensorList body(StepKind kind, Feed feed, std::span<const Tensor> arguments);
  std::string origin_of_bad_loss(Plan& plan, const Columns& columns, int64_t first, int64_t count,
                                 const int64_t* indices, std::span<const void* const> arguments);
  void update_metrics(const Tensor& y, const Tensor& prediction, const Tensor& weight, const Tensor& loss);

  static constexpr size_t kPlansKept = 64;
  Model* model_;
  Mean loss_metric_{"loss"};
  std::vector<std::shared_ptr<Metric>> metrics_;
  std::list<Plan> plans_;  // most recently used first
  std::string bad_loss_;
};

}  // namespace isochron
