// Samples of a run of any length in fixed memory: when full, every second old sample is dropped, those
// beside the borders of epochs excepted.
//
//   SampleStore store;
//   store.add({now, values});
//   store.pin(epoch_end);           // keep full resolution here
#pragma once

#include <vector>

#include "isochron/timeline/run_record.h"

namespace isochron::observe {

class SampleStore {
 public:
  explicit SampleStore(size_t capacity = 3000) : capacity_(capacity) {}

  void add(Sample sample);
  // An epoch began or ended at `time`: the samples on both sides of it stay.
  void pin(double time) { pins_.push_back(time); }

  const std::vector<Sample>& samples() const { return samples_; }

 private:
  void thin_out();

  size_t capacity_;
  std::vector<Sample> samples_;
  std::vector<double> pins_;
};

}  // namespace isochron::observe
