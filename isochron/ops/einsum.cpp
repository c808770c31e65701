// einsum: each pair of operands becomes one batched matrix product, (batch, m, k) x (batch, k, n).
#include <algorithm>
#include <map>

#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/op.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

[[maybe_unused]] const bool kEinsumComposites = register_composites({
    {"einsum", "Sums of products by index letters."},
});

// A tensor whose axes have letters.
struct Term {
  Tensor tensor;
  std::string letters;
};

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

// The axes an ellipsis stands for get digits, which no equation has: 9 is the last of them.
std::string expanded(const std::string& equation, std::string term, int hidden) {
  const size_t dots = term.find("...");
  if (dots == std::string::npos) return term;
  std::string axes;
  for (int i = hidden; i > 0; --i) axes += static_cast<char>('9' + 1 - i);
  term.replace(dots, 3, axes);
  if (term.find('.') != std::string::npos) fail<ValueError>("einsum", "more than one ellipsis in \"{}\"", equation);
  return term;
}

void check_letters(const std::string& equation, std::string term) {
  if (const size_t dots = term.find("..."); dots != std::string::npos) term.erase(dots, 3);
  for (char c : term)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
      fail<ValueError>("einsum", "indices are letters, got '{}' in \"{}\"", c, equation);
}

Equation parse(const std::string& equation, const std::vector<Tensor>& operands) {
  std::string text = equation;
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  Equation parsed;
  for (size_t at = 0; at <= left.size();) {
    const size_t comma = std::min(left.find(',', at), left.size());
    parsed.inputs.push_back(left.substr(at, comma - at));
    at = comma + 1;
  }
  if (parsed.inputs.size() != operands.size())
    fail<ValueError>("einsum", "\"{}\" has {} operands, got {}", equation, parsed.inputs.size(), operands.size());
  int hidden = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string& term = parsed.inputs[i];
    const bool dots = term.find("...") != std::string::npos;
    const int own = operands[i].rank() - static_cast<int>(term.size()) + (dots ? 3 : 0);
    if (own < 0 || (!dots && own != 0))
      fail<ShapeError>("einsum", "\"{}\" in \"{}\" does not fit shape {}", term, equation, operands[i].shape());
    check_letters(equation, term);
    term = expanded(equation, term, own);
    if (dots) hidden = std::max(hidden, own);
  }
  if (arrow != std::string::npos) {
    parsed.output = text.substr(arrow + 2);
    check_letters(equation, parsed.output);
    parsed.output = expanded(equation, parsed.output, hidden);
  } else {
    // Without an arrow: the ellipsis, then the letters that stand once, in alphabetical order.
    std::map<char, int> seen;
    const std::string dots = hidden ? expanded(equation, "...", hidden) : "";
    for (const std::string& term : parsed.inputs)
      for (char c : term) ++seen[c];
    for (const auto& [c, count] : seen)
      if (count == 1 && dots.find(c) == std::string::npos) parsed.output += c;
    parsed.output = dots + parsed.output;
  }
  for (size_t i = 0; i < parsed.output.size(); ++i) {
    const char c = parsed.output[i];
    if (parsed.output.find(c, i + 1) != std::string::npos)
      fail<ValueError>("einsum", "index '{}' stands twice in the output of \"{}\"", c, equation);
    if (std::none_of(parsed.inputs.begin(), parsed.inputs.end(),
                     [&](const std::string& term) { return term.find(c) != std::string::npos; }))
      fail<ValueError>("einsum", "output index '{}' is in no operand of \"{}\"", c, equation);
  }
  return parsed;
}

std::string index_text(char c) {
  return c >= '0' && c <= '9' ? std::string("an axis of \"...\"") : fmt::format("index '{}'", c);
}

bool contains(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }

Term ordered(const Term& term, const std::string& letters) {
  std::vector<int64_t> order;
  for (char c : letters) order.push_back(static_cast<int64_t>(term.letters.find(c)));
  return {transpose(term.tensor, order), letters};
}

// A letter that stands twice in one term names a diagonal: every (n + 1)-th element of the two axes run together.
Term with_diagonals(Term term) {
  for (size_t i = 0; i < term.letters.size(); ++i) {
    const size_t j = term.letters.find(term.letters[i], i + 1);
    if (j == std::string::npos) continue;
    const int64_t n = term.tensor.dim(static_cast<int>(i));
    if (term.tensor.dim(static_cast<int>(j)) != n)
      fail<ShapeError>("einsum", "index '{}' is {} and {} in shape {}", term.letters[i], n,
                       term.tensor.dim(static_cast<int>(j)), term.tensor.shape());
    std::vector<int64_t> order;
    std::string letters;
    for (size_t k = 0; k < term.letters.size(); ++k)
      if (k != i && k != j) {
        order.push_back(static_cast<int64_t>(k));
        letters += term.letters[k];
      }
    order.insert(order.end(), {static_cast<int64_t>(i), static_cast<int64_t>(j)});
    const Tensor moved = transpose(term.tensor, order);
    const int64_t rest = moved.shape().elements(0, moved.rank() - 2);
    const Tensor diagonal = slice(reshape(moved, {rest, n * n}), {0, 0}, {kEnd, kEnd}, {1, n + 1});
    std::vector<int64_t> dims(moved.shape().begin(), moved.shape().end() - 2);
    dims.push_back(n);
    return with_diagonals({reshape(diagonal, dims), letters + term.letters[i]});
  }
  return term;
}

// Sums over the letters nobody asks for any more.
Term without_idle(const Term& term, const std::string& wanted) {
  std::vector<int64_t> axes;
  std::string letters;
  for (size_t i = 0; i < term.letters.size(); ++i)
    if (contains(wanted, term.letters[i]))
      letters += term.letters[i];
    else
      axes.push_back(static_cast<int64_t>(i));
  return axes.empty() ? term : Term{sum(term.tensor, axes), letters};
}

// One product; `wanted` are the letters used later.
Term contract(Term a, Term b, const std::string& wanted) {
  a = without_idle(a, wanted + b.letters);
  b = without_idle(b, wanted + a.letters);
  std::string batch, m, n, k;
  std::map<char, int64_t> extent;
  for (size_t i = 0; i < a.letters.size(); ++i) {
    const char c = a.letters[i];
    extent[c] = a.tensor.dim(static_cast<int>(i));
    (!contains(b.letters, c) ? m : contains(wanted, c) ? batch : k) += c;
  }
  for (size_t i = 0; i < b.letters.size(); ++i) {
    const char c = b.letters[i];
    const int64_t own = b.tensor.dim(static_cast<int>(i));
    if (!contains(a.letters, c)) n += c;
    const int64_t other = extent.emplace(c, own).first->second;
    if (other != own && !(contains(batch, c) && (other == 1 || own == 1)))
      fail<ShapeError>("einsum", "{} is {} and {} in the operands' shapes {} and {}", index_text(c), other, own,
                       a.tensor.shape(), b.tensor.shape());
    extent[c] = std::max(other, own);
  }
  const auto size = [&](const std::string& letters) {
    int64_t product = 1;
    for (char c : letters) product *= extent[c];
    return product;
  };
  const auto dims = [&](const std::string& letters) {
    std::vector<int64_t> list;
    for (char c : letters) list.push_back(extent[c]);
    return list;
  };
  // (batch, rows, columns), or (batch, columns, rows) where that keeps the term's last axis last: its runs are copied
  // then, not its elements, or nothing at all.
  struct Matrix {
    Tensor tensor;
    bool transposed;
  };
  const auto matrix = [&](const Term& term, const std::string& rows, const std::string& columns) -> Matrix {
    const bool transposed = !term.letters.empty() && contains(rows, term.letters.back());
    const std::string &down = transposed ? columns : rows, &across = transposed ? rows : columns;
    const Tensor t = broadcast_to(ordered(term, batch + down + across).tensor, Shape(dims(batch + down + across)));
    return {reshape(t, {size(batch), size(down), size(across)}), transposed};
  };
  const Matrix x = matrix(a, m, k), y = matrix(b, k, n);
  const Tensor product = matmul(x.tensor, y.tensor, {.transpose_a = x.transposed, .transpose_b = y.transposed});
  return {reshape(product, dims(batch + m + n)), batch + m + n};
}

}  // namespace

Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands) {
  if (operands.empty()) fail<ValueError>("einsum", "needs at least one operand for \"{}\"", equation);
  const Equation parsed = parse(equation, operands);
  DType dtype = operands[0].dtype();
  for (const Tensor& operand : operands) dtype = promote(dtype, operand.dtype());
  Term result;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Term next = with_diagonals({cast(operands[i], dtype), parsed.inputs[i]});
    if (i == 0) {
      result = next;
      continue;
    }
    std::string wanted = parsed.output;
    for (size_t j = i + 1; j < operands.size(); ++j) wanted += parsed.inputs[j];
    result = contract(result, next, wanted);
  }
  result = without_idle(result, parsed.output);
  return ordered(result, parsed.output).tensor;
}

}  // namespace isochron
