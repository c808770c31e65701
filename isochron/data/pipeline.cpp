#include "isochron/data/pipeline.h"

#include <cstring>
#include <exception>

#include "isochron/base/cache_folder.h"
#include "isochron/base/crc32c.h"
#include "isochron/base/interrupt.h"
#include "isochron/data/optimize.h"
#include "isochron/data/stages.h"

namespace isochron::data {
namespace {

// What a state knows of the place in the pass: where every stage is; how many elements were taken; that there is none.
enum class Place : uint8_t { counted, known, none };

// A place that was damaged could lie anywhere, in files and in memory: states end in their checksum.
std::string_view checked(std::string_view state) {
  uint32_t crc = 0;
  if (state.size() < sizeof crc) fail<StateError>("restore", "the state of the pipeline is cut short");
  std::memcpy(&crc, state.data() + state.size() - sizeof crc, sizeof crc);
  state.remove_suffix(sizeof crc);
  if (crc32c(state) != crc) fail<StateError>("restore", "the state of the pipeline is damaged: its checksum is wrong");
  return state;
}

}  // namespace

Pipeline::Pipeline(const StagePtr& stage, bool ahead, uint64_t first_pass)
    : ahead_(ahead),
      plan_(optimized(ahead && stage->ahead() == 0 ? prefetch_stage(stage, AUTOTUNE) : stage)),
      fingerprint_(fingerprint_of(*stage)),
      epoch_(first_pass) {
  run_.tunings = load_tunings(fingerprint_);
  root_ = run_.stream(plan_);
  consumer_ = std::make_unique<Worker>(run_, true);
  visible_.emplace(run_);
}

Pipeline::~Pipeline() {
  visible_.reset();
  run_.end();
  root_.reset();
  if (!run_.learnt.empty()) store_tunings(fingerprint_, run_.learnt);
}

void Pipeline::begin() {
  consumer_->begin_pass();
  if (std::exchange(restored_, false)) return;  // goes on where the state was taken
  root_->begin(epoch_++);
  taken_ = 0;
  begun_ = true;
}

bool Pipeline::next(Element& out) {
  out.clear();
  const int64_t faults = fault_count();
  consumer_->exceptions = std::uncaught_exceptions();
  try {
    const bool more = root_->next(*consumer_, out);
    consumer_->since_ns.store(0, std::memory_order_relaxed);
    if (!more) consumer_->note_disk_reads();
    taken_ += more;
    return more;
  } catch (...) {
    if (fault_count() == faults) set_last_fault(run_.fault_of(*consumer_, std::current_exception()));
    throw;
  }
}

std::string Pipeline::state() {
  StateWriter writer;
  writer.put(ahead_);
  writer.put(hashed(fingerprint_));
  writer.put(epoch_);
  writer.put(taken_);
  StateWriter stages;
  Place place = begun_ ? Place::known : Place::none;
  try {
    if (begun_) root_->save(stages);
  } catch (const StallError&) {
    place = Place::counted;
  }
  writer.put(place);
  if (place == Place::known) writer.put(stages.take());
  std::string bytes = writer.take();
  const uint32_t crc = crc32c(bytes);
  return bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
}

bool Pipeline::was_ahead(std::string_view state) { return StateReader(checked(state)).get<bool>(); }

void Pipeline::restore(std::string_view state) {
  StateReader reader(checked(state));
  ISO_CHECK(reader.get<bool>() == ahead_);
  if (reader.get_string() != hashed(fingerprint_))
    fail<StateError>("restore",
                     "the state was taken of a pipeline with other stages than this one, which ends in {}, or its "
                     "files have changed since",
                     plan_->describe());
  epoch_ = reader.get<uint64_t>();
  taken_ = reader.get_count();
  const auto place = reader.get<Place>();
  if (place == Place::none) return;
  if (place == Place::known) {
    const std::string stages = reader.get_string();
    StateReader of_root(stages);
    root_->restore(of_root);
    if (!of_root.done()) fail<StateError>("restore", "the state of the pipeline is damaged: something is left of it");
  } else if (epoch_ > 0) {
    const int64_t wanted = std::exchange(taken_, 0);
    consumer_->begin_pass();
    root_->begin(epoch_ - 1);
    Element dropped;
    while (taken_ < wanted && next(dropped)) check_interrupt("restore");
  }
  restored_ = begun_ = true;
}

}  // namespace isochron::data
