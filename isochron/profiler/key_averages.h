// The table of a profile: what each op cost, in the layout PyTorch users know.
//
//   fmt::print("{}", profile.key_averages().table({.sort_by = "cpu_time_total", .row_limit = 10}));
//
//   ---------------------------  ------------  ------------  ------------  ------------  ------------  ------------  …
//                          Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls  …
//   ---------------------------  ------------  ------------  ------------  ------------  ------------  ------------  …
//                        matmul        41.20%       1.204ms        41.20%       1.204ms      12.541us            96  …
//
// "CPU" is time of the thread that was profiled, in which the other threads of the team do their shares. What it waits
// for them has a row of its own. Self time of a range excludes what happens inside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isochron::profiler {

struct TableOptions {
  // cpu_time_total, self_cpu_time_total, cpu_time (average), count, flops, bytes; empty: in order of the first call.
  std::string sort_by = {};
  int row_limit = 100;
  int max_name_column_width = 55;
  std::string header = {};
};

struct FunctionAverage {
  std::string key;           // the op's or range's name
  std::string input_shapes;  // with group_by_input_shape
  int64_t count = 0;
  double self_cpu_time_total = 0, cpu_time_total = 0;  // seconds
  double flops = 0, bytes = 0;                         // of all calls
  bool range = false;                                  // may hold others: a step, a span, a range of the user's

  double cpu_time() const { return count ? cpu_time_total / static_cast<double>(count) : 0; }
  double flops_per_second() const { return cpu_time_total > 0 ? flops / cpu_time_total : 0; }
};

class KeyAverages {
 public:
  KeyAverages(std::vector<FunctionAverage> rows, bool by_shape, double peak_flops);

  // ValueError (with a suggestion) for an unknown sort_by.
  std::string table(const TableOptions& options = {}) const;
  const std::vector<FunctionAverage>& rows() const { return rows_; }
  // The row of this name; ValueError with a suggestion when there is none.
  const FunctionAverage& operator[](const std::string& key) const;
  // Seconds that rows add up to.
  double self_cpu_time_total() const { return self_total_; }
  double peak_flops() const { return peak_flops_; }

 private:
  std::vector<FunctionAverage> rows_;
  bool by_shape_;
  double peak_flops_, self_total_ = 0;
};

}  // namespace isochron::profiler
