#include "isochron/report/html_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

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

std::string curve_svg(const std::vector<std::pair<double, double>>& points, const std::vector<double>& marks,
                      double end) {
  constexpr double kWidth = 760, kHeight = 70;
  if (points.empty() || end <= 0) return "";
  double highest = 0;
  for (const auto& [time, value] : points) highest = std::max(highest, value);
  std::string out = fmt::format("<svg class=\"curve\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\">",
                                kWidth, kHeight);
  for (const double mark : marks)
    out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\"/>", mark / end * kWidth, kHeight);
  // Of many points the highest of each pixel: peaks are what one looks for.
  std::vector<double> columns(static_cast<size_t>(kWidth), -1);
  for (const auto& [time, value] : points) {
    const auto column = static_cast<size_t>(std::clamp(time / end, 0.0, 1.0) * (kWidth - 1));
    columns[column] = std::max(columns[column], value);
  }
  out += "<polyline points=\"";
  for (size_t x = 0; x < columns.size(); ++x)
    if (columns[x] >= 0)
      out += fmt::format("{},{:.1f} ", x, kHeight - 2 - (highest > 0 ? columns[x] / highest : 0) * (kHeight - 6));
  return out + "\"/></svg>";
}

}  // namespace isochron
