#include "isochron/data/pipeline.h"

#include "isochron/data/dataset.h"

namespace isochron::data {

Pipeline::Pipeline(const StagePtr& plan) : plan_(plan), root_(run_.stream(plan)) {
  consumer_ = std::make_unique<Worker>(run_);
}

void Pipeline::begin() {
  if (std::exchange(restored_, false)) return;  // goes on where the state was taken
  root_->begin(epoch_++);
}

bool Pipeline::next(Element& out) {
  out.clear();
  return root_->next(*consumer_, out);
}

std::string Pipeline::state() {
  StateWriter writer;
  writer.put(fingerprint_of(*plan_));
  writer.put(epoch_);
  root_->save(writer);
  return writer.take();
}

void Pipeline::restore(std::string_view state) {
  StateReader reader(state);
  if (reader.get_string() != fingerprint_of(*plan_))
    fail<StateError>("restore", "the state is of another pipeline than this one:\n{}", plan_->describe());
  epoch_ = reader.get<uint64_t>();
  root_->restore(reader);
  restored_ = true;
}

}  // namespace isochron::data
