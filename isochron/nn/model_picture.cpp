// The graph of a model's layers as SVG: rows by depth, boxes in a row ordered to keep lines short, long lines led
// around the boxes between their ends.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "isochron/base/escape.h"
#include "isochron/base/files.h"
#include "isochron/nn/model.h"
#include "isochron/nn/model_graph.h"
#include "isochron/nn/partial_shapes.h"

namespace isochron {
namespace {

constexpr double kCharacter = 7.3, kBoxHeight = 46, kRowGap = 38, kColumnGap = 26, kMargin = 20, kLaneWidth = 14;
constexpr int kSweeps = 8;

struct Box {
  std::string title, detail;  // none: a bend of a line
  int row = 0;
  double x = 0, width = kLaneWidth;  // x is the middle
  std::vector<size_t> above, below;
};

size_t characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

class Picture {
 public:
  size_t add(std::string title, std::string detail, int row) {
    Box box{std::move(title), std::move(detail), row};
    if (!box.title.empty())
      box.width = kCharacter * static_cast<double>(std::max(characters(box.title), characters(box.detail))) + 24;
    boxes_.push_back(std::move(box));
    if (static_cast<size_t>(row) >= rows_.size()) rows_.resize(static_cast<size_t>(row) + 1);
    rows_[static_cast<size_t>(row)].push_back(boxes_.size() - 1);
    return boxes_.size() - 1;
  }

  // A line, with a bend in every row it passes.
  void connect(size_t from, size_t to) {
    std::vector<size_t> line{from};
    for (int row = boxes_[from].row + 1; row < boxes_[to].row; ++row) line.push_back(add("", "", row));
    line.push_back(to);
    for (size_t i = 1; i < line.size(); ++i) {
      boxes_[line[i - 1]].below.push_back(line[i]);
      boxes_[line[i]].above.push_back(line[i - 1]);
    }
    lines_.push_back(std::move(line));
  }

  std::string svg(const std::string& name) {
    for (auto& row : rows_) spread(row);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (auto& row : rows_) follow(row, &Box::above);
      for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) follow(*row, &Box::below);
    }
    return drawn(name);
  }

 private:
  // Left to right, as close as they may stand.
  void spread(const std::vector<size_t>& row) {
    double x = 0;
    for (const size_t i : row) {
      boxes_[i].x = x + boxes_[i].width / 2;
      x += boxes_[i].width + kColumnGap;
    }
  }

  // Orders a row by the middles of its neighbours and moves its boxes towards them as far as the others allow.
  void follow(std::vector<size_t>& row, std::vector<size_t> Box::*side) {
    std::vector<double> wish(boxes_.size());
    for (const size_t i : row) {
      const std::vector<size_t>& near = boxes_[i].*side;
      double total = 0;
      for (const size_t n : near) total += boxes_[n].x;
      wish[i] = near.empty() ? boxes_[i].x : total / static_cast<double>(near.size());
    }
    std::stable_sort(row.begin(), row.end(), [&](size_t a, size_t b) { return wish[a] < wish[b]; });
    // Boxes that would overlap form a group that stands where its members wish on average.
    struct Group {
      size_t first, last;
      double sum = 0, width = 0;  // of wished left edges of the group; of its boxes and gaps
      double left() const { return sum / static_cast<double>(last - first + 1); }
    };
    std::vector<Group> groups;
    for (size_t k = 0; k < row.size(); ++k) {
      const Box& box = boxes_[row[k]];
      groups.push_back({k, k, wish[row[k]] - box.width / 2, box.width + kColumnGap});
      while (groups.size() > 1 &&
             groups[groups.size() - 2].left() + groups[groups.size() - 2].width > groups.back().left()) {
        const Group next = groups.back();
        groups.pop_back();
        Group& group = groups.back();
        group.sum += next.sum - group.width * static_cast<double>(next.last - next.first + 1);
        group.width += next.width;
        group.last = next.last;
      }
    }
    for (const Group& group : groups) {
      double x = group.left();
      for (size_t k = group.first; k <= group.last; ++k) {
        boxes_[row[k]].x = x + boxes_[row[k]].width / 2;
        x += boxes_[row[k]].width + kColumnGap;
      }
    }
  }

  double top(const Box& box) const { return kMargin + box.row * (kBoxHeight + kRowGap); }

  std::string drawn(const std::string& name) {
    double left = 1e30, right = -1e30;
    for (const Box& box : boxes_) {
      left = std::min(left, box.x - box.width / 2);
      right = std::max(right, box.x + box.width / 2);
    }
    for (Box& box : boxes_) box.x += kMargin - left;
    const double width = right - left + 2 * kMargin;
    const double height = 2 * kMargin + static_cast<double>(rows_.size()) * (kBoxHeight + kRowGap) - kRowGap;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" "
        "role=\"img\">\n<title>{2}</title>\n<style>\n"
        "text{{font:12px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;text-anchor:middle;fill:#1d2530}}\n"
        ".name{{font-weight:600}} .detail{{fill:#5a6675}}\n"
        "rect{{fill:#f4f7fb;stroke:#8fa3bd}} .page{{fill:#fff;stroke:none}} "
        "path{{fill:none;stroke:#6b7f99;stroke-width:1.4}}\n"
        "@media (prefers-color-scheme:dark){{text{{fill:#e6ebf2}} .detail{{fill:#9aa8ba}} "
        "rect{{fill:#1e2733;stroke:#4c6180}} .page{{fill:#12171e}} path{{stroke:#7d93b0}}}}\n"
        "</style>\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
        "markerHeight=\"7\" orient=\"auto\"><polygon points=\"0,0 8,4 0,8\" fill=\"#6b7f99\"/></marker></defs>\n"
        "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
        width, height, markup_escaped(name));
    for (const std::vector<size_t>& line : lines_) out += path(line);
    for (const Box& box : boxes_) {
      if (box.title.empty()) continue;
      out += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"6\"/>\n"
          "<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text><text class=\"detail\" x=\"{:.1f}\" "
          "y=\"{:.1f}\">{}</text>\n",
          box.x - box.width / 2, top(box), box.width, kBoxHeight, box.x, top(box) + 19, markup_escaped(box.title),
          box.x, top(box) + 36, markup_escaped(box.detail));
    }
    return out + "</svg>\n";
  }

  std::string path(const std::vector<size_t>& line) const {
    std::string d;
    for (size_t i = 0; i + 1 < line.size(); ++i) {
      const Box &from = boxes_[line[i]], &to = boxes_[line[i + 1]];
      const double y0 = top(from) + kBoxHeight, y1 = top(to), middle = (y0 + y1) / 2;
      d += i == 0 ? fmt::format("M{:.1f},{:.1f}", from.x, y0) : fmt::format(" L{:.1f},{:.1f}", from.x, y0);
      d += fmt::format(" C{0:.1f},{1:.1f} {2:.1f},{1:.1f} {2:.1f},{3:.1f}", from.x, middle, to.x, y1);
    }
    return fmt::format("<path d=\"{}\" marker-end=\"url(#tip)\"/>\n", d);
  }

  std::vector<Box> boxes_;
  std::vector<std::vector<size_t>> rows_, lines_;
};

std::string detail_of(const Layer& layer, const Shape& output) {
  const int64_t parameters = layer.count_params();
  return fmt::format("{} {}{}", layer.class_name(), batch_shape_text(output),
                     parameters ? fmt::format(", {} params", parameters) : "");
}

}  // namespace

std::string Model::to_svg() const {
  Picture picture;
  std::vector<size_t> boxes;
  if (graph()) {
    for (const ModelGraph::Call& call : graph()->calls)
      boxes.push_back(picture.add(call.layer->name(), detail_of(*call.layer, call.outputs[0].shape), call.depth));
    for (size_t i = 0; i < boxes.size(); ++i)
      for (const ModelGraph::Place& input : graph()->calls[i].inputs)
        picture.connect(boxes[static_cast<size_t>(input.call)], boxes[i]);
  } else {
    for (const auto& layer : layers()) {
      boxes.push_back(picture.add(
          layer->name(),
          layer->built() ? detail_of(*layer, output_shape_of(*layer, layer->input_shape())) : layer->class_name(),
          static_cast<int>(boxes.size())));
      if (boxes.size() > 1) picture.connect(boxes[boxes.size() - 2], boxes.back());
    }
    if (boxes.empty()) picture.add(name(), class_name(), 0);
  }
  return picture.svg(name());
}

void Model::save_svg(const std::string& path) const { write_file(path, to_svg()); }

}  // namespace isochron
