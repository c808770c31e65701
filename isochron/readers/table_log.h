// Tables of training progress: CSV (Keras CSVLogger, Lightning), JSON lines, a Trainer's state, notebooks' outputs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/timeline/run_record.h"

namespace isochron {

// Feed in pieces, as ConsoleReader is.
class TableLogReader {
 public:
  enum class Form { csv, json_lines };
  TableLogReader(Form form, std::string source);
  ~TableLogReader();
  void feed(std::string_view bytes);
  std::vector<RunRecord> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A header of names with commas, of which one is about training, and a first row that fits it.
bool looks_like_csv(std::string_view start);
// Lines that are JSON objects with an epoch or a step.
bool looks_like_json_lines(std::string_view start);

// What the cells of a Jupyter notebook printed, as one console log. Throws FileError if it is none.
std::string notebook_output(const std::string& text);
// The log_history of a Hugging Face trainer_state.json as JSON lines. Throws FileError if it is none.
std::string trainer_history(const std::string& text);

}  // namespace isochron
