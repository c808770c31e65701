#include "isochron/base/names.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "isochron/base/joined.h"

namespace isochron {
namespace {

// Edits (insert, delete, replace, swap neighbours) that turn a into b; case does not count.
size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [&](size_t i, size_t j) {
    return std::tolower(static_cast<unsigned char>(a[i])) == std::tolower(static_cast<unsigned char>(b[j]));
  };
  std::vector<size_t> row(b.size() + 1), above, two_above;
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    two_above = std::exchange(above, row);
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({above[j] + (same(i, j) ? 0 : 1), above[j + 1] + 1, row[j] + 1});
      if (i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j)) row[j + 1] = std::min(row[j + 1], two_above[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known) {
  const std::string_view shortened = name.substr(0, 64);
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, shortened.size() / 3) + 1;
  // Of candidates equally near the one that begins alike: the first letter is seldom the wrong one.
  const auto begins_alike = [&](std::string_view s) { return edit_distance(s.substr(0, 1), name.substr(0, 1)) == 0; };
  for (std::string_view candidate : known) {
    const size_t distance = edit_distance(shortened, candidate);
    const bool as_near = distance == best_distance && !best.empty();
    if (distance < best_distance || (as_near && begins_alike(candidate) && !begins_alike(best))) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty()) return fmt::format("; did you mean \"{}\"?", best);
  return fmt::format("; known: {}", joined(known));
}

std::string snake_case(const std::string& name) {
  const auto is_lower = [&](size_t i) { return i < name.size() && name[i] >= 'a' && name[i] <= 'z'; };
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool upper = name[i] >= 'A' && name[i] <= 'Z';
    if (upper && i > 0 && (is_lower(i - 1) || is_lower(i + 1))) out += '_';
    out += upper ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return out;
}

}  // namespace isochron
