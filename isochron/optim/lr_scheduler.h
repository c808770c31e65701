// Schedulers of hand-written loops, with the names, arguments and rates of torch.optim.lr_scheduler.
//
//   optim::SGD optimizer(net.parameters(), {.lr = 0.1});
//   optim::lr_scheduler::StepLR scheduler(optimizer, 30, 0.1);
//   for (int epoch = 0; epoch < 100; ++epoch) {
//     train_one_epoch();
//     scheduler.step();                          // once an epoch (OneCycleLR, CyclicLR: once a batch)
//   }
//   optim::lr_scheduler::ReduceLROnPlateau plateau(optimizer, {.factor = 0.5, .patience = 5});
//   plateau.step(validation_loss);
//
// A scheduler sets the rate of every parameter group, of which there must be all when it is made. Several may act on
// one optimizer, as in PyTorch: most multiply the rate they find. An optimizer whose rate is a Schedule
// (optim/schedule.h) refuses them with a StateError. For fit() there are schedules and callbacks instead.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isochron/optim/optimizer.h"

namespace isochron::optim::lr_scheduler {

// What a scheduler goes on from, by name; for checkpoints.
using SchedulerState = std::map<std::string, std::vector<double>>;

class LRScheduler {
 public:
  virtual ~LRScheduler() = default;
  // After each epoch: sets the rates of the next.
  virtual void step();
  std::vector<double> get_last_lr() const;
  int64_t last_epoch() const { return epoch_; }

  virtual SchedulerState state_dict() const;
  // ValueError when it is not the state of such a scheduler. Rates are saved with the optimizer.
  virtual void load_state_dict(const SchedulerState& state);

 protected:
  // ValueError, naming the scheduler, for an optimizer whose rate follows a schedule.
  LRScheduler(const char* kind, const Optimizer& optimizer);
  // The rate of a group at the epoch, which has just begun, of the one it has and the one it started with.
  virtual double rate(int64_t epoch, double now, double base, size_t group) const = 0;
  // Sets the rates of epoch 0: to be called by every constructor.
  void begin() { set_rates(0); }
  // From the base rates and epoch 0 again.
  virtual void restart();
  void set_rates(int64_t epoch);
  const char* kind() const { return kind_; }
  friend class SequentialLR;

  Optimizer optimizer_;
  std::vector<double> base_;
  int64_t epoch_ = 0;

 private:
  const char* kind_;
};

// Times gamma every step_size epochs.
class StepLR : public LRScheduler {
 public:
  StepLR(const Optimizer& optimizer, int64_t step_size, double gamma = 0.1);

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  int64_t step_size_;
  double gamma_;
};

// Times gamma at each of these epochs.
class MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(const Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1);

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  std::vector<int64_t> milestones_;
  double gamma_;
};

// Times gamma every epoch.
class ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(const Optimizer& optimizer, double gamma);

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  double gamma_;
};

// Times factor until epoch total_iters.
class ConstantLR : public LRScheduler {
 public:
  explicit ConstantLR(const Optimizer& optimizer, double factor = 1. / 3, int64_t total_iters = 5);

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  double factor_;
  int64_t total_;
};

// Times a factor that goes from start_factor to end_factor in a line: a warm-up.
struct LinearLROptions {
  double start_factor = 1. / 3, end_factor = 1;
  int64_t total_iters = 5;
};
class LinearLR : public LRScheduler {
 public:
  explicit LinearLR(const Optimizer& optimizer, LinearLROptions options = {});

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  LinearLROptions options_;
};

// To zero in total_iters epochs, by the power of what is left.
class PolynomialLR : public LRScheduler {
 public:
  explicit PolynomialLR(const Optimizer& optimizer, int64_t total_iters = 5, double power = 1);

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  int64_t total_;
  double power_;
};

// Half a cosine from the first rate to eta_min in T_max epochs, and back.
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(const Optimizer& optimizer, int64_t T_max, double eta_min = 0);

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  int64_t half_;
  double least_;
};

// Half a cosine in T_0 epochs, then from the start again, each time T_mult times as long.
struct CosineAnnealingWarmRestartsOptions {
  int64_t T_0 = 1, T_mult = 1;
  double eta_min = 0;
};
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(const Optimizer& optimizer, CosineAnnealingWarmRestartsOptions options);

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  CosineAnnealingWarmRestartsOptions options_;
};

// The first rate times a function of the epoch; one function for all groups, or one for each.
class LambdaLR : public LRScheduler {
 public:
  using Function = std::function<double(int64_t epoch)>;
  LambdaLR(const Optimizer& optimizer, Function lr_lambda) : LambdaLR(optimizer, std::vector{std::move(lr_lambda)}) {}
  LambdaLR(const Optimizer& optimizer, std::vector<Function> lr_lambdas);

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  std::vector<Function> functions_;
};

// The rate times a function of the epoch, every epoch.
class MultiplicativeLR : public LRScheduler {
 public:
  MultiplicativeLR(const Optimizer& optimizer, LambdaLR::Function lr_lambda);

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  LambdaLR::Function function_;
};

// The rates of OneCycle (optim/schedule.h), a step a batch. Momentum is not cycled: cycle_momentum=False of PyTorch.
class OneCycleLR : public LRScheduler {
 public:
  // max_lr of all groups; its other options are those of the schedule.
  OneCycleLR(const Optimizer& optimizer, OneCycleOptions options);

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  int64_t total_;
  OneCycle schedule_;
};

struct CyclicLROptions {
  double base_lr = 0, max_lr = 0;
  int64_t step_size_up = 2000;
  std::optional<int64_t> step_size_down = {};  // none: step_size_up
  // "triangular"; "triangular2": half as high every cycle; "exp_range": gamma^step as high.
  std::string mode = "triangular";
  double gamma = 1;
  // In place of the mode: the height at a cycle (from 1 on), or at a step, as scale_mode says.
  std::function<double(double)> scale_fn = {};
  std::string scale_mode = "cycle";  // or "iterations"
};
// From base_lr up to max_lr in a line and back, again and again, a step a batch; of all groups alike. Momentum is not
// cycled: cycle_momentum=False of PyTorch.
//
//   CyclicLR scheduler(optimizer, {.base_lr = 1e-3, .max_lr = 1e-1, .step_size_up = 4 * batches, .mode =
//   "triangular2"});
class CyclicLR : public LRScheduler {
 public:
  // ValueError unless step sizes are positive and the modes are known.
  CyclicLR(const Optimizer& optimizer, CyclicLROptions options);

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;

 private:
  double height(double cycle, double step) const;
  CyclicLROptions options_;
};

// One scheduler after the other: the i-th until epoch milestones[i]. They act on one optimizer, and only through this.
class SequentialLR : public LRScheduler {
 public:
  // ValueError unless there is one milestone less than schedulers, and they grow.
  SequentialLR(const Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
               std::vector<int64_t> milestones);
  void step() override;
  SchedulerState state_dict() const override;
  void load_state_dict(const SchedulerState& state) override;

 protected:
  double rate(int64_t epoch, double now, double base, size_t group) const override;
  void restart() override;

 private:
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<int64_t> milestones_;
};

struct ReduceLROnPlateauOptions {
  std::string mode = "min";  // or "max": what is better
  double factor = 0.1;
  int64_t patience = 10;  // epochs without a better value that are borne
  double threshold = 1e-4;
  std::string threshold_mode = "rel";  // or "abs": better by this share, or by so much
  int64_t cooldown = 0;
  double min_lr = 0;
  double eps = 1e-8;  // smaller changes of the rate are not made
};
// Times factor when a value has not become better for a while.
class ReduceLROnPlateau {
 public:
  explicit ReduceLROnPlateau(const Optimizer& optimizer, ReduceLROnPlateauOptions options = {});
  // The value of the epoch; NaN is never better.
  void step(double metric);
  std::vector<double> get_last_lr() const;
  int64_t num_bad_epochs() const { return bad_epochs_; }
  SchedulerState state_dict() const;
  void load_state_dict(const SchedulerState& state);

 private:
  bool better(double value) const;
  Optimizer optimizer_;
  ReduceLROnPlateauOptions options_;
  double best_;
  int64_t bad_epochs_ = 0, cooldown_ = 0, epoch_ = 0;
};

}  // namespace isochron::optim::lr_scheduler
