// What compile() leaves in a model: loss, metrics, optimizer, and the plans of its steps by shape.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <vector>

#include "isochron/exec/function.h"
#include "isochron/nn/model.h"
#include "isochron/train/preflight.h"

namespace isochron {

// The columns of a data set, whole; batches are rows of them.
struct Columns {
  std::vector<Tensor> x;       // one for each input of the model
  std::vector<Tensor> y;       // one for each output that has a loss
  std::vector<Tensor> weight;  // none, one for all outputs, or one each as y
  int64_t rows() const { return x[0].shape()[0]; }
  // Those that a step of this kind reads, in the order of its plan's arguments.
  SmallVector<const Tensor*, 8> used(bool targets) const;
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
  // not finite is met by the policy: NumericError naming the first bad op, or a result that says what was done. `what`
  // names the caller where it is not fit, evaluate or predict.
  StepResult step(StepKind kind, const Columns& columns, Feed feed, int64_t first, int64_t count,
                  const int64_t* indices, std::span<void* const> predictions = {}, const char* what = nullptr);
  // Why the first such loss since this was last cleared was not finite.
  const std::string& bad_loss() const { return bad_loss_; }
  void clear_bad_loss() { bad_loss_.clear(); }
  // Steps of all kinds so far, for those who watch.
  const std::atomic<int64_t>& steps_run() const { return steps_run_; }
  void reset_metrics();
  // Loss and metrics so far.
  Logs logs() const;
  const std::vector<TensorSpec>& prediction_specs(const Columns& columns, int64_t batch);
  // Names of the outputs that have a loss: what targets are given for.
  std::vector<std::string> target_names() const;

  // For checkpoints: what metrics have counted so far, all that a training step assigns, and the shapes of the step run
  // last, of which prepare() makes a plan before there are data.
  std::vector<Variable> metric_variables() const;
  std::vector<Variable> updated_variables() const;
  std::vector<int64_t> step_shapes() const;
  void prepare(std::span<const int64_t> step_shapes);
  // While given, training steps update these copies, are not checked for whether they fit, and mind no bad numbers.
  void rehearse_on(ScratchVariables* scratch) { scratch_ = scratch; }
  // What the input pipeline holds, for checking what fits into memory.
  void use_input(InputMemory input) { input_ = input; }
  // The plan of a training step on such a batch, compiled if need be and not checked for whether it fits.
  TracedPlan& train_plan(const Columns& columns, Feed feed, int64_t count);
  MemoryNeed memory_of(TracedPlan& plan, StepKind kind, const Columns& columns, int64_t count) const;

  CompileOptions options;

  // While one lives, a call that has not returned works with the state, and compile() must not replace it.
  class InUse {
   public:
    explicit InUse(TrainingState& state) : state_(state) { ++state_.users_; }
    ~InUse() { --state_.users_; }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    TrainingState& state_;
  };
  bool in_use() const { return users_ > 0; }

 private:
  int users_ = 0;
  struct Plan {
    StepKind kind;
    Feed feed;
    std::vector<TensorSpec> arguments;
    size_t x, y, weight;  // columns among the arguments
    std::unique_ptr<TracedPlan> traced;
    bool checked = false;  // that it fits into memory
  };
  struct Output;
  void resolve_metrics(Output& output, const TensorSpec& target, const TensorSpec& prediction) const;
  const Plan* last_training_plan() const;
  Plan& plan_for(StepKind kind, const Columns& columns, Feed feed, int64_t count);
  TensorList body(StepKind kind, Feed feed, const Columns& columns, std::span<const Tensor> arguments);
  std::string origin_of_bad_loss(Plan& plan, const Columns& columns, int64_t first, int64_t count,
                                 const int64_t* indices, std::span<const void* const> arguments);
  struct Measured {
    std::string name;  // in logs
    std::shared_ptr<Metric> metric;
    bool weighted;
  };
  // One output of the model and what compile() said of it.
  struct Output {
    std::string name;
    AnyLoss loss;
    double weight = 1;
    std::vector<AnyMetric> metrics, weighted_metrics;
    std::shared_ptr<Mean> loss_metric;  // with several outputs
    std::vector<Measured> measured;     // once targets and predictions are known
  };

  static constexpr size_t kPlansKept = 64;
  Model* model_;
  Mean loss_metric_{"loss"};
  std::vector<Output> outputs_;
  std::list<Plan> plans_;  // most recently used first
  std::string bad_loss_;
  InputMemory input_;
  ScratchVariables* scratch_ = nullptr;
  std::atomic<int64_t> steps_run_{0};
};

}  // namespace isochron
