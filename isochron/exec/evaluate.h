// Computing pending values: find the plan for what is pending, or compile one, and run it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "isochron/exec/executable.h"
#include "isochron/tensor/tensor.h"

namespace isochron {

// Computes these tensors, in one plan.
void eval(std::initializer_list<Tensor> tensors);
void eval(std::span<const Tensor> tensors);

// The end of a training step: computes everything pending on this thread, updates variables in place, and
// drops the history of what was computed (unless a gradient tape is still recording).
void end_step();

// How plans were found and why they were not.
struct CacheReport {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t evictions = 0;
  int64_t entries = 0;
  int64_t capacity = 0;
  double compile_seconds = 0;
  struct Miss {
    int64_t at_evaluation;
    std::string reason;
    double compile_seconds;
  };
  std::vector<Miss> recent_misses;        // the last 64
  std::vector<std::string> grown_graphs;  // pending graphs that kept growing, with the line that grew them
  // Variants of kernels tried on this machine: how many are known and learnt, and why others are not known.
  std::string kernel_choices;
};
CacheReport cache_report();
std::string to_string(const CacheReport& report);
// Plans kept at most (least recently used go first); ValueError below 1.
void set_cache_capacity(int64_t plans);
void clear_cache();

// The longest chain of ops that gradients can go back through, from a value that has been computed to a variable
// (100,000 unless set): what is longer is most likely a sum carried from step to step, its history is dropped, and a
// gradient that would need it is a StateError.
void set_history_limit(int64_t ops);
// Pending nodes on one thread at which the graph is computed although nobody asked, and reported as growing.
void set_pending_limit(int64_t nodes);

namespace debug {
// The pending graph behind a tensor, before passes; the one that would run; the calls it would make.
std::string graph(const Tensor& tensor);
std::string optimized_graph(const Tensor& tensor);
std::string plan(const Tensor& tensor);
std::string graphviz(const Tensor& tensor);
}  // namespace debug

}  // namespace isochron
