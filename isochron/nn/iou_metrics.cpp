#include "isochron/nn/iou_metrics.h"

#include <numeric>

#include "isochron/base/joined.h"
#include "isochron/nn/metric_inputs.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

std::vector<int64_t> all_classes(int64_t count) {
  std::vector<int64_t> ids(static_cast<size_t>(std::max<int64_t>(count, 0)));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

IoUOptions one_hot_options(IoUOptions options) {
  options.sparse_y_true = false;
  return options;
}

}  // namespace

IoU::IoU(const char* kind, int64_t num_classes, std::vector<int64_t> target_class_ids, IoUOptions options)
    : Metric(options.name.empty() ? kind : options.name),
      kind_(kind),
      num_classes_(num_classes),
      target_class_ids_(std::move(target_class_ids)),
      options_(std::move(options)) {
  if (num_classes < 1) fail<ValueError>(kind, "num_classes must be positive, got {}", num_classes);
  if (target_class_ids_.empty()) fail<ValueError>(kind, "needs at least one of {} classes to look at", num_classes);
  for (const int64_t id : target_class_ids_)
    if (id < 0 || id >= num_classes)
      fail<ValueError>(kind, "target_class_ids must be in [0, {}), got ({})", num_classes, joined(target_class_ids_));
  matrix_ = add_variable("total_confusion_matrix", {num_classes, num_classes});
}
IoU::IoU(int64_t num_classes, std::vector<int64_t> target_class_ids, IoUOptions options)
    : IoU("io_u", num_classes, std::move(target_class_ids), std::move(options)) {}

void IoU::update(const Tensor& y, const Tensor& p, const Tensor& weight) {
  count(options_.sparse_y_true ? y : argmax(y, options_.axis), options_.sparse_y_pred ? p : argmax(p, options_.axis),
        weight);
}

void IoU::count(const Tensor& labels, const Tensor& decided, const Tensor& weight) {
  if (labels.elements() != decided.elements())
    fail<ShapeError>(kind_, "needs a target for each prediction, got targets {} for predictions {}{}", labels.shape(),
                     decided.shape(),
                     options_.sparse_y_pred ? "; with scores of the classes set sparse_y_pred = false" : "");
  const Tensor w = row_weights(weight, labels);
  const auto places = [&](const Tensor& x) { return cast(reshape(x, {-1}), DType::int64); };
  Tensor actual = places(labels);
  if (options_.ignore_class) actual = where(equal(actual, *options_.ignore_class), -1, actual);
  // Labels outside give rows of zeros.
  Tensor rows = one_hot(actual, num_classes_);
  if (w.defined()) rows = rows * reshape(w, {-1, 1});
  matrix_.assign_add(matmul(rows, one_hot(places(decided), num_classes_), {.transpose_a = true}));
}

Tensor IoU::result() const {
  const Tensor both = sum(matrix_ * eye(num_classes_), {1});
  const Tensor either = sum(matrix_, {0}) + sum(matrix_, {1}) - both;
  const auto wanted = [&](const Tensor& x) { return gather(x, tensor(target_class_ids_)); };
  const Tensor all = wanted(either);
  return ratio(sum(ratio(wanted(both), all)), sum(number(all > 0)));
}

MeanIoU::MeanIoU(int64_t num_classes, IoUOptions options)
    : IoU("mean_io_u", num_classes, all_classes(num_classes), std::move(options)) {}
OneHotIoU::OneHotIoU(int64_t num_classes, std::vector<int64_t> target_class_ids, IoUOptions options)
    : IoU("one_hot_io_u", num_classes, std::move(target_class_ids), one_hot_options(std::move(options))) {}
OneHotMeanIoU::OneHotMeanIoU(int64_t num_classes, IoUOptions options)
    : IoU("one_hot_mean_io_u", num_classes, all_classes(num_classes), one_hot_options(std::move(options))) {}

BinaryIoU::BinaryIoU(std::vector<int64_t> target_class_ids, BinaryIoUOptions options)
    : IoU("binary_io_u", 2, std::move(target_class_ids), {.name = options.name}), binary_(std::move(options)) {
  if (!(binary_.threshold >= 0 && binary_.threshold <= 1))
    fail<ValueError>("binary_io_u", "threshold must be in [0, 1], got {}", binary_.threshold);
}
void BinaryIoU::update(const Tensor& y, const Tensor& p, const Tensor& weight) {
  count(y, cast(p >= binary_.threshold, DType::int64), weight);
}

}  // namespace isochron
