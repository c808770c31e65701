// What goes into a data set and comes out of it, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "isochron/data/dataset.h"

namespace isochron::data {

// The numbers of component `c` of all elements of a pass, one after the other.
inline std::vector<int64_t> numbers(const Dataset& dataset, size_t c = 0) {
  std::vector<int64_t> all;
  for (const Element& element : dataset)
    for (int64_t value : element[c].tensor().to_vector<int64_t>()) all.push_back(value);
  return all;
}

inline void nap(int64_t microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

// Slow in a way that mixes up the order in which threads finish.
inline int64_t uneven(int64_t x) {
  nap(x % 7 == 0 ? 300 : x % 3 == 0 ? 100 : 0);
  return x * 2;
}

inline std::vector<int64_t> doubled(int64_t n) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < n; ++i) all.push_back(i * 2);
  return all;
}

}  // namespace isochron::data
