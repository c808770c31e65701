// Model::fit: its arguments checked and handed to a Trainer.
#include "isochron/train/data_checks.h"
#include "isochron/train/test_loop.h"
#include "isochron/train/trainer.h"

namespace isochron {

ValidationData::ValidationData(const data::Dataset& batches) : dataset(std::make_shared<data::Dataset>(batches)) {}

namespace {
// Of validation_data given as tensors.
std::optional<Columns> validation_columns(Model& model, const FitOptions& options) {
  const ValidationData& given = options.validation_data;
  if (given.dataset) return std::nullopt;
  return columns_of(model, "fit: validation_data", given.x, given.y, given.sample_weight);
}
}  // namespace

History Model::fit(const Tensors& x, const Tensors& y, FitOptions options) {
  compiled(*this, "fit");
  check_fit_options(options);
  Columns train = columns_of(*this, "fit", x, y, options.sample_weight);
  std::optional<Columns> validation;
  if (options.validation_data) {
    validation = validation_columns(*this, options);
  } else if (options.validation_split > 0) {
    validation = split_off("fit", train, options.validation_split);
  }
  // Validation counts every class alike, as in Keras.
  if (!options.class_weight.empty()) train.weight = {class_weights("fit", train, options.class_weight)};
  for (const Tensor* column : train.used(true)) column->eval();
  const std::shared_ptr<const data::Dataset> batches = options.validation_data.dataset;
  Trainer trainer(*this, std::move(train), std::move(validation), std::move(options));
  if (batches) trainer.use_validation(*batches);
  return trainer.run();
}

History Model::fit(const data::Dataset& dataset, FitOptions options) {
  compiled(*this, "fit");
  check_fit_options(options);
  if (options.validation_split > 0 || !options.sample_weight.empty())
    fail<ValueError>(
        "fit",
        "validation_split and sample_weight belong to tensors; use take() and skip() of the data set, or a "
        "third component");
  Trainer trainer(*this, dataset, options);
  if (options.validation_data.dataset)
    trainer.use_validation(*options.validation_data.dataset);
  else if (options.validation_data)
    trainer.use_validation(*validation_columns(*this, options));
  return trainer.run();
}

void rehearse_fit(Model& model, const Columns& columns, FitOptions options, Rehearsal& rehearsal) {
  Trainer trainer(model, columns, std::nullopt, std::move(options));
  trainer.rehearse(rehearsal);
  trainer.run();
}

void rehearse_fit(Model& model, const data::Dataset& dataset, FitOptions options, Rehearsal& rehearsal) {
  Trainer trainer(model, dataset, std::move(options));
  trainer.rehearse(rehearsal);
  trainer.run();
}

}  // namespace isochron
