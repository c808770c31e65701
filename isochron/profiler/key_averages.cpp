#include "isochron/profiler/key_averages.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "isochron/base/error.h"
#include "isochron/base/names.h"

namespace isochron::profiler {
namespace {

// "1.204ms" as PyTorch writes it.
std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f}s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3f}ms", seconds * 1e3);
  return fmt::format("{:.3f}us", seconds * 1e6);
}

std::string percent(double part, double whole) { return whole > 0 ? fmt::format("{:.2f}%", 100 * part / whole) : "--"; }

struct Scale {
  const char* prefix;
  double factor;
};
// The unit in which the largest of a column has few digits.
Scale scale_for(double largest) {
  if (largest >= 1e12) return {"T", 1e-12};
  if (largest >= 1e9) return {"G", 1e-9};
  if (largest >= 1e6) return {"M", 1e-6};
  return {"K", 1e-3};
}

std::string cut(const std::string& text, int width) {
  const auto most = static_cast<size_t>(std::max(width, 8));
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

struct Column {
  std::string title;
  std::function<std::string(const FunctionAverage&)> text;
  bool wide = false;  // as wide as its longest text
};

double key_of(const FunctionAverage& row, const std::string& by) {
  if (by == "cpu_time_total") return row.cpu_time_total;
  if (by == "self_cpu_time_total") return row.self_cpu_time_total;
  if (by == "cpu_time") return row.cpu_time();
  if (by == "count") return static_cast<double>(row.count);
  if (by == "flops") return row.flops;
  if (by == "bytes") return row.bytes;
  const std::vector<std::string_view> known{"cpu_time_total", "self_cpu_time_total", "cpu_time", "count", "flops",
                                            "bytes"};
  fail<ValueError>("key_averages", "can't sort by \"{}\"{}", by, did_you_mean(by, known));
}

}  // namespace

KeyAverages::KeyAverages(std::vector<FunctionAverage> rows, bool by_shape, double peak_flops)
    : rows_(std::move(rows)), by_shape_(by_shape), peak_flops_(peak_flops) {
  for (const FunctionAverage& row : rows_) self_total_ += row.self_cpu_time_total;
}

const FunctionAverage& KeyAverages::operator[](const std::string& key) const {
  std::vector<std::string_view> known;
  for (const FunctionAverage& row : rows_) {
    if (row.key == key) return row;
    known.push_back(row.key);
  }
  fail<ValueError>("key_averages", "no op \"{}\" in this profile{}", key, did_you_mean(key, known));
}

std::string KeyAverages::table(const TableOptions& options) const {
  std::vector<const FunctionAverage*> rows;
  double most_flops = 0, most_bytes = 0;
  for (const FunctionAverage& row : rows_) {
    rows.push_back(&row);
    most_flops = std::max(most_flops, row.flops);
    most_bytes = std::max(most_bytes, row.bytes);
  }
  if (!options.sort_by.empty()) {
    key_of({}, options.sort_by);
    std::stable_sort(rows.begin(), rows.end(), [&](const FunctionAverage* a, const FunctionAverage* b) {
      return key_of(*a, options.sort_by) > key_of(*b, options.sort_by);
    });
  }
  if (rows.size() > static_cast<size_t>(std::max(options.row_limit, 0)))
    rows.resize(static_cast<size_t>(std::max(options.row_limit, 0)));

  const auto or_none = [](double value, const std::string& text) { return value > 0 ? text : std::string("--"); };
  const Scale flops = scale_for(most_flops), bytes = scale_for(most_bytes);
  std::vector<Column> columns{
      {"Name", [&](const auto& r) { return cut(r.key, options.max_name_column_width); }, true},
      {"Self CPU %", [&](const auto& r) { return percent(r.self_cpu_time_total, self_total_); }},
      {"Self CPU", [](const auto& r) { return time_text(r.self_cpu_time_total); }},
      {"CPU total %", [&](const auto& r) { return percent(r.cpu_time_total, self_total_); }},
      {"CPU total", [](const auto& r) { return time_text(r.cpu_time_total); }},
      {"CPU time avg", [](const auto& r) { return time_text(r.cpu_time()); }},
      {"# of Calls", [](const auto& r) { return std::to_string(r.count); }}};
  if (by_shape_) columns.push_back({"Input Shapes", [](const auto& r) { return cut(r.input_shapes, 60); }, true});
  columns.push_back({fmt::format("Total {}FLOPs", flops.prefix),
                     [&](const auto& r) { return or_none(r.flops, fmt::format("{:.3f}", r.flops * flops.factor)); }});
  columns.push_back(
      {"GFLOP/s", [&](const auto& r) { return or_none(r.flops, fmt::format("{:.2f}", r.flops_per_second() * 1e-9)); }});
  columns.push_back(
      {"% of peak", [&](const auto& r) { return or_none(r.flops, percent(r.flops_per_second(), peak_flops_)); }});
  columns.push_back({fmt::format("Total {}B", bytes.prefix),
                     [&](const auto& r) { return or_none(r.bytes, fmt::format("{:.3f}", r.bytes * bytes.factor)); }});
  columns.push_back({"GB/s", [&](const auto& r) {
                       const double rate = r.cpu_time_total > 0 ? r.bytes / r.cpu_time_total * 1e-9 : 0;
                       return or_none(r.bytes, fmt::format("{:.2f}", rate));
                     }});

  std::vector<size_t> widths;
  for (const Column& column : columns) {
    size_t width = std::max<size_t>(column.title.size(), 12);
    if (column.wide)
      for (const FunctionAverage* row : rows) width = std::max(width, column.text(*row).size());
    widths.push_back(width);
  }
  std::string rule, line;
  for (const size_t width : widths) rule += std::string(width, '-') + "  ";
  rule += '\n';
  std::string out = options.header.empty() ? "" : options.header + "\n";
  for (size_t c = 0; c < columns.size(); ++c) line += fmt::format("{:>{}}  ", columns[c].title, widths[c]);
  out += rule + line + "\n" + rule;
  for (const FunctionAverage* row : rows) {
    for (size_t c = 0; c < columns.size(); ++c) out += fmt::format("{:>{}}  ", columns[c].text(*row), widths[c]);
    out += '\n';
  }
  out += rule + fmt::format("Self CPU time total: {}\n", time_text(self_total_));
  return out + fmt::format("Peak of this machine, measured: {:.1f} GFLOP/s\n", peak_flops_ * 1e-9);
}

}  // namespace isochron::profiler
