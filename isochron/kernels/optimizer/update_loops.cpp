#include "isochron/kernels/optimizer/update_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/optimizer/update_loops.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "isochron/kernels/tile/vector_math-inl.h"
#include "isochron/kernels/tile/vector_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isochron {
namespace kernels {
namespace HWY_NAMESPACE {

// The constants of a call, one vector each.
template <class D>
struct Constants {
  using V = hn::Vec<D>;
  using T = hn::TFromD<D>;
  Constants(D d, const UpdateConstants<T>& k)
      : grad_scale(hn::Set(d, k.grad_scale)),
        decay_into_grad(hn::Set(d, k.decay_into_grad)),
        keep(hn::Set(d, k.keep)),
        beta1(hn::Set(d, k.beta1)),
        one_minus_beta1(hn::Set(d, k.one_minus_beta1)),
        beta2(hn::Set(d, k.beta2)),
        one_minus_beta2(hn::Set(d, k.one_minus_beta2)),
        inner_epsilon(hn::Set(d, k.inner_epsilon)),
        outer_epsilon(hn::Set(d, k.outer_epsilon)),
        state_grad(hn::Set(d, k.state_grad)),
        state_step(hn::Set(d, k.state_step)),
        grad_step(hn::Set(d, k.grad_step)),
        largest(hn::Set(d, hwy::HighestValue<T>())) {}
  V grad_scale, decay_into_grad, keep, beta1, one_minus_beta1, beta2, one_minus_beta2, inner_epsilon, outer_epsilon,
      state_grad, state_step, grad_step, largest;
};

template <class V>
HWY_INLINE V blend_in(V state, V value, V weight) {  // state + weight * (value - state)
  return hn::MulAdd(hn::Sub(value, state), weight, state);
}
template <class V>
HWY_INLINE V decayed(V state, V value, V decay, V weight) {
  return hn::MulAdd(value, weight, hn::Mul(state, decay));
}

// a / b to the last bit or two, b finite. Dividing is half of an Adam step, and the divider also takes the square root,
// so floats are divided by an estimate of 1 / b and one correction.
template <class D, class V>
HWY_INLINE V quotient(D d, V a, V b) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    (void)d;
    const V inverse = hn::ApproximateReciprocal(b);
    const V estimate = hn::Mul(a, inverse);
    return hn::MulAdd(hn::NegMulAdd(b, estimate, a), inverse, estimate);
  } else {
    return hn::Div(a, b);
  }
}
// The same for a b that may be infinite, and stay so: the correction of a / inf is not a number.
template <class D, class V>
HWY_INLINE V bounded_quotient(D d, V a, V b) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) b = hn::Min(hn::Set(d, 1e30f), b);  // so a b that is no number stays one
  return quotient(d, a, b);
}

// An update has two parts. `root` brings the states of kRootStates up to date and gives what the step is divided by or
// multiplied with; `step` moves p, and the states of kStepStates (bit i: s<i>).
struct NoRoot {
  static constexpr int kRootStates = 0;
};

struct Sgd : NoRoot {
  static constexpr int kStepStates = 0;
  template <class D, class V>
  static HWY_INLINE void step(D, const Constants<D>& k, V& p, V g, V, V&, V&, V&) {
    p = hn::MulAdd(k.grad_step, g, p);
  }
};

struct SgdMomentum : NoRoot {
  static constexpr int kStepStates = 1;
  template <class D, class V>
  static HWY_INLINE void step(D, const Constants<D>& k, V& p, V g, V, V& s0, V&, V&) {
    s0 = decayed(s0, g, k.beta1, k.state_grad);
    p = hn::MulAdd(k.grad_step, g, hn::MulAdd(k.state_step, s0, p));
  }
};

template <bool kMomentum, bool kCentered>
struct RmsProp {
  static constexpr int kRootStates = 1 | (kCentered ? 4 : 0), kStepStates = kMomentum ? 2 : 0;
  template <class D, class V>
  static HWY_INLINE V root(D, const Constants<D>& k, V g, V& s0, V&, V& s2) {
    s0 = decayed(s0, hn::Mul(g, g), k.beta2, k.one_minus_beta2);
    V variance = s0;
    if constexpr (kCentered) {
      s2 = decayed(s2, g, k.beta2, k.one_minus_beta2);
      variance = hn::NegMulAdd(s2, s2, variance);
    }
    return hn::Add(hn::Sqrt(hn::Add(variance, k.inner_epsilon)), k.outer_epsilon);
  }
  template <class D, class V>
  static HWY_INLINE void step(D d, const Constants<D>& k, V& p, V g, V root, V&, V& s1, V&) {
    V step = bounded_quotient(d, hn::Mul(g, k.state_grad), root);
    if constexpr (kMomentum) step = s1 = hn::MulAdd(s1, k.beta1, step);
    p = hn::MulAdd(k.state_step, step, p);
  }
};

template <bool kAmsGrad>
struct Adam {
  static constexpr int kRootStates = 3 | (kAmsGrad ? 4 : 0), kStepStates = 0;
  template <class D, class V>
  static HWY_INLINE V root(D, const Constants<D>& k, V g, V& s0, V& s1, V& s2) {
    s0 = blend_in(s0, g, k.one_minus_beta1);
    // A square that overflows leaves the largest number; of an infinite one the next blend would not be a number.
    s1 = hn::Min(k.largest, blend_in(s1, hn::Mul(g, g), k.one_minus_beta2));
    V second = s1;
    if constexpr (kAmsGrad) second = s2 = max_keep_nan(s2, s1);
    return hn::Add(hn::Sqrt(second), k.outer_epsilon);
  }
  template <class D, class V>
  static HWY_INLINE void step(D d, const Constants<D>& k, V& p, V, V root, V& s0, V&, V&) {
    p = hn::MulAdd(k.state_step, quotient(d, s0, root), p);
  }
};

struct Adamax {
  static constexpr int kRootStates = 3, kStepStates = 0;
  template <class D, class V>
  static HWY_INLINE V root(D, const Constants<D>& k, V g, V& s0, V& s1, V&) {
    s0 = blend_in(s0, g, k.one_minus_beta1);
    s1 = max_keep_nan(hn::Mul(s1, k.beta2), hn::Add(hn::Abs(g), k.inner_epsilon));
    return hn::Add(s1, k.outer_epsilon);
  }
  template <class D, class V>
  static HWY_INLINE void step(D d, const Constants<D>& k, V& p, V, V root, V& s0, V&, V&) {
    p = hn::Add(p, bounded_quotient(d, hn::Mul(k.state_step, s0), root));
  }
};

struct Nadam : Adam<false> {
  template <class D, class V>
  static HWY_INLINE void step(D d, const Constants<D>& k, V& p, V g, V root, V& s0, V&, V&) {
    p = hn::Add(p, quotient(d, hn::MulAdd(k.state_step, s0, hn::Mul(k.grad_step, g)), root));
  }
};

struct RAdam : Adam<false> {
  template <class D, class V>
  static HWY_INLINE void step(D d, const Constants<D>& k, V& p, V, V root, V& s0, V&, V&) {
    p = hn::MulAdd(k.grad_step, s0, hn::MulAdd(k.state_step, quotient(d, s0, root), p));
  }
};

struct Adagrad {
  static constexpr int kRootStates = 1, kStepStates = 0;
  template <class D, class V>
  static HWY_INLINE V root(D, const Constants<D>& k, V g, V& s0, V&, V&) {
    s0 = hn::MulAdd(g, g, s0);
    return hn::Add(hn::Sqrt(hn::Add(s0, k.inner_epsilon)), k.outer_epsilon);
  }
  template <class D, class V>
  static HWY_INLINE void step(D d, const Constants<D>& k, V& p, V g, V root, V&, V&, V&) {
    p = hn::Add(p, bounded_quotient(d, hn::Mul(k.grad_step, g), root));
  }
};

struct Adadelta {
  static constexpr int kRootStates = 1, kStepStates = 2;
  template <class D, class V>
  static HWY_INLINE V root(D, const Constants<D>& k, V g, V& s0, V& s1, V&) {
    s0 = decayed(s0, hn::Mul(g, g), k.beta2, k.one_minus_beta2);
    return hn::Sqrt(hn::Div(hn::Add(s1, k.inner_epsilon), hn::Add(s0, k.inner_epsilon)));
  }
  template <class D, class V>
  static HWY_INLINE void step(D, const Constants<D>& k, V& p, V g, V root, V&, V& s1, V&) {
    const V delta = hn::Mul(root, g);
    s1 = decayed(s1, hn::Mul(delta, delta), k.beta2, k.one_minus_beta2);
    p = hn::MulAdd(k.grad_step, delta, p);
  }
};

struct Lion : NoRoot {
  static constexpr int kStepStates = 1;
  template <class D, class V>
  static HWY_INLINE void step(D d, const Constants<D>& k, V& p, V g, V, V& s0, V&, V&) {
    const V direction = decayed(s0, g, k.beta1, k.one_minus_beta1);
    const V step = hn::CopySign(hn::Abs(k.grad_step), direction);
    p = hn::Sub(p, hn::IfThenZeroElse(hn::Eq(direction, hn::Zero(d)), step));
    s0 = decayed(s0, g, k.beta2, k.one_minus_beta2);
  }
};

// Vectors of a block. A block's roots are taken while the block before it takes its steps, vector by vector: a root
// takes long, its unit takes one at a time, and the CPU sees only a few vectors ahead for work that does not wait for
// it.
inline constexpr int kBlockVectors = 8;

// Where a vector of a block is: how far into parameter and states, where its gradient, and what that is multiplied
// with.
template <class T, class V>
struct Place {
  int64_t at;
  const T* g;
  V grad_scale;
  HWY_INLINE Place after(int64_t i) const { return {at + i, g + i, grad_scale}; }
};

// One method on one block.
template <class T, class Method, bool kDecay>
class Update {
 public:
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr int kStates = Method::kRootStates | Method::kStepStates;
  static constexpr bool kRoots = Method::kRootStates != 0;

  HWY_INLINE Update(const UpdateConstants<T>& constants, const UpdateBlock<T>& block)
      : k_(D(), constants), p_(block.p), s0_(block.s0), s1_(block.s1), s2_(block.s2) {}

  template <class Part>
  HWY_INLINE V root(const Place<T, V>& place, Part part) const {
    V root = k_.keep;
    if constexpr (kRoots)
      with_states<Method::kRootStates>(
          place, part, [&](V, V grad, V& a, V& b, V& c) HWY_ATTR { root = Method::root(D(), k_, grad, a, b, c); });
    return root;
  }
  template <class Part>
  HWY_INLINE void step(const Place<T, V>& place, Part part, V root) const {
    with_states<Method::kStepStates>(place, part, [&](V param, V grad, V& a, V& b, V& c) HWY_ATTR {
      if constexpr (kDecay) param = hn::Mul(param, k_.keep);
      Method::step(D(), k_, param, grad, root, a, b, c);
      part.store(param, D(), p_ + place.at);
    });
  }
  HWY_INLINE V grad_scale(const T* row_scale) const {
    return row_scale ? hn::Mul(k_.grad_scale, hn::Set(D(), *row_scale)) : k_.grad_scale;
  }

 private:
  // Loads what an update reads, lets `apply` change it, and stores the states that it changed.
  template <int kChanged, class Part, class Apply>
  HWY_INLINE void with_states(const Place<T, V>& place, Part part, Apply apply) const {
    const D d;
    V param = part.load(d, p_ + place.at);
    V a = kStates & 1 ? part.load(d, s0_ + place.at) : param;
    V b = kStates & 2 ? part.load(d, s1_ + place.at) : param;
    V c = kStates & 4 ? part.load(d, s2_ + place.at) : param;
    V grad = hn::Mul(part.load(d, place.g), place.grad_scale);
    if constexpr (kDecay) grad = hn::MulAdd(k_.decay_into_grad, param, grad);
    apply(param, grad, a, b, c);
    if constexpr (kChanged & 1) part.store(a, d, s0_ + place.at);
    if constexpr (kChanged & 2) part.store(b, d, s1_ + place.at);
    if constexpr (kChanged & 4) part.store(c, d, s2_ + place.at);
  }

  Constants<D> k_;
  T *p_, *s0_, *s1_, *s2_;
};

template <class T, class Method, bool kDecay>
void update_rows(const UpdateConstants<T>& constants, const UpdateBlock<T>& block) {
  using U = Update<T, Method, kDecay>;
  using V = typename U::V;
  const U update(constants, block);
  // float64 waits for its divider in either order: it is spared the code, which is half of what this file compiles to,
  // and so are CPUs without AVX2.
  constexpr bool kPipelined = U::kRoots && sizeof(T) == 4 && HWY_TARGET != HWY_SCALAR;
  const typename U::D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), block_size = kBlockVectors * lanes;
  const auto for_block = [&](auto f) HWY_ATTR {
#pragma GCC unroll 8
    for (int v = 0; v < kBlockVectors; ++v) f(v, v * lanes);
  };
  V roots[kBlockVectors];
  for_block([&](int v, int64_t) HWY_ATTR { roots[v] = hn::Zero(d); });
  Place<T, V> before{-1, nullptr, hn::Zero(d)};  // the block whose roots are known and whose steps are not taken
  for (int64_t row = 0; row < block.rows; ++row) {
    Place<T, V> now{row * block.param_ld, block.g + row * block.grad_ld,
                    update.grad_scale(block.row_scale ? block.row_scale + row : nullptr)};
    int64_t left = block.cols;
    if constexpr (kPipelined) {
      for (; left >= block_size; left -= block_size, now = now.after(block_size)) {
        if (before.at < 0)
          for_block([&](int v, int64_t i) HWY_ATTR { roots[v] = update.root(now.after(i), WholeVector{}); });
        else
          for_block([&](int v, int64_t i) HWY_ATTR {
            update.step(before.after(i), WholeVector{}, roots[v]);
            roots[v] = update.root(now.after(i), WholeVector{});
          });
        before = now;
      }
    }
    for_vectors(d, left, [&](int64_t i, auto part) HWY_ATTR {
      const Place<T, V> here = now.after(i);
      update.step(here, part, update.root(here, part));
    });
  }
  if (kPipelined && before.at >= 0)
    for_block([&](int v, int64_t i) HWY_ATTR { update.step(before.after(i), WholeVector{}, roots[v]); });
}

template <class T, class Method>
void update_loop(const UpdateConstants<T>& constants, const UpdateBlock<T>& block) {
  if (constants.decay_into_grad == 0 && constants.keep == 1)
    update_rows<T, Method, false>(constants, block);
  else
    update_rows<T, Method, true>(constants, block);
}

template <class T>
UpdateFunction<T> find_update(const UpdateRule& rule) {
  switch (rule.method) {
    case UpdateMethod::sgd:
      return rule.momentum ? update_loop<T, SgdMomentum> : update_loop<T, Sgd>;
    case UpdateMethod::rmsprop:
      if (rule.momentum)
        return rule.centered ? update_loop<T, RmsProp<true, true>> : update_loop<T, RmsProp<true, false>>;
      return rule.centered ? update_loop<T, RmsProp<false, true>> : update_loop<T, RmsProp<false, false>>;
    case UpdateMethod::adam:
      return rule.amsgrad ? update_loop<T, Adam<true>> : update_loop<T, Adam<false>>;
    case UpdateMethod::adamax:
      return update_loop<T, Adamax>;
    case UpdateMethod::nadam:
      return update_loop<T, Nadam>;
    case UpdateMethod::radam:
      return update_loop<T, RAdam>;
    case UpdateMethod::adagrad:
      return update_loop<T, Adagrad>;
    case UpdateMethod::adadelta:
      return update_loop<T, Adadelta>;
    case UpdateMethod::lion:
      return update_loop<T, Lion>;
  }
  return nullptr;
}

UpdateFunction<float> find_update_f32(const UpdateRule& rule) { return find_update<float>(rule); }
UpdateFunction<double> find_update_f64(const UpdateRule& rule) { return find_update<double>(rule); }

}  // namespace HWY_NAMESPACE
}  // namespace kernels
}  // namespace isochron
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {

HWY_EXPORT(find_update_f32);
HWY_EXPORT(find_update_f64);

template <>
UpdateFunction<float> update_function<float>(const UpdateRule& rule) {
  return HWY_DYNAMIC_DISPATCH(find_update_f32)(rule);
}
template <>
UpdateFunction<double> update_function<double>(const UpdateRule& rule) {
  return HWY_DYNAMIC_DISPATCH(find_update_f64)(rule);
}

}  // namespace isochron::kernels
#endif
