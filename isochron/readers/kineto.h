// PyTorch profiler traces (Kineto), and any other file in the Chrome trace format, as a stream.
//
//   KinetoReader reader("trace.json.gz");
//   while (…) reader.feed(bytes);
//   std::optional<Profile> profile = reader.finish();     // nullopt: no events in it
//
// Keeps 32 bytes per event, so a trace of a gigabyte takes about 150 MB. A file that is cut short or damaged gives
// what stands before the damage.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "isochron/timeline/run_record.h"

namespace isochron {

class KinetoReader {
 public:
  explicit KinetoReader(std::string source);
  ~KinetoReader();
  void feed(std::string_view bytes);
  std::optional<Profile> finish();
  bool from_torch() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isochron
