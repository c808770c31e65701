// Small charts for pages that must stand alone: bars as plain elements, so that they fit any width, curves as SVG.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isochron {

// One bar per row, made of parts; `parts[k]` takes the colour class `part-k`.
struct BarRow {
  std::string label;
  std::string value;
  std::vector<double> parts;
  bool open = false;  // began and did not end: drawn as an outline
};
std::string bar_chart_html(const std::vector<BarRow>& rows);

// A curve over time with marks (epochs' beginnings) behind it; both axes begin at 0.
std::string curve_svg(const std::vector<std::pair<double, double>>& points, const std::vector<double>& marks,
                      double end);
// A curve that fills its picture from the first point to the last and from the lowest to the highest.
std::string fitted_curve_svg(const std::vector<std::pair<double, double>>& points);

}  // namespace isochron
