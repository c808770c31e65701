// Writes what TensorBoard shows: metrics, histograms and images of weights, the layers, settings, and where each
// epoch's time went; texts and images of one's own by train_events().
//
//   model.fit(x, y, {.callbacks = {std::make_shared<TensorBoard>(TensorBoard::Options{.log_dir = "logs/run1"})}});
//   // tensorboard --logdir logs
//
// As Keras lays it out: `log_dir/train` with epoch_loss, epoch_learning_rate, batch_loss; `log_dir/validation` with the
// val_ metrics under the same names. Beside that, phase/… in train: seconds of each epoch by phase, written at the end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "isochron/report/event_file.h"
#include "isochron/train/callback.h"

namespace isochron {

class TensorBoard : public Callback {
 public:
  struct Options {
    std::string log_dir = "logs";
    int histogram_freq = 0;  // epochs between histograms of the weights; 0: none
    bool write_graph = true;
    bool write_images = false;  // weights of one or two axes as images, together with histograms
    bool write_steps_per_second = false;
    int64_t update_freq = 0;  // steps between batch metrics; 0: once an epoch, no batch metrics
    std::map<std::string, HyperParameter> hparams = {};  // settings for the HPARAMS page
  };
  TensorBoard() : TensorBoard(Options{}) {}
  explicit TensorBoard(Options options);

  void on_train_begin(const Logs& logs) override;
  void on_train_batch_end(int64_t batch, const Logs& logs) override;
  void on_epoch_begin(int epoch, const Logs& logs) override;
  void on_epoch_end(int epoch, const Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  void save_state(StateDict& state) const override;
  void load_state(const StateDict& state) override;
  bool needs_batch_logs() const override { return options_.update_freq > 0; }

  // Beside training metrics: anything of one's own. Only during fit.
  EventFile& train_events();

 private:
  void write_phases();
  void write_image(const std::string& tag, const Tensor& weight, int epoch);
  Options options_;
  std::unique_ptr<EventFile> train_, validation_;
  int64_t steps_ = 0, epoch_first_step_ = 0, epoch_start_ns_ = 0;
};

}  // namespace isochron
