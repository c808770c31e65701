// A value out of range in one row of a batch. Who knows where the batch came from names the row of the data instead:
//
//   catch (const RowError& error) { throw error.at(indices[error.row()]); }
//   // "[sparse_softmax_cross_entropy] labels must be in [0, 10), got 12 at row 48213"
#pragma once

#include <cstdint>

#include "isochron/base/error.h"

namespace isochron {

class RowError : public ValueError {
 public:
  RowError(const std::string& operation, std::string rule, int64_t row)
      : ValueError(operation, fmt::format("{} at row {}", rule, row)), rule_(std::move(rule)), row_(row) {}
  int64_t row() const { return row_; }
  RowError at(int64_t row) const { return RowError(operation(), rule_, row); }
  // "… at row 48213; " and what is said here.
  ValueError with(const std::string& more) const {
    return ValueError(operation(), fmt::format("{} at row {}; {}", rule_, row_, more));
  }

 private:
  std::string rule_;
  int64_t row_;
};

}  // namespace isochron
