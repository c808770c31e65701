// NumPy's way of printing tensors, and comparing them.
#include <cmath>
#include <cstring>

#include "isochron/tensor/tensor.h"

namespace isochron {
namespace {

constexpr int64_t kSummarizeAbove = 1000;
constexpr int64_t kEdge = 3;

class Printer {
 public:
  explicit Printer(const Tensor& tensor) : shape_(tensor.shape()), values_(tensor.to_vector<double>()) {
    kind_ = tensor.dtype() == DType::boolean ? Kind::truth : is_floating(tensor.dtype()) ? Kind::real : Kind::whole;
    digits_ = tensor.dtype() == DType::float64 ? 8 : tensor.dtype() == DType::float32 ? 8 : 4;
    whole_ints_ = tensor.dtype() == DType::int64 ? tensor.to_vector<int64_t>() : std::vector<int64_t>();
    summarize_ = shape_.elements() > kSummarizeAbove;
    if (kind_ == Kind::real) choose_format();
    for_each_shown(0, 0, [&](int64_t i) { width_ = std::max(width_, text(i).size()); });
  }
  std::string print() const {
    if (shape_.rank() == 0) return text(0);
    return print_axis(0, 0);
  }

 private:
  enum class Kind { truth, whole, real };

  // Scientific when magnitudes are extreme; otherwise as many decimals as the widest shown element needs.
  void choose_format() {
    double largest = 0, smallest = INFINITY;
    for_each_shown(0, 0, [&](int64_t i) {
      const double x = std::abs(values_[static_cast<size_t>(i)]);
      if (!std::isfinite(x) || x == 0) return;
      largest = std::max(largest, x);
      smallest = std::min(smallest, x);
    });
    scientific_ = largest >= 1e8 || (largest > 0 && smallest < 1e-4) ||
                  (largest > 0 && largest / smallest > 1e3 && smallest < 1e-3);
    for_each_shown(0, 0, [&](int64_t i) {
      const double x = values_[static_cast<size_t>(i)];
      if (!std::isfinite(x)) return;
      std::string shown = shortest(x);
      const size_t dot = shown.find('.');
      if (dot != std::string::npos) decimals_ = std::max(decimals_, static_cast<int>(shown.size() - dot - 1));
    });
    decimals_ = std::min(decimals_, digits_);
  }
  std::string shortest(double x) const {
    std::string shown = scientific_ ? fmt::format("{:.{}e}", x, digits_) : fmt::format("{:.{}f}", x, digits_);
    if (scientific_) shown = shown.substr(0, shown.find('e'));
    // float32 has about 7 digits to show; fewer decimals for larger numbers.
    const size_t dot = shown.find('.');
    while (shown.size() > dot + 1 && shown.back() == '0') shown.pop_back();
    return shown;
  }
  std::string text(int64_t i) const {
    const double x = values_[static_cast<size_t>(i)];
    switch (kind_) {
      case Kind::truth:
        return x != 0 ? "true" : "false";
      case Kind::whole:
        return whole_ints_.empty() ? fmt::format("{:.0f}", x) : fmt::format("{}", whole_ints_[static_cast<size_t>(i)]);
      case Kind::real:
        break;
    }
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    if (scientific_) return fmt::format("{:.{}e}", x, std::max(decimals_, 0));
    // Trailing zeros give way to blanks, so that points stand below each other.
    std::string shown = fmt::format("{:.{}f}", x, decimals_);
    if (decimals_ == 0) return shown + '.';
    for (size_t end = shown.size(); shown[end - 1] == '0'; --end) shown[end - 1] = ' ';
    if (shape_.rank() == 0) shown.resize(shown.find_last_not_of(' ') + 1);
    return shown;
  }
  template <class F>
  void for_each_shown(int axis, int64_t base, F&& f) const {
    if (axis == shape_.rank()) return f(base);
    for_each_index(axis, [&](int64_t i) {
      if (i >= 0) for_each_shown(axis + 1, base * shape_[axis] + i, f);
    });
  }
  // Indices shown along an axis; -1 stands for the dots between the edges.
  template <class F>
  void for_each_index(int axis, F&& f) const {
    const int64_t extent = shape_[axis];
    const bool cut = summarize_ && extent > 2 * kEdge;
    for (int64_t i = 0; i < extent; ++i) {
      if (cut && i == kEdge) {
        f(-1);
        i = extent - kEdge;
      }
      f(i);
    }
  }
  std::string print_axis(int axis, int64_t base) const {
    std::string out = "[";
    bool first = true;
    const bool last_axis = axis == shape_.rank() - 1;
    for_each_index(axis, [&](int64_t i) {
      if (!first)
        out += last_axis ? " "
                         : std::string(static_cast<size_t>(shape_.rank() - 1 - axis), '\n') +
                               std::string(static_cast<size_t>(axis + 1), ' ');
      first = false;
      if (i < 0) {
        out += "...";
      } else if (last_axis) {
        const std::string shown = text(base * shape_[axis] + i);
        out += std::string(width_ - shown.size(), ' ') + shown;
      } else {
        out += print_axis(axis + 1, base * shape_[axis] + i);
      }
    });
    return out + "]";
  }

  Shape shape_;
  std::vector<double> values_;
  std::vector<int64_t> whole_ints_;
  Kind kind_;
  int digits_ = 8, decimals_ = 0;
  bool scientific_ = false, summarize_ = false;
  size_t width_ = 0;
};

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "<undefined tensor>";
  return Printer(tensor).print();
}

bool allclose(const Tensor& actual, const Tensor& expected, double rtol, double atol) {
  if (actual.spec() != expected.spec()) return false;
  const std::vector<double> a = actual.to_vector<double>(), b = expected.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return false;
    if (std::isnan(a[i]) || a[i] == b[i]) continue;
    if (!(std::abs(a[i] - b[i]) <= atol + rtol * std::abs(b[i]))) return false;
  }
  return true;
}

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.spec() == b.spec() && std::memcmp(a.raw_data(), b.raw_data(), static_cast<size_t>(a.spec().bytes())) == 0;
}

}  // namespace isochron
