// Log events in order -> the fits they tell of, each a RunRecord.
//
//   FitBuilder builder;
//   builder.add(event, time);      // for every line that says something
//   builder.fact({"retracing", …});
//   std::vector<RunRecord> fits = builder.finish();
//
// An epoch's number that goes back begins a new fit. Bars without a name count as training where an epoch is under
// way, and as an evaluation after the last one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isochron/readers/epoch_draft.h"
#include "isochron/readers/log_event.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

class FitBuilder {
 public:
  // `time`: on the log's clock, if it has one.
  void add(const LogEvent& event, std::optional<double> time);
  void add_bar(const Bar& bar, std::optional<double> time);
  void fact(Fact fact);
  // A line, whatever it says.
  void note_line();
  // A line with a time that says nothing else: the first epoch may begin here.
  void note_time(double time);
  // The same of a line that another logger wrote, perhaps in the middle of that epoch.
  void note_foreign_time(double time);

  // The clock may be off by so much: stamps often show whole seconds.
  void set_clock_resolution(double seconds) { clock_resolution_ = seconds; }

  // The epoch under way, or about to begin, as the log counts; kNoEpoch before the first.
  static constexpr int kNoEpoch = -1;
  int current_epoch() const;
  std::vector<RunRecord> finish() const;

 private:
  struct EpochsBar {
    std::vector<std::pair<int64_t, Measured>> points;  // epochs done, time so far
    std::optional<int64_t> total;
  };
  struct Position {
    double epoch;
    std::optional<Measured> elapsed;
    std::optional<double> time;
    std::optional<double> tokens;
    std::optional<double> validation;
    int64_t step = 0;                 // of the bar
    std::optional<Measured> redrawn;  // what it shows when it is drawn again, behind what was done meanwhile
  };
  struct Fit {
    std::vector<EpochDraft> drafts;
    std::optional<int64_t> planned;
    bool inclusive = false;
    bool headers = false;
    bool named = false;                    // lines call something an epoch
    std::optional<Measured> pending_time;  // an epoch's time that came before its line
    std::optional<Measured> pending_validation;
    EpochsBar epochs_bar;
    EpochsBar items_bar;      // the one bar without a name, if there is but one:
    bool items_bars = false;  // there are several, or of many items
    std::vector<Position> positions;
    std::vector<Step> windows;                               // lines about steps, outside epochs too
    std::optional<std::pair<int64_t, double>> step_reading;  // the last step without an epoch, and when it was
    std::optional<Measured> run_time;
    std::optional<double> run_epochs;    // as told at its end
    std::optional<double> run_input;     // waited for data in all, likewise
    std::optional<double> before_first;  // the last time seen before the first epoch
    bool before_first_foreign = false;
    std::optional<double> last_time;
    std::optional<double> tokens;
    std::vector<Fact> facts;
    std::string framework;
    bool trailing = false;  // something was evaluated after the last epoch
  };

  Fit& fit() { return fits_.back(); }
  bool counts_on(const LogEvent& event) const;
  EpochDraft* current();
  EpochDraft& open(int64_t index, bool numbered, std::optional<double> time);
  void begin_epoch(const LogEvent& event, std::optional<double> time);
  void end_epoch(const LogEvent& event, std::optional<double> time);
  void add_step(const LogEvent& event, std::optional<double> time);
  void add_train_bar(const LogEvent& event, bool keras, std::optional<double> time);
  void note_items(const LogEvent& event, std::optional<double> time);
  void add_inner_bar(EpochDraft& draft, const LogEvent& event, bool keras, std::optional<double> time);
  void note_plan(const LogEvent& event);
  void start_fit();

  static void take_times_of_steps(Fit& fit);
  static void take_time_below(Fit& fit);
  static void take_clocks(Fit& fit);
  static void take_positions(Fit& fit);
  static void take_part_of_epoch(Fit& fit, const std::vector<std::pair<double, double>>& clock);
  static void take_long_items(Fit& fit);
  static void take_epochs_bar(Fit& fit);
  static void take_running_bar(Fit& fit);
  static void take_lone_bars(Fit& fit);
  static void take_end(Fit& fit);
  static void take_gaps(Fit& fit);
  static void take_as_long(Fit& fit);
  static void take_last_steps(Fit& fit);
  static size_t epochs_named(const Fit& fit);
  static RunRecord record_of(Fit fit);

  std::vector<Fit> fits_ = std::vector<Fit>(1);
  double clock_resolution_ = 0;
};

}  // namespace isochron
