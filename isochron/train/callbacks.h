// The callbacks Keras users reach for, with Keras' names, defaults and rules.
//
//   model.fit(x, y, {.epochs = 100, .validation_split = 0.1, .callbacks = {
//       EarlyStopping({.monitor = "val_loss", .patience = 3, .restore_best_weights = true}), CSVLogger("log.csv")}});
//
// Epochs count from 0 in code and from 1 in messages and files of ours; CSVLogger keeps Keras' count from 0.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isochron/train/callback.h"

namespace isochron {

// Which way a metric gets better. `automatic` goes by the last word of its name that tells: losses and errors down,
// accuracies and scores up.
enum class MonitorMode { automatic, min, max };

// Judges a sequence of values of one metric. ValueError for a name whose direction `automatic` can't tell.
class Monitor {
 public:
  // `without`: what follows where the metric is missing, for the warning.
  Monitor(std::string who, std::string metric, MonitorMode mode, double min_delta, std::string without);
  // The metric in these logs; nothing, and a warning the first time, when it is not there.
  std::optional<double> value(const Logs& logs);
  // Better by more than min_delta; any number is better than no value, NaN is not.
  bool improves(double value, std::optional<double> than) const;
  const std::string& metric() const { return metric_; }

 private:
  std::string who_, metric_, without_;
  bool less_;
  double min_delta_;
  bool warned_ = false;
};

// Ends training when a metric has stopped improving.
class EarlyStopping : public Callback {
 public:
  struct Options {
    std::string monitor = "val_loss";
    double min_delta = 0;
    int patience = 0;  // epochs without improvement that are borne
    int verbose = 0;
    MonitorMode mode = MonitorMode::automatic;
    std::optional<double> baseline = {};  // to be passed before patience starts anew
    bool restore_best_weights = false;
    int start_from_epoch = 0;
  };
  EarlyStopping() : EarlyStopping(Options{}) {}
  EarlyStopping(Options options);

  void on_train_begin(const Logs& logs) override;
  void on_epoch_end(int epoch, const Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  void save_state(StateDict& state) const override;
  void load_state(const StateDict& state) override;

  int stopped_epoch() const { return stopped_epoch_; }  // 0: was not stopped
  int best_epoch() const { return best_epoch_; }
  std::optional<double> best() const { return best_; }

 private:
  Options options_;
  Monitor monitor_;
  int wait_ = 0, stopped_epoch_ = 0, best_epoch_ = 0;
  std::optional<double> best_;
  std::vector<Tensor> best_weights_;
};

// Lowers the learning rate when a metric has stopped improving. StateError before the first step when the optimizer
// follows a schedule.
class ReduceLROnPlateau : public Callback {
 public:
  struct Options {
    std::string monitor = "val_loss";
    double factor = 0.1;
    int patience = 10;
    int verbose = 0;
    MonitorMode mode = MonitorMode::automatic;
    double min_delta = 1e-4;
    int cooldown = 0;  // epochs after a change in which nothing is counted
    double min_lr = 0;
  };
  ReduceLROnPlateau() : ReduceLROnPlateau(Options{}) {}
  ReduceLROnPlateau(Options options);  // ValueError for a factor of 1 or more

  void on_train_begin(const Logs& logs) override;
  void add_to_logs(Logs& logs) const override;  // learning_rate, of the epoch that ends
  void on_epoch_end(int epoch, const Logs& logs) override;
  void save_state(StateDict& state) const override;
  void load_state(const StateDict& state) override;

 private:
  Options options_;
  Monitor monitor_;
  int wait_ = 0, cooldown_ = 0;
  std::optional<double> best_;
};

// Sets the learning rate at the start of each epoch: schedule(epoch, current rate).
class LearningRateScheduler : public Callback {
 public:
  explicit LearningRateScheduler(std::function<double(int, double)> schedule, int verbose = 0);
  void on_epoch_begin(int epoch, const Logs& logs) override;
  void add_to_logs(Logs& logs) const override;  // learning_rate

 private:
  std::function<double(int, double)> schedule_;
  int verbose_;
};

// Ends training at a step whose loss is NaN or infinite; for models compiled with NanPolicy::warn, as the default
// policy stops there by itself.
class TerminateOnNaN : public Callback {
 public:
  void on_train_batch_end(int64_t batch, const Logs& logs) override;
  bool needs_batch_logs() const override { return true; }
};

// A file that grows by lines, each one write, so that readers of it never see half of one. Lines that can't be written
// are lost, which the log tells once, until there is room again.
class LogFile {
 public:
  LogFile(const char* who, std::string path) : who_(who), path_(std::move(path)) {}
  ~LogFile();
  LogFile(LogFile&& other) noexcept
      : who_(other.who_), path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), losing_(other.losing_) {}
  LogFile& operator=(LogFile&&) = delete;

  void open(bool append);  // FileError
  void close();
  // Its length now, and back to it: rows that a run wrote after its checkpoint are written again when it goes on.
  int64_t bytes() const;
  void cut(int64_t bytes);
  bool empty() const;
  void add(std::string line);

 private:
  const char* who_;
  std::string path_;
  int fd_ = -1;
  bool losing_ = false;
};

// Loggers go on in their files when training is resumed, with or without `append`.
//
// One row an epoch, each written at once and whole: epoch, then the metrics by name. A metric that an epoch does not
// have is NA. FileError at the start of training when the file can't be opened.
class CSVLogger : public Callback {
 public:
  explicit CSVLogger(std::string path, std::string separator = ",", bool append = false);
  void on_train_begin(const Logs& logs) override;
  void on_epoch_end(int epoch, const Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  void save_state(StateDict& state) const override;
  void load_state(const StateDict& state) override;

 private:
  LogFile file_;
  std::string separator_;
  bool append_;
  std::vector<std::string> names_;
};

// One JSON object an epoch and line: {"epoch": 1, "seconds": 0.31, "loss": 0.27, …}, counted from 1. Read by
// `isochron doctor`.
class JsonLinesLogger : public Callback {
 public:
  explicit JsonLinesLogger(std::string path, bool append = false);
  void on_train_begin(const Logs& logs) override;
  void on_epoch_begin(int epoch, const Logs& logs) override;
  void on_epoch_end(int epoch, const Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  void save_state(StateDict& state) const override;
  void load_state(const StateDict& state) override;

 private:
  LogFile file_;
  bool append_;
  int64_t epoch_start_ns_ = 0;
};

class ProgressLine;  // progress.h

// The line that fit() shows for verbose = 1, for those who order their callbacks themselves and pass verbose = 0.
class ProgbarLogger : public Callback {
 public:
  ProgbarLogger();
  ~ProgbarLogger() override;
  ProgbarLogger(ProgbarLogger&&) noexcept;
  void on_train_begin(const Logs& logs) override;
  void on_epoch_begin(int epoch, const Logs& logs) override;
  void on_train_batch_end(int64_t batch, const Logs& logs) override;
  void on_epoch_end(int epoch, const Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  bool needs_batch_logs() const override;

 private:
  std::unique_ptr<ProgressLine> line_;
  int64_t steps_ = 0;
};

}  // namespace isochron
