#include "isochron/kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "isochron/kernels/attention/score_rows.h"
#include "isochron/kernels/gemm/product.h"
#include "isochron/kernels/share.h"

namespace isochron::kernels {
namespace {

constexpr int64_t kQueries = 64, kKeys = 128;

int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Distance of rows in scratch: an odd number of cache lines, so that many rows of a column lie in different sets.
template <class T>
int64_t row_step(int64_t width) {
  constexpr int64_t kLine = 64 / sizeof(T);
  return ((width + kLine - 1) / kLine | 1) * kLine;
}

// C (m,n) = op(A) op(B), or added to C.
template <class T>
Product<T> product(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, bool trans_a, const T* b, int64_t ldb,
                   bool trans_b, T* c, int64_t ldc, bool accumulate) {
  return {.m = m,
          .n = n,
          .k = k,
          .a = a,
          .lda = lda,
          .trans_a = trans_a,
          .b = b,
          .ldb = ldb,
          .trans_b = trans_b,
          .c = c,
          .ldc = ldc,
          .bias = nullptr,
          .pre_activation = nullptr,
          .activation = nullptr,
          .immediates = {0, 0},
          .accumulate = accumulate};
}

// One block of queries against one block of keys, of one head. Heads lie between each other in memory; what a product
// reads along columns is gathered first.
template <class T>
class Head {
 public:
  Head(const AttentionShape& shape, const AttentionArgs<T>& args, int64_t item, void* scratch) : s_(shape) {
    const int64_t b = item / s_.heads, h = item % s_.heads;
    q_step = s_.heads * s_.features;
    v_step = s_.heads * s_.values;
    q_at = b * s_.queries * q_step + h * s_.features;
    k_at = b * s_.keys * q_step + h * s_.features;
    v_at = b * s_.keys * v_step + h * s_.values;
    y_at = b * s_.queries * v_step + h * s_.values;
    row_at = item * s_.queries;
    mask = args.mask ? args.mask + b * s_.mask_batch + h * s_.mask_head : nullptr;
    step = score_step(s_);
    feature_step = row_step<T>(s_.features);
    value_step = row_step<T>(s_.values);
    kept = args.probabilities ? args.probabilities + item * s_.queries * s_.kept : nullptr;
    scores = static_cast<T*>(scratch);
    gradients = scores + kQueries * step;
    largest = gradients + kQueries * step;
    total = largest + kQueries;
    values = total + kQueries;
    features = values + kKeys * value_step;
    inner = features + kKeys * feature_step;
  }
  static int64_t score_step(const AttentionShape& s) { return row_step<T>(std::min(s.keys, kKeys)); }
  static int64_t elements(const AttentionShape& s) {
    return 2 * kQueries * score_step(s) + 2 * kQueries + kKeys * (row_step<T>(s.values) + row_step<T>(s.features));
  }

  // Columns of block k0 that row i may look at when it looks back only.
  int64_t known(int64_t i, int64_t k0, int64_t keys) const {
    return s_.causal ? std::clamp<int64_t>(i + 1 - k0, 0, keys) : keys;
  }
  bool beyond(int64_t last_query, int64_t k0) const { return s_.causal && k0 > last_query; }
  const bool* seen(int64_t i, int64_t k0) const { return mask ? mask + i * s_.mask_query + k0 : nullptr; }

  void score(const AttentionArgs<T>& a, int64_t q0, int64_t queries, int64_t k0, int64_t keys, T* to,
             int64_t to_step) const {
    run_product(product<T>(queries, keys, s_.features, a.q + q_at + q0 * q_step, q_step, false,
                           a.k + k_at + k0 * q_step, q_step, true, to, to_step, false),
                inner);
  }
  const T* gather_values(const T* from, int64_t rows) const {
    return gather(from, v_step, rows, s_.values, values, value_step);
  }
  const T* gather_features(const T* from, int64_t rows) const {
    return gather(from, q_step, rows, s_.features, features, feature_step);
  }

  int64_t q_step, v_step, q_at, k_at, v_at, y_at, row_at;
  int64_t step, feature_step, value_step;
  const bool* mask;
  T *scores, *gradients, *largest, *total, *values, *features;
  T* kept;  // probabilities of this head, or null
  void* inner;

 private:
  static const T* gather(const T* from, int64_t from_step, int64_t rows, int64_t width, T* to, int64_t to_step) {
    for (int64_t r = 0; r < rows; ++r) std::copy_n(from + r * from_step, width, to + r * to_step);
    return to;
  }
  const AttentionShape& s_;
};

// A block of queries against all keys, whose probabilities are kept.
template <class T>
void forward_kept(const AttentionShape& s, const AttentionArgs<T>& a, const Head<T>& head, int64_t q0) {
  const ScoreRows<T>& rows = score_rows<T>();
  const int64_t queries = std::min(kQueries, s.queries - q0);
  T* y = a.y + head.y_at + q0 * head.v_step;
  T* p = head.kept + q0 * s.kept;
  T* log_sum = a.log_sum + head.row_at + q0;
  head.score(a, q0, queries, 0, s.keys, p, s.kept);
  for (int64_t r = 0; r < queries; ++r)
    log_sum[r] = rows.softmax(p + r * s.kept, s.keys, head.known(q0 + r, 0, s.keys), static_cast<T>(s.scale),
                              head.seen(q0 + r, 0));
  const T* v = head.gather_values(a.v + head.v_at, s.keys);
  run_product(product<T>(queries, s.values, s.keys, p, s.kept, false, v, head.value_step, false, y, head.v_step, false),
              head.inner);
  // A row that saw nothing has probabilities of zero when gradients are computed.
  for (int64_t r = 0; r < queries; ++r)
    if (log_sum[r] == std::numeric_limits<T>::infinity()) std::fill_n(p + r * s.kept, s.keys, T(0));
}

template <class T>
void forward_block(const AttentionShape& s, const AttentionArgs<T>& a, const Head<T>& head, int64_t q0) {
  const ScoreRows<T>& rows = score_rows<T>();
  const int64_t queries = std::min(kQueries, s.queries - q0), last = q0 + queries - 1;
  T* y = a.y + head.y_at + q0 * head.v_step;
  std::fill_n(head.largest, queries, kUnseen<T>);
  std::fill_n(head.total, queries, T(0));
  for (int64_t k0 = 0; k0 < s.keys && !head.beyond(last, k0); k0 += kKeys) {
    const int64_t keys = std::min(kKeys, s.keys - k0);
    head.score(a, q0, queries, k0, keys, head.scores, head.step);
    for (int64_t r = 0; r < queries; ++r) {
      T* row = head.scores + r * head.step;
      const T most = std::max(head.largest[r], rows.scale(row, keys, head.known(q0 + r, k0, keys),
                                                          static_cast<T>(s.scale), head.seen(q0 + r, k0)));
      const T sum = rows.exponentials(row, keys, most);
      if (k0 > 0) {
        const T fade = std::exp(head.largest[r] - most);
        head.total[r] *= fade;
        if (fade != 1) rows.multiply(y + r * head.v_step, s.values, fade);
      }
      head.total[r] += sum;
      head.largest[r] = most;
    }
    const T* v = head.gather_values(a.v + head.v_at + k0 * head.v_step, keys);
    run_product(product<T>(queries, s.values, keys, head.scores, head.step, false, v, head.value_step, false, y,
                           head.v_step, k0 > 0),
                head.inner);
  }
  for (int64_t r = 0; r < queries; ++r) {
    rows.multiply(y + r * head.v_step, s.values, 1 / head.total[r]);
    // A row that saw nothing is marked: its probabilities are taken for zero when gradients are computed.
    a.log_sum[head.row_at + q0 + r] =
        head.largest[r] <= kUnseen<T> ? std::numeric_limits<T>::infinity() : head.largest[r] + std::log(head.total[r]);
  }
}

// With P the probabilities and delta = sum(dy y) of each row: dV = P^T dY, dP = dY V^T, dS = scale P (dP - delta),
// dQ = dS K, dK = dS^T Q.
template <class T>
void backward_block(const AttentionShape& s, const AttentionArgs<T>& a, const Head<T>& head, int64_t q0) {
  const ScoreRows<T>& rows = score_rows<T>();
  const int64_t queries = std::min(kQueries, s.queries - q0), last = q0 + queries - 1;
  const T* dy = a.dy + head.y_at + q0 * head.v_step;
  const T* y = a.y + head.y_at + q0 * head.v_step;
  T* delta = head.total;
  const bool on_top = q0 > 0 || s.causal;  // looking back, the first queries leave out keys
  for (int64_t r = 0; r < queries; ++r) delta[r] = rows.dot(dy + r * head.v_step, y + r * head.v_step, s.values);
  for (int64_t k0 = 0; k0 < s.keys && !head.beyond(last, k0); k0 += kKeys) {
    const int64_t keys = std::min(kKeys, s.keys - k0);
    const T* v = a.v + head.v_at + k0 * head.v_step;
    T* p = head.kept ? head.kept + q0 * s.kept : head.scores;
    const int64_t p_step = head.kept ? s.kept : head.step;
    if (!head.kept) head.score(a, q0, queries, k0, keys, p, p_step);
    run_product(product<T>(queries, keys, s.values, dy, head.v_step, false, v, head.v_step, true, head.gradients,
                           head.step, false),
                head.inner);
    for (int64_t r = 0; r < queries; ++r)
      head.kept
          ? rows.kept_gradients(p + r * p_step, head.gradients + r * head.step, keys, static_cast<T>(s.scale), delta[r])
          : rows.gradients(p + r * p_step, head.gradients + r * head.step, keys, head.known(q0 + r, k0, keys),
                           static_cast<T>(s.scale), head.seen(q0 + r, k0), a.log_sum[head.row_at + q0 + r], delta[r]);
    run_product(product<T>(keys, s.values, queries, p, p_step, true, head.gather_values(dy, queries), head.value_step,
                           false, a.dv + head.v_at + k0 * head.v_step, head.v_step, on_top),
                head.inner);
    const T* k = head.gather_features(a.k + head.k_at + k0 * head.q_step, keys);
    run_product(product<T>(queries, s.features, keys, head.gradients, head.step, false, k, head.feature_step, false,
                           a.dq + head.q_at + q0 * head.q_step, head.q_step, k0 > 0),
                head.inner);
    const T* q = head.gather_features(a.q + head.q_at + q0 * head.q_step, queries);
    run_product(product<T>(keys, s.features, queries, head.gradients, head.step, true, q, head.feature_step, false,
                           a.dk + head.k_at + k0 * head.q_step, head.q_step, on_top),
                head.inner);
  }
}

template <class T>
void clear_rows(T* x, int64_t count, int64_t step, int64_t width) {
  for (int64_t r = 0; r < count; ++r) std::fill_n(x + r * step, width, T(0));
}

}  // namespace

template <class T>
size_t attention_scratch_bytes(const AttentionShape& s, bool backward) {
  const auto sizes = [](int64_t extent, int64_t block) {
    std::vector<int64_t> out{std::min(extent, block)};
    if (extent > block && extent % block) out.push_back(extent % block);
    return out;
  };
  size_t inner = 0;
  const auto need = [&](int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
    for (const bool on_top : {false, true})
      inner = std::max(inner,
                       product_scratch_bytes(product<T>(m, n, k, nullptr, 0, ta, nullptr, 0, tb, nullptr, 0, on_top)));
  };
  for (const int64_t queries : sizes(s.queries, kQueries))
    for (const int64_t keys : sizes(s.keys, kKeys)) {
      need(queries, keys, s.features, false, true);
      need(queries, s.values, keys, false, false);
      if (!backward) continue;
      need(queries, keys, s.values, false, true);
      need(keys, s.values, queries, true, false);
      need(queries, s.features, keys, false, false);
      need(keys, s.features, queries, true, false);
    }
  return static_cast<size_t>(padded(Head<T>::elements(s) * static_cast<int64_t>(sizeof(T)))) + inner;
}

template <class T>
void attention(const AttentionShape& s, const AttentionArgs<T>& args, void* scratch, int thread, int threads) {
  if (s.keys == 0) {
    const Share mine = share_of(s.batch * s.queries, 1, thread, threads);
    const int64_t width = s.heads * s.values;
    std::fill_n(args.y + mine.begin * width, (mine.end - mine.begin) * width, T(0));
    return;
  }
  const int64_t blocks = (s.queries + kQueries - 1) / kQueries;
  const Share mine = share_of(s.batch * s.heads * blocks, 1, thread, threads);
  for (int64_t item = mine.begin; item < mine.end; ++item)
    (s.kept > 0 ? forward_kept<T> : forward_block<T>)(s, args, Head<T>(s, args, item / blocks, scratch),
                                                      item % blocks * kQueries);
}

template <class T>
void attention_backward(const AttentionShape& s, const AttentionArgs<T>& args, void* scratch, int thread, int threads) {
  const Share mine = share_of(s.batch * s.heads, 1, thread, threads);
  for (int64_t item = mine.begin; item < mine.end; ++item) {
    const Head<T> head(s, args, item, scratch);
    if (s.causal || s.queries == 0) {
      clear_rows(args.dk + head.k_at, s.keys, head.q_step, s.features);
      clear_rows(args.dv + head.v_at, s.keys, head.v_step, s.values);
    }
    if (s.keys == 0) clear_rows(args.dq + head.q_at, s.queries, head.q_step, s.features);
    for (int64_t q0 = 0; q0 < s.queries; q0 += kQueries) backward_block(s, args, head, q0);
  }
}

template size_t attention_scratch_bytes<float>(const AttentionShape&, bool);
template size_t attention_scratch_bytes<double>(const AttentionShape&, bool);
template void attention<float>(const AttentionShape&, const AttentionArgs<float>&, void*, int, int);
template void attention<double>(const AttentionShape&, const AttentionArgs<double>&, void*, int, int);
template void attention_backward<float>(const AttentionShape&, const AttentionArgs<float>&, void*, int, int);
template void attention_backward<double>(const AttentionShape&, const AttentionArgs<double>&, void*, int, int);

}  // namespace isochron::kernels
