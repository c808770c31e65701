// The losses, metrics, optimizers and schedules that files know.
#include "isochron/nn/builtin_kinds.h"
#include "isochron/nn/confusion_metrics.h"
#include "isochron/nn/ctc.h"
#include "isochron/nn/iou_metrics.h"
#include "isochron/nn/losses.h"
#include "isochron/nn/metrics.h"
#include "isochron/nn/r2_score.h"
#include "isochron/optim/optimizers.h"
#include "isochron/optim/torch_optimizers.h"

namespace isochron {

#define ISO_LOSS_KIND(Class) add_builtin_kind(kind_of<Loss, Class>(#Class));
template <>
void add_builtin_kinds<Loss>() {
  ISO_FOR_EACH(ISO_LOSS_KIND, MeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError,
               MeanSquaredLogarithmicError, LogCosh, KLDivergence, Hinge, SquaredHinge, CategoricalHinge, Poisson,
               Huber, CosineSimilarity, BinaryCrossentropy, CategoricalCrossentropy, SparseCategoricalCrossentropy,
               BinaryFocalCrossentropy, CategoricalFocalCrossentropy, Dice, Tversky, CTC)
}

#define ISO_METRIC_KIND(Class) add_builtin_kind(kind_of<Metric, Class>(#Class));
template <>
void add_builtin_kinds<Metric>() {
  ISO_FOR_EACH(ISO_METRIC_KIND, Mean, Accuracy, BinaryAccuracy, CategoricalAccuracy, SparseCategoricalAccuracy,
               TopKCategoricalAccuracy, SparseTopKCategoricalAccuracy, MeanSquaredErrorMetric, MeanAbsoluteErrorMetric,
               RootMeanSquaredError, Precision, Recall, F1Score, AUC)
  ISO_FOR_EACH(ISO_METRIC_KIND, TruePositives, FalsePositives, TrueNegatives, FalseNegatives, SensitivityAtSpecificity,
               SpecificityAtSensitivity, PrecisionAtRecall, RecallAtPrecision, IoU, MeanIoU, OneHotIoU, OneHotMeanIoU,
               BinaryIoU, R2Score)
}

#define ISO_OPTIMIZER_KIND(Class) add_builtin_kind(kind_of<Optimizer, Class>(#Class));
template <>
void add_builtin_kinds<Optimizer>() {
  ISO_FOR_EACH(ISO_OPTIMIZER_KIND, SGD, RMSprop, Adam, AdamW, Adamax, Nadam, Adagrad, Adadelta, Lion, Ftrl, Lamb,
               Adafactor, Muon)
  ISO_FOR_EACH(ISO_OPTIMIZER_KIND, optim::SGD, optim::RMSprop, optim::Adam, optim::AdamW, optim::Adamax, optim::NAdam,
               optim::Adagrad, optim::Adadelta, optim::RAdam)
}

#define ISO_SCHEDULE_KIND(Class) add_builtin_kind(kind_of<Schedule, Class>(#Class));
template <>
void add_builtin_kinds<Schedule>() {
  ISO_FOR_EACH(ISO_SCHEDULE_KIND, ExponentialDecay, InverseTimeDecay, PiecewiseConstantDecay, PolynomialDecay,
               CosineDecay, CosineDecayRestarts, OneCycle)
}

}  // namespace isochron
