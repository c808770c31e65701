// Names and values of one row or record -> what they say about training. Hugging Face's printed dictionaries,
// JSON lines, CSV rows and printed tables (fastai, skorch) all come here.
//
//   keyed_event({{"epoch", "3"}, {"train_loss", "0.41"}, {"time", "02:17"}});   // epoch 3 took 137 s
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isochron/readers/log_event.h"

namespace isochron {

using KeyedValues = std::vector<std::pair<std::string, std::string>>;

// Whether values under this key are times: "epoch_time", "secs", "Duration (s)".
bool names_time(std::string_view key);

// Whether values under this key are numbers of epochs.
bool names_epoch(std::string_view key);

// nullopt if nothing in it is about training.
std::optional<LogEvent> keyed_event(const KeyedValues& values);

// When the record was written (Unix time), if one of its values says so: "timestamp", "wall_time", "date", …
std::optional<double> keyed_wall_time(const KeyedValues& values);

// A dictionary as Python or JSON prints it, anywhere in a line: {'loss': 0.3, "epoch": '4.42'}. Nested values
// are left out. Empty if there is none.
KeyedValues find_dictionary(std::string_view line);

}  // namespace isochron
