// What changed between two runs, and by how much.
//
//   const RunComparison comparison(before, after);
//   fmt::print("{}", comparison.to_string());
//   if (comparison.worst() > 0.1) …                // something judged grew by more than a tenth
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isochron/report/run_summary.h"

namespace isochron {

struct ComparedFigure {
  std::string name;
  FigureUnit unit = FigureUnit::count;
  std::optional<double> before, after;  // absent: that run does not tell
  bool judged = false;

  // 0.1: a tenth more; nothing where one is absent or the first is zero.
  std::optional<double> change() const;
};

class RunComparison {
 public:
  RunComparison(const RunRecord& before, const RunRecord& after);

  const std::vector<ComparedFigure>& figures() const { return figures_; }
  // Whether there is a judged figure (epochs, steps, memory) that both runs tell.
  bool judges() const;
  // The largest growth among them; 0 when none grew.
  double worst() const;
  // One sentence: how epochs changed and which phases did it.
  std::string sentence() const;
  // The sentence, the table, settings that differ, and both verdicts. Lines of the table that say nothing (less than
  // 0.5 % of change) are left out unless `all`.
  std::string to_string(bool all = false) const;
  std::string to_json() const;

 private:
  struct ComparedFact {
    std::string key, before, after;
  };
  std::vector<ComparedFigure> figures_;
  std::vector<ComparedFact> facts_;
  std::string symptoms_[2], verdicts_[2];
};

}  // namespace isochron
