// One libFuzzer target for each reader of foreign files; FUZZ_READER chooses it. Whatever the bytes are, a reader
// returns or throws FileError; everything else is a defect.
#include <cstdint>
#include <string>
#include <string_view>

#include "isochron/base/error.h"
#include "isochron/readers/console_reader.h"
#include "isochron/readers/kineto.h"
#include "isochron/readers/table_log.h"
#include "isochron/readers/tfevents.h"
#include "isochron/readers/wrapped_log.h"
#include "isochron/readers/xplane.h"
#include "isochron/timeline/run_record.h"

namespace {

using namespace isochron;

// In two pieces, so that every place can be a boundary between two reads of a stream.
template <class Reader>
void feed(Reader& reader, std::string_view bytes) {
  const size_t cut = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]) * bytes.size() / 256;
  reader.feed(bytes.substr(0, cut));
  reader.feed(bytes.substr(cut));
}

[[maybe_unused]] void read_console(std::string_view bytes) {
  ConsoleReader reader("fuzz");
  feed(reader, bytes);
  reader.snapshot();
  reader.finish();
}

[[maybe_unused]] void read_kineto(std::string_view bytes) {
  KinetoReader reader("fuzz");
  feed(reader, bytes);
  reader.finish();
}

[[maybe_unused]] void read_xplane(std::string_view bytes) {
  looks_like_xplane(bytes);
  XPlaneReader reader("fuzz");
  feed(reader, bytes);
  reader.finish();
}

[[maybe_unused]] void read_tfevents(std::string_view bytes) {
  looks_like_tfevents(bytes);
  EventSeries series;
  TfEventsReader reader(series, "train");
  feed(reader, bytes);
  RunRecord run = record_of(series);
  refine(run, series);
}

[[maybe_unused]] void read_table(std::string_view bytes) {
  const bool csv = !looks_like_json_lines(bytes) && looks_like_csv(bytes);
  TableLogReader reader(csv ? TableLogReader::Form::csv : TableLogReader::Form::json_lines, "fuzz");
  feed(reader, bytes);
  reader.finish();
}

[[maybe_unused]] void read_wrapped(std::string_view bytes) {
  looks_like_wrapped_log(bytes);
  WrappedLogReader reader("fuzz");
  feed(reader, bytes);
  reader.finish();
}

[[maybe_unused]] void read_document(std::string_view bytes) {
  const std::string text(bytes);
  try {
    notebook_output(text);
  } catch (const FileError&) {
  }
  trainer_history(text);
}

[[maybe_unused]] void read_record(std::string_view bytes) {
  const RunRecord run = RunRecord::from_json(std::string(bytes));
  RunRecord::from_json(run.to_json());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    FUZZ_READER(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const FileError&) {
  }
  return 0;
}
