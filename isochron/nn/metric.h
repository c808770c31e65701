// What is reported about training: a running value kept in variables, so that updating it is part of the step's plan.
//
//   class WithinOne : public Metric {                                   // a metric of one's own
//    public:
//     WithinOne() : Metric("within_one"), hits_(add_variable("hits")), count_(add_variable("count")) {}
//     void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) override {
//       hits_.assign_add(sum(cast(abs(y_true - y_pred) <= 1, DType::float32)));
//       count_.assign_add(constant(static_cast<double>(y_true.elements())));
//     }
//     Tensor result() const override { return hits_ / maximum(count_, 1); }
//    private:
//     Variable hits_, count_;
//   };
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isochron/base/options.h"
#include "isochron/tensor/tensor.h"

namespace isochron {

class Metric {
 public:
  explicit Metric(std::string name) : name_(std::move(name)) {}
  virtual ~Metric() = default;

  // Takes a batch in; the weight may be undefined.
  virtual void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) = 0;
  // The value so far.
  virtual Tensor result() const = 0;
  // Starts anew. Between steps only.
  void reset();
  // By Keras' names, for loops of one's own: metric.update_state(y, model(x)); metric.result().item();
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) {
    update(y_true, y_pred, sample_weight);
  }
  void reset_state() { reset(); }
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) {
    update(y_true, y_pred, sample_weight);
    return result();
  }
  const std::vector<Variable>& variables() const { return variables_; }
  const std::string& name() const { return name_; }

 protected:
  // A float32 variable of zeros that reset() clears.
  Variable add_variable(const std::string& name, const Shape& shape = {});
  void set_name(std::string name) { name_ = std::move(name); }

 private:
  std::string name_;
  std::vector<Variable> variables_;
};

// The weighted mean of values: of the loss, or of one value an example.
class Mean : public Metric {
 public:
  explicit Mean(std::string name = "mean");
  ISO_ARGUMENTS(name())
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) override;
  // Takes in values with one weight each.
  void add(const Tensor& values, const Tensor& weight = {});
  void update_state(const Tensor& values, const Tensor& sample_weight = {}) { add(values, sample_weight); }
  Tensor operator()(const Tensor& values, const Tensor& sample_weight = {}) {
    add(values, sample_weight);
    return result();
  }
  Tensor result() const override;

 private:
  Variable total_, count_;
};

// Any metric as an argument: by name ("accuracy" picks its form by the shapes and the loss), or as an object.
class AnyMetric {
 public:
  AnyMetric(const char* name);
  AnyMetric(const std::string& name) : name_(name) {}
  template <class M>
  requires std::is_base_of_v<Metric, std::remove_cvref_t<M>> AnyMetric(M&& metric)
      : metric_(std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(metric))) {}
  AnyMetric(std::shared_ptr<Metric> metric) : metric_(std::move(metric)) {}
  const std::string& name() const { return name_; }  // empty for an object
  const std::shared_ptr<Metric>& object() const { return metric_; }
  bool is_object() const { return metric_ != nullptr; }
  // The metric for targets and predictions of these specs.
  std::shared_ptr<Metric> resolve(const TensorSpec& y_true, const TensorSpec& y_pred) const;

 private:
  std::string name_;
  std::shared_ptr<Metric> metric_;
};

}  // namespace isochron
