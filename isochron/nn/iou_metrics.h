// How well regions overlap: intersection over union of predicted and true classes, with Keras' names and formulas.
//
//   MeanIoU(21, {.sparse_y_pred = false});             // labels (batch, rows, columns), scores (batch, …, 21)
//   IoU(3, {0, 2});  BinaryIoU({1}, {.threshold = 0.3});  OneHotMeanIoU(4);
//
// Classes that occur neither in targets nor in predictions do not count in the mean, nor do labels that are no class.
#pragma once

#include "isochron/nn/metric.h"

namespace isochron {

struct IoUOptions {
  std::string name = {};
  std::optional<int64_t> ignore_class = {};  // a label that does not count
  bool sparse_y_true = true;                 // class indices; false: one number a class along the axis
  bool sparse_y_pred = true;
  int64_t axis = -1;
};
ISO_OPTIONS(IoUOptions, name, ignore_class, sparse_y_true, sparse_y_pred, axis)

class IoU : public Metric {
 public:
  // The mean over these classes. ValueError unless there are any and each is below num_classes.
  IoU(int64_t num_classes, std::vector<int64_t> target_class_ids, IoUOptions options = {});
  ISO_ARGUMENTS(num_classes_, target_class_ids_, options_)
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) override;
  Tensor result() const override;

 protected:
  IoU(const char* kind, int64_t num_classes, std::vector<int64_t> target_class_ids, IoUOptions options);
  void count(const Tensor& labels, const Tensor& decided, const Tensor& weight);

  const char* kind_;
  int64_t num_classes_;
  std::vector<int64_t> target_class_ids_;
  IoUOptions options_;

 private:
  Variable matrix_;  // true classes by predicted ones
};

class MeanIoU : public IoU {
 public:
  explicit MeanIoU(int64_t num_classes, IoUOptions options = {});
  ISO_ARGUMENTS(num_classes_, options_)
};
class OneHotIoU : public IoU {
 public:
  OneHotIoU(int64_t num_classes, std::vector<int64_t> target_class_ids, IoUOptions options = {});
  ISO_ARGUMENTS(num_classes_, target_class_ids_, options_)
};
class OneHotMeanIoU : public IoU {
 public:
  explicit OneHotMeanIoU(int64_t num_classes, IoUOptions options = {});
  ISO_ARGUMENTS(num_classes_, options_)
};

struct BinaryIoUOptions {
  double threshold = 0.5;  // from which on a score is class 1
  std::string name = {};
};
ISO_OPTIONS(BinaryIoUOptions, threshold, name)
class BinaryIoU : public IoU {
 public:
  explicit BinaryIoU(std::vector<int64_t> target_class_ids = {0, 1}, BinaryIoUOptions options = {});
  ISO_ARGUMENTS(target_class_ids_, binary_)
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) override;

 private:
  BinaryIoUOptions binary_;
};

}  // namespace isochron
