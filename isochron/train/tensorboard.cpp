#include "isochron/train/tensorboard.h"

#include <algorithm>
#include <cmath>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/checkpoint/state_dict.h"
#include "isochron/data/image/image.h"
#include "isochron/ops/ops.h"
#include "isochron/timeline/timeline.h"

namespace isochron {
namespace {

constexpr std::string_view kValidation = "val_";

std::vector<EventGraphNode> layer_graph(const Model& model) {
  std::vector<EventGraphNode> nodes;
  std::string before;
  for (const auto& layer : model.layers()) {
    nodes.push_back({layer->name(), layer->class_name(), {}});
    if (!before.empty()) nodes.back().inputs.push_back(before);
    before = layer->name();
  }
  return nodes;
}

}  // namespace

TensorBoard::TensorBoard(Options options) : options_(std::move(options)) {
  if (options_.histogram_freq < 0 || options_.update_freq < 0)
    fail<ValueError>("TensorBoard", "histogram_freq and update_freq are 0 or more, got {} and {}",
                     options_.histogram_freq, options_.update_freq);
}

EventFile& TensorBoard::train_events() {
  if (!train_) fail<StateError>("TensorBoard", "its files are open during fit only");
  return *train_;
}

void TensorBoard::on_train_begin(const Logs&) {
  train_ = std::make_unique<EventFile>(options_.log_dir + "/train");
  validation_.reset();
  steps_ = 0;
  if (options_.write_graph) train_->graph(layer_graph(*model()));
  if (!options_.hparams.empty()) train_->hparams(options_.hparams, {"epoch_loss"});
  train_->flush();
}

void TensorBoard::on_train_batch_end(int64_t, const Logs& logs) {
  ++steps_;
  if (options_.update_freq == 0 || steps_ % options_.update_freq != 0) return;
  for (const auto& [name, value] : logs) train_->scalar("batch_" + name, value, steps_);
}

void TensorBoard::on_epoch_begin(int, const Logs&) {
  epoch_first_step_ = steps_;
  epoch_start_ns_ = monotonic_ns();
}

void TensorBoard::on_epoch_end(int epoch, const Logs& logs) {
  for (const auto& [name, value] : logs) {
    if (name.rfind(kValidation, 0) != 0) {
      train_->scalar("epoch_" + name, value, epoch);
      continue;
    }
    if (!validation_) validation_ = std::make_unique<EventFile>(options_.log_dir + "/validation");
    validation_->scalar("epoch_" + name.substr(kValidation.size()), value, epoch);
  }
  train_->scalar("epoch_learning_rate", model()->optimizer().learning_rate(), epoch);
  if (options_.write_steps_per_second) {
    const double seconds = static_cast<double>(monotonic_ns() - epoch_start_ns_) * 1e-9;
    train_->scalar("epoch_steps_per_second", static_cast<double>(steps_ - epoch_first_step_) / seconds, epoch);
  }
  if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0)
    for (const Variable& weight : model()->weights()) {
      train_->histogram(weight.name() + "/histogram", cast(weight, DType::float32).to_vector<float>(), epoch);
      if (options_.write_images) write_image(weight.name() + "/image", cast(weight, DType::float32), epoch);
    }
  train_->flush();
  if (validation_) validation_->flush();
}

// From black, the smallest value, to white, the largest one; what is not finite is black.
void TensorBoard::write_image(const std::string& tag, const Tensor& weight, int epoch) {
  constexpr int64_t kWidest = 4096;
  if (weight.rank() < 1 || weight.rank() > 2) return;
  const int64_t height = weight.rank() == 2 ? weight.shape()[0] : 1, width = weight.shape()[weight.rank() - 1];
  if (height < 1 || width < 1 || height > kWidest || width > kWidest) return;
  const std::vector<float> values = weight.to_vector<float>();
  double low = INFINITY, high = -INFINITY;
  for (const double value : values)
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  std::vector<uint8_t> pixels;
  for (const double value : values)
    pixels.push_back(std::isfinite(value) && high > low ? static_cast<uint8_t>(255 * ((value - low) / (high - low)))
                                                        : 0);
  const Tensor image = Tensor::from_buffer(std::move(pixels), {height, width, 1});
  train_->image(tag, data::encode_png(image), height, width, 1, epoch);
}

void TensorBoard::save_state(StateDict& state) const { state.put("steps", steps_); }
void TensorBoard::load_state(const StateDict& state) { epoch_first_step_ = steps_ = state.integer("steps"); }

void TensorBoard::write_phases() {
  const Timeline* timeline = Timeline::current();
  if (!timeline) return;
  for (const Epoch& epoch : timeline->to_record().epochs)
    for (int phase = 0; phase < kPhaseCount; ++phase)
      if (epoch.phases[static_cast<size_t>(phase)] > 0)
        train_->scalar("phase/" + std::string(name_of(static_cast<Phase>(phase))),
                       epoch.phases[static_cast<size_t>(phase)], epoch.index - 1);
}

void TensorBoard::on_train_end(const Logs&) {
  write_phases();
  if (!options_.hparams.empty()) train_->end_hparams(true);
  train_.reset();
  validation_.reset();
}

}  // namespace isochron
