#include "isochron/base/names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace isochron {
namespace {

// Edits (insert, delete, replace) that turn a into b; case does not count.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const bool same =
          std::tolower(static_cast<unsigned char>(a[i])) == std::tolower(static_cast<unsigned char>(b[j]));
      const size_t replaced = diagonal + (same ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known) {
  const std::string_view shortened = name.substr(0, 64);
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, shortened.size() / 3) + 1;
  for (std::string_view candidate : known)
    if (const size_t distance = edit_distance(shortened, candidate); distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  if (!best.empty()) return fmt::format("; did you mean \"{}\"?", best);
  return fmt::format("; known: {}", fmt::join(known, ", "));
}

}  // namespace isochron
