// Writes the name of every op and composite of the library, one a line; with --markdown, docs/ops.md.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/ops/op.h"

namespace {

struct Line {
  std::string name, doc, gradient;
};

std::vector<Line> all_lines() {
  std::vector<Line> lines;
  for (const isochron::Op* op : isochron::all_ops())
    lines.push_back({op->name, op->doc, op->gradient ? "yes" : std::string("none: ") + op->no_gradient});
  for (const isochron::Composite* composite : isochron::all_composites())
    lines.push_back({composite->name, composite->doc, "through the ops it is made of"});
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.name < b.name; });
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "--markdown") {
    for (const Line& line : all_lines()) fmt::print("{}\n", line.name);
    return 0;
  }
  fmt::print(
      "# Ops\n"
      "Every op and every function made of ops, as they are declared in `isochron/ops/` (and, where only the engine "
      "makes them, in `isochron/passes/` and `isochron/exec/`). Written by `build/tests/list_ops --markdown > "
      "docs/ops.md`; a test compares.\n\n| op | what it gives | gradient |\n|---|---|---|\n");
  for (const Line& line : all_lines()) fmt::print("| `{}` | {} | {} |\n", line.name, line.doc, line.gradient);
}
