// What comes out of a data set, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace isochron::data
