// NumPy's way of printing tensors, and comparing them.
#include <charconv>
#include <cmath>
#include <cstring>

#include "isochron/tensor/tensor.h"

namespace isochron {
namespace {

constexpr int64_t kSummarizeAbove = 1000;
constexpr int64_t kEdge = 3;
constexpr int kPrecision = 8;  // digits after the point, at most
constexpr size_t kLineWidth = 75;

// The shortest decimals that read back as the same value of the dtype, in scientific form.
std::string shortest_scientific(double x, DType dtype) {
  char buffer[64];
  const auto chars = [&](auto value, auto... precision) {
    const auto done = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific, precision...);
    return std::string(buffer, done.ptr);
  };
  if (dtype == DType::float64) return chars(x);
  const auto narrow = static_cast<float>(x);
  if (dtype == DType::float32) return chars(narrow);
  for (int digits = 0;; ++digits) {
    std::string text = chars(narrow, digits);
    const float back = std::strtof(text.c_str(), nullptr);
    const bool same = dtype == DType::float16 ? static_cast<float>(float16(back)) == narrow
                                              : static_cast<float>(bfloat16(back)) == narrow;
    if (same) return text;
  }
}

void trim_zeros(std::string& text) {
  while (text.back() == '0') text.pop_back();
}

// "1.25e+10" in parts.
struct Scientific {
  std::string mantissa;  // "1.25", always with a point
  int exponent;
};
Scientific scientific(double x, DType dtype) {
  std::string text = shortest_scientific(x, dtype);
  if (text.find('e') - text.find('.') > kPrecision + 1 && text.find('.') != std::string::npos)
    text = fmt::format("{:.{}e}", x, kPrecision);
  const size_t e = text.find('e');
  Scientific parts{text.substr(0, e), std::stoi(text.substr(e + 1))};
  if (parts.mantissa.find('.') == std::string::npos) parts.mantissa += '.';
  trim_zeros(parts.mantissa);
  return parts;
}

// "12.25", "3.": the shortest form, cut to kPrecision decimals.
std::string positional(double x, DType dtype, int most = kPrecision) {
  const std::string shortest = shortest_scientific(x, dtype);
  const size_t e = shortest.find('e'), dot = shortest.find('.');
  const int digits = dot == std::string::npos ? 0 : static_cast<int>(e - dot - 1);
  const int decimals = std::max(0, digits - std::stoi(shortest.substr(e + 1)));
  // Read back, the shortest digits are the ones to show; rounded where there are too many.
  const double shown = decimals <= most ? std::strtod(shortest.c_str(), nullptr) : x;
  std::string text = fmt::format("{:.{}f}", shown, std::min(decimals, most));
  if (text.find('.') == std::string::npos) text += '.';
  trim_zeros(text);
  return text;
}

class Printer {
 public:
  explicit Printer(const Tensor& tensor)
      : shape_(tensor.shape()), dtype_(tensor.dtype()), values_(tensor.to_vector<double>()) {
    if (dtype_ == DType::int64) whole_ = tensor.to_vector<int64_t>();
    summarize_ = shape_.elements() > kSummarizeAbove;
    if (is_floating(dtype_)) choose_format();
    if (dtype_ == DType::boolean && shape_.rank() > 0) width_ = std::strlen("False");
    for_each_shown(0, 0, [&](int64_t i) { width_ = std::max(width_, text(i).size()); });
  }
  std::string print() const {
    if (shape_.elements() == 0) return "[]";
    if (shape_.rank() == 0) return is_floating(dtype_) ? scalar_text(values_[0]) : text(0);
    return print_axis(0, 0, 1, kLineWidth);
  }

 private:
  // Scientific when magnitudes are extreme or far apart.
  void choose_format() {
    double largest = 0, smallest = INFINITY;
    for_each_shown(0, 0, [&](int64_t i) {
      const double x = std::abs(values_[static_cast<size_t>(i)]);
      if (!std::isfinite(x) || x == 0) return;
      largest = std::max(largest, x);
      smallest = std::min(smallest, x);
    });
    scientific_ = largest >= 1e8 || (largest > 0 && (smallest < 1e-4 || largest / smallest > 1000));
    for_each_shown(0, 0, [&](int64_t i) {
      const double x = values_[static_cast<size_t>(i)];
      if (!std::isfinite(x)) return;
      const Scientific parts = scientific_ ? scientific(x, dtype_) : Scientific{positional(x, dtype_), 0};
      decimals_ = std::max(decimals_, parts.mantissa.size() - parts.mantissa.find('.') - 1);
      exponent_digits_ = std::max(exponent_digits_, std::to_string(std::abs(parts.exponent)).size());
    });
  }
  std::string text(int64_t i) const {
    const double x = values_[static_cast<size_t>(i)];
    if (dtype_ == DType::boolean) return x != 0 ? "True" : "False";
    if (!whole_.empty()) return fmt::format("{}", whole_[static_cast<size_t>(i)]);
    if (!is_floating(dtype_)) return fmt::format("{:.0f}", x);
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    if (!scientific_) {
      // Points stand below each other: blanks take the place of decimals that are not needed.
      std::string shown = positional(x, dtype_);
      return shown + std::string(decimals_ - (shown.size() - shown.find('.') - 1), ' ');
    }
    Scientific parts = scientific(x, dtype_);
    // Digits beyond the shortest are those of the value itself, which the smallest numbers do not round off to zeros.
    if (decimals_ > 0 && parts.mantissa.size() - parts.mantissa.find('.') - 1 < decimals_) {
      const std::string longer = fmt::format("{:.{}e}", x, decimals_);
      const size_t e = longer.find('e');
      parts = {longer.substr(0, e), std::stoi(longer.substr(e + 1))};
    }
    return fmt::format("{}e{}{:0{}}", parts.mantissa, parts.exponent < 0 ? '-' : '+', std::abs(parts.exponent),
                       exponent_digits_);
  }
  // A number by itself has no others to line up with: all its digits, and "0.0" instead of "0.".
  std::string scalar_text(double x) const {
    if (!std::isfinite(x)) return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
    const double size = std::abs(x);
    const double large = dtype_ == DType::float64 ? 1e16 : dtype_ == DType::float32 ? 1e6 : 1e3;
    if (size != 0 && (size < 1e-4 || size >= large)) return shortest_scientific(x, dtype_);
    constexpr int kAllDecimals = 60;
    const std::string shown = positional(x, dtype_, kAllDecimals);
    return shown.back() == '.' ? shown + '0' : shown;
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
  // Each axis costs one column on the left and, for its bracket, one on the right.
  std::string print_axis(int axis, int64_t base, size_t indent, size_t width) const {
    const std::string margin(indent, ' ');
    const bool last_axis = axis == shape_.rank() - 1;
    std::string out, line = margin;
    bool first = true;
    for_each_index(axis, [&](int64_t i) {
      const int64_t at = base * shape_[axis] + i;
      if (!last_axis) {
        if (!first) out += std::string(static_cast<size_t>(shape_.rank() - 1 - axis), '\n');
        out += margin + (i < 0 ? "..." : print_axis(axis + 1, at, indent + 1, width - 1));
      } else {
        std::string word = i < 0 ? "..." : text(at);
        if (i >= 0) word.insert(0, width_ - word.size(), ' ');
        if (line.size() > indent && line.size() + 1 + word.size() > width - 1) {
          out += line + '\n';
          line = margin + word;
        } else {
          line += (first ? "" : " ") + word;
        }
      }
      first = false;
    });
    if (last_axis) out += line;
    return '[' + out.substr(indent) + ']';
  }

  Shape shape_;
  DType dtype_;
  std::vector<double> values_;
  std::vector<int64_t> whole_;
  bool scientific_ = false, summarize_ = false;
  size_t decimals_ = 0, exponent_digits_ = 2, width_ = 0;
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
