#include "isochron/kernels/recurrent/cells.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/recurrent/cells.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "isochron/kernels/tile/exponential-inl.h"
#include "isochron/kernels/tile/vector_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {

template <class T>
struct Cells {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using Block = CellBlock<T>;

  static HWY_INLINE V one() { return hn::Set(D(), T(1)); }
  static HWY_INLINE V sigmoid(V x) {
    if constexpr (sizeof(T) == 4) {
      return vector_sigmoid(D(), x);
    } else {
      return each_lane(D(), x, [](double v) { return 1 / (1 + std::exp(-v)); });
    }
  }
  static HWY_INLINE V tangent(V x) {
    if constexpr (sizeof(T) == 4) {
      return vector_tanh(D(), x);
    } else {
      return each_lane(D(), x, [](double v) { return std::tanh(v); });
    }
  }
  // Derivatives of the two by their results.
  static HWY_INLINE V sigmoid_slope(V y) { return hn::NegMulAdd(y, y, y); }
  static HWY_INLINE V tanh_slope(V y) { return hn::NegMulAdd(y, y, one()); }

  // f(offset in (rows, units), offset in (rows, gates * units), row, column, part) for all elements of rows in use;
  // skip(row) for the others.
  template <int gates, class F, class S>
  static HWY_INLINE void each(const Block& b, F f, S skip) {
    const D d;
    for (int64_t r = 0; r < b.rows; ++r) {
      if (b.mask && !b.mask[r]) {
        skip(r);
        continue;
      }
      for_vectors(d, b.width,
                  [&](int64_t i, auto part) HWY_ATTR { f(r * b.units + i, r * gates * b.units + i, r, i, part); });
    }
  }
  // A masked step: the state stays.
  template <int gates>
  static void keep(const Block& b, int64_t r) {
    const int64_t at = r * b.units;
    std::copy_n(b.h_prev + at, b.width, b.h + at);
    if (gates == 4) std::copy_n(b.c_prev + at, b.width, b.c + at);
    for (int g = 0; gates > 1 && g < gates; ++g) std::fill_n(b.gates + (r * gates + g) * b.units, b.width, T(0));
    if (gates == 3) std::fill_n(b.recurrent + at, b.width, T(0));
  }
  // Its gradient: everything goes to the step before, nothing to the gates.
  template <int gates>
  static void pass_on(const Block& b, int64_t r) {
    const int64_t at = r * b.units;
    for (int64_t i = 0; i < b.width; ++i) {
      b.dh[at + i] += b.dh_out[at + i];
      if (gates == 4) b.dc[at + i] += b.dc_out[at + i];
    }
    for (int g = 0; g < gates; ++g) {
      std::fill_n(b.dz + (r * gates + g) * b.units, b.width, T(0));
      if (gates == 3) std::fill_n(b.drecurrent + (r * gates + g) * b.units, b.width, T(0));
    }
  }

  static void lstm(const Block& b) {
    const D d;
    each<4>(
        b,
        [&](int64_t at, int64_t gate, int64_t r, int64_t col, auto part) HWY_ATTR {
          const T* s = b.sums + r * 4 * b.width + col;
          const auto sum = [&](int g) HWY_ATTR {
            return hn::Add(part.load(d, s + g * b.width), part.load(d, b.z + gate + g * b.units));
          };
          const V i = sigmoid(sum(0)), f = sigmoid(sum(1)), g = tangent(sum(2)), o = sigmoid(sum(3));
          const V c = hn::MulAdd(f, part.load(d, b.c_prev + at), hn::Mul(i, g));
          part.store(i, d, b.gates + gate);
          part.store(f, d, b.gates + gate + b.units);
          part.store(g, d, b.gates + gate + 2 * b.units);
          part.store(o, d, b.gates + gate + 3 * b.units);
          part.store(c, d, b.c + at);
          part.store(hn::Mul(o, tangent(c)), d, b.h + at);
        },
        [&](int64_t r) { keep<4>(b, r); });
  }

  static void lstm_backward(const Block& b) {
    const D d;
    each<4>(
        b,
        [&](int64_t at, int64_t gate, int64_t, int64_t, auto part) HWY_ATTR {
          const V i = part.load(d, b.gates + gate), f = part.load(d, b.gates + gate + b.units),
                  g = part.load(d, b.gates + gate + 2 * b.units), o = part.load(d, b.gates + gate + 3 * b.units);
          const V t = tangent(part.load(d, b.c + at));
          const V dh = hn::Add(part.load(d, b.dh + at), part.load(d, b.dh_out + at));
          V dc = hn::Add(part.load(d, b.dc + at), part.load(d, b.dc_out + at));
          dc = hn::MulAdd(hn::Mul(dh, o), tanh_slope(t), dc);
          part.store(hn::Mul(hn::Mul(dc, g), sigmoid_slope(i)), d, b.dz + gate);
          part.store(hn::Mul(hn::Mul(dc, part.load(d, b.c_prev + at)), sigmoid_slope(f)), d, b.dz + gate + b.units);
          part.store(hn::Mul(hn::Mul(dc, i), tanh_slope(g)), d, b.dz + gate + 2 * b.units);
          part.store(hn::Mul(hn::Mul(dh, t), sigmoid_slope(o)), d, b.dz + gate + 3 * b.units);
          part.store(hn::Mul(dc, f), d, b.dc + at);
          part.store(hn::Zero(d), d, b.dh + at);
        },
        [&](int64_t r) { pass_on<4>(b, r); });
  }

  static void gru(const Block& b) {
    const D d;
    each<3>(
        b,
        [&](int64_t at, int64_t gate, int64_t row, int64_t col, auto part) HWY_ATTR {
          const T* s = b.sums + row * 3 * b.width + col;
          const auto recurrent = [&](int g) HWY_ATTR {
            return hn::Add(part.load(d, s + g * b.width), part.load(d, b.bias + col + g * b.units));
          };
          const auto input = [&](int g) HWY_ATTR { return part.load(d, b.z + gate + g * b.units); };
          const V z = sigmoid(hn::Add(recurrent(0), input(0))), r = sigmoid(hn::Add(recurrent(1), input(1)));
          const V back = recurrent(2), n = tangent(hn::MulAdd(r, back, input(2)));
          part.store(z, d, b.gates + gate);
          part.store(r, d, b.gates + gate + b.units);
          part.store(n, d, b.gates + gate + 2 * b.units);
          part.store(back, d, b.recurrent + at);
          part.store(hn::MulAdd(z, hn::Sub(part.load(d, b.h_prev + at), n), n), d, b.h + at);
        },
        [&](int64_t r) { keep<3>(b, r); });
  }

  static void gru_backward(const Block& b) {
    const D d;
    each<3>(
        b,
        [&](int64_t at, int64_t gate, int64_t, int64_t, auto part) HWY_ATTR {
          const V z = part.load(d, b.gates + gate), r = part.load(d, b.gates + gate + b.units),
                  n = part.load(d, b.gates + gate + 2 * b.units);
          const V dh = hn::Add(part.load(d, b.dh + at), part.load(d, b.dh_out + at));
          const V dz = hn::Mul(hn::Mul(dh, hn::Sub(part.load(d, b.h_prev + at), n)), sigmoid_slope(z));
          const V dn = hn::Mul(hn::Mul(dh, hn::Sub(one(), z)), tanh_slope(n));
          const V dr = hn::Mul(hn::Mul(dn, part.load(d, b.recurrent + at)), sigmoid_slope(r));
          part.store(dz, d, b.dz + gate);
          part.store(dr, d, b.dz + gate + b.units);
          part.store(dn, d, b.dz + gate + 2 * b.units);
          part.store(dz, d, b.drecurrent + gate);
          part.store(dr, d, b.drecurrent + gate + b.units);
          part.store(hn::Mul(dn, r), d, b.drecurrent + gate + 2 * b.units);
          part.store(hn::Mul(dh, z), d, b.dh + at);
        },
        [&](int64_t r) { pass_on<3>(b, r); });
  }

  template <bool relu>
  static void rnn(const Block& b) {
    const D d;
    each<1>(
        b,
        [&](int64_t at, int64_t, int64_t r, int64_t col, auto part) HWY_ATTR {
          const V sum = hn::Add(part.load(d, b.sums + r * b.width + col), part.load(d, b.z + at));
          part.store(relu ? hn::Max(sum, hn::Zero(d)) : tangent(sum), d, b.h + at);
        },
        [&](int64_t r) { keep<1>(b, r); });
  }

  template <bool relu>
  static void rnn_backward(const Block& b) {
    const D d;
    each<1>(
        b,
        [&](int64_t at, int64_t, int64_t, int64_t, auto part) HWY_ATTR {
          const V dh = hn::Add(part.load(d, b.dh + at), part.load(d, b.dh_out + at));
          const V h = part.load(d, b.h + at);
          part.store(relu ? hn::IfThenElseZero(hn::Gt(h, hn::Zero(d)), dh) : hn::Mul(dh, tanh_slope(h)), d, b.dz + at);
          part.store(hn::Zero(d), d, b.dh + at);
        },
        [&](int64_t r) { pass_on<1>(b, r); });
  }
};

template <class T>
const RecurrentCells<T>* find_cells() {
  using C = Cells<T>;
  // As wide as the widest register tile of a product.
  static const RecurrentCells<T> cells = {
      static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>())) * (HWY_TARGET == HWY_AVX3 ? 4 : 2),
      {C::lstm, C::gru, C::template rnn<false>, C::template rnn<true>},
      {C::lstm_backward, C::gru_backward, C::template rnn_backward<false>, C::template rnn_backward<true>}};
  return &cells;
}
const RecurrentCells<float>* find_cells_f32() { return find_cells<float>(); }
const RecurrentCells<double>* find_cells_f64() { return find_cells<double>(); }

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {

HWY_EXPORT(find_cells_f32);
HWY_EXPORT(find_cells_f64);

template <>
const RecurrentCells<float>& recurrent_cells<float>() {
  return *HWY_DYNAMIC_DISPATCH(find_cells_f32)();
}
template <>
const RecurrentCells<double>& recurrent_cells<double>() {
  return *HWY_DYNAMIC_DISPATCH(find_cells_f64)();
}

}  // namespace isochron::kernels
#endif
