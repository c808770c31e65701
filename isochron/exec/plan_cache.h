// Plans by signature: bounded, least recently used out first, and able to say why a plan was not found.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "isochron/exec/evaluate.h"
#include "isochron/graph/walk.h"

namespace isochron {

struct CachedPlan {
  Signature signature;
  std::shared_ptr<Executable> plan;
  std::vector<double> constants;  // values the plan was compiled with
  std::vector<bool> lifted;       // constants that vary, and so are inputs of the plan
  std::vector<TensorSpec> leaves;
};

class PlanCache {
 public:
  static PlanCache& global();

  // The plan for this walk: found, or compiled now. Constants that differ from those the plan knows are lifted to
  // inputs, so a number that changes every step costs one more compilation, not one a step.
  CachedPlan& plan_for(const Walk& walk);
  CacheReport report() const;
  void set_capacity(int64_t plans);
  void clear();
  void note_growth(std::string text);

 private:
  void compile(CachedPlan& entry, const Walk& walk, std::string reason);
  std::string reason_for_miss(const Walk& walk, const Signature& signature) const;

  struct KeyHash {
    size_t operator()(const Signature& s) const { return s.high ^ s.low; }
  };
  std::list<CachedPlan> plans_;  // most recently used first
  std::unordered_map<Signature, std::list<CachedPlan>::iterator, KeyHash> by_signature_;
  CacheReport report_;
  int64_t capacity_ = 256;
};

}  // namespace isochron
