// TensorFlow profiler files (XPlane protocol buffers), as a stream.
//
//   XPlaneReader reader("host.xplane.pb");
//   while (…) reader.feed(bytes);
//   std::optional<Profile> profile = reader.finish();
//
// Reads the wire format itself: planes, lines and events are entered as they come, so that a file of any size needs
// memory for its events only. Damage ends the reading.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "isochron/timeline/run_record.h"

namespace isochron {

class XPlaneReader {
 public:
  explicit XPlaneReader(std::string source);
  ~XPlaneReader();
  void feed(std::string_view bytes);
  std::optional<Profile> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Starts with a plane that has a name as profilers give them.
bool looks_like_xplane(std::string_view start);

}  // namespace isochron
