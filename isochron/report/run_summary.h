// A run in figures: what reports show at a glance and what two runs are compared by.
//
//   for (const Figure& figure : figures_of(run)) fmt::print("{}: {}\n", figure.name, figure_text(figure));
#pragma once

#include <string>
#include <vector>

#include "isochron/timeline/run_record.h"

namespace isochron {

enum class FigureUnit { seconds, bytes, count, ratio };

struct Figure {
  std::string name;  // "later epochs, median", "phase input", "callback CSVLogger"; stable, used in JSON
  FigureUnit unit = FigureUnit::count;
  double value = 0;
  bool judged = false;  // one of those by which a run is called slower or larger than another
};

// Those the record can tell: epochs, phases, steps, memory, input, callbacks. Phases and callbacks are of a typical
// epoch (the median, or mean for callbacks, of all but the first).
std::vector<Figure> figures_of(const RunRecord& run);

std::string value_text(FigureUnit unit, double value);
inline std::string figure_text(const Figure& figure) { return value_text(figure.unit, figure.value); }

// {"sentence": …, "figures": {…}, "epochs": [{"index", "seconds", "phases", "callbacks"}], "symptom": …, "verdicts":
// […]}
std::string run_summary_json(const RunRecord& run);

}  // namespace isochron
