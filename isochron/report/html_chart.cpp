#include "isochron/report/html_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "isochron/base/escape.h"

namespace isochron {

std::string bar_chart_html(const std::vector<BarRow>& rows) {
  double longest = 0;
  for (const BarRow& row : rows) longest = std::max(longest, std::accumulate(row.parts.begin(), row.parts.end(), 0.0));
  std::string out = "<div class=\"bars\">";
  for (const BarRow& row : rows) {
    out += fmt::format("<span class=\"label\">{}</span><span class=\"bar\">", markup_escaped(row.label));
    for (size_t k = 0; k < row.parts.size(); ++k)
      if (const double percent = longest > 0 ? 100 * row.parts[k] / longest : 0; percent > 0)
        out += fmt::format("<i class=\"part-{}\" style=\"width:{:.2f}%\"></i>", k, std::max(percent, 0.2));
    if (row.open) out += "<i class=\"open\"></i>";
    out += fmt::format("</span><span class=\"value\">{}</span>", markup_escaped(row.value));
  }
  return out + "</div>";
}

namespace {

struct Range {
  double from, to;
  double share(double value) const { return to > from ? std::clamp((value - from) / (to - from), 0.0, 1.0) : 0; }
};

std::string curve_in(const std::vector<std::pair<double, double>>& points, const std::vector<double>& marks,
                     const Range& times, const Range& values) {
  constexpr double kWidth = 760, kHeight = 70;
  std::string out = fmt::format("<svg class=\"curve\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\">",
                                kWidth, kHeight);
  for (const double mark : marks)
    out +=
        fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\"/>", times.share(mark) * kWidth, kHeight);
  // Of many points the highest of each pixel: peaks are what one looks for.
  std::vector<std::optional<double>> columns(static_cast<size_t>(kWidth));
  for (const auto& [time, value] : points) {
    std::optional<double>& column = columns[static_cast<size_t>(times.share(time) * (kWidth - 1))];
    column = std::max(column.value_or(value), value);
  }
  out += "<polyline points=\"";
  for (size_t x = 0; x < columns.size(); ++x)
    if (columns[x]) out += fmt::format("{},{:.1f} ", x, kHeight - 2 - values.share(*columns[x]) * (kHeight - 6));
  return out + "\"/></svg>";
}

const auto by_value = [](const auto& a, const auto& b) { return a.second < b.second; };

}  // namespace

std::string curve_svg(const std::vector<std::pair<double, double>>& points, const std::vector<double>& marks,
                      double end) {
  if (points.empty() || end <= 0) return "";
  return curve_in(points, marks, {0, end}, {0, std::max_element(points.begin(), points.end(), by_value)->second});
}

std::string fitted_curve_svg(const std::vector<std::pair<double, double>>& points) {
  if (points.empty()) return "";
  const auto [lowest, highest] = std::minmax_element(points.begin(), points.end(), by_value);
  return curve_in(points, {}, {points.front().first, points.back().first}, {lowest->second, highest->second});
}

}  // namespace isochron
