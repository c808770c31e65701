// How user functions of many shapes become one type: Element in, result out.
//
//   [](Tensor x, Tensor y) { return std::pair(x / 255, y); }        [](const Element& e) { return e[0]; }
//   [](std::string line) { return std::stod(line); }                [](Tensor x, const ElementContext& at) { … }
//
// Parameters are converted from components by position: Tensor, std::string, numbers; or the whole Element. A last
// parameter of type ElementContext tells which element it is. Results: a Tensor, a string, a number, an Element, or a
// std::pair or std::tuple of them.
#pragma once

#include <functional>
#include <tuple>
#include <typeinfo>
#include <utility>

#include "isochron/data/stage.h"

namespace isochron::data {

using MapFunction = std::function<Element(const Element&, const ElementContext&)>;

namespace detail {

// A component on its way into a parameter.
struct Argument {
  const Component& component;
  operator Tensor() const { return component.tensor(); }
  operator std::string() const { return component.text(); }
  operator const Component&() const { return component; }
  template <class T>
  requires std::is_arithmetic_v<T>
  operator T() const { return component.item<T>(); }
};

template <class T>
using Nth = Argument;
template <class F, class Indices, class... Last>
struct TakesArguments;
template <class F, size_t... I, class... Last>
struct TakesArguments<F, std::index_sequence<I...>, Last...> {
  template <size_t>
  using Arg = Argument;
  template <size_t>
  using Plain = Tensor;
  static constexpr bool tensors = std::is_invocable_v<F&, Plain<I>..., Last...>;
  static constexpr bool value = std::is_invocable_v<F&, Arg<I>..., Last...>;
};

inline constexpr size_t kMostArguments = 6;

// The number of components F takes, or kMostArguments + 1.
template <class F, class... Last>
constexpr size_t arity() {
  size_t found = kMostArguments + 1;
  const auto look = [&]<size_t... N>(std::index_sequence<N...>) {
    ((found > kMostArguments && TakesArguments<F, std::make_index_sequence<N + 1>, Last...>::value ? found = N + 1 : 0),
     ...);
  };
  look(std::make_index_sequence<kMostArguments>());
  return found;
}

[[noreturn]] void refuse_arity(size_t wanted, const Element& element);

template <class F, class... Last>
decltype(auto) call_with_components(F& f, const Element& e, const Last&... last) {
  constexpr size_t count = arity<F, const Last&...>();
  static_assert(count <= kMostArguments,
                "the function takes neither an Element nor up to 6 components (Tensor, std::string or numbers)");
  if (e.size() != count) refuse_arity(count, e);
  return [&]<size_t... I>(std::index_sequence<I...> indices)->decltype(auto) {
    if constexpr (TakesArguments<F, decltype(indices), const Last&...>::tensors)
      return f(e[I].tensor()..., last...);
    else
      return f(Argument{e[I]}..., last...);
  }
  (std::make_index_sequence<count>());
}

template <class F>
decltype(auto) call(F& f, const Element& e, const ElementContext& context) {
  if constexpr (std::is_invocable_v<F&, const Element&, const ElementContext&>)
    return f(e, context);
  else if constexpr (std::is_invocable_v<F&, const Element&>)
    return f(e);
  else if constexpr (arity<F, const ElementContext&>() <= kMostArguments)
    return call_with_components(f, e, context);
  else
    return call_with_components(f, e);
}

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};

template <class R>
Element to_element(R&& result) {
  using Plain = std::remove_cvref_t<R>;
  if constexpr (std::is_same_v<Plain, Element>)
    return std::forward<R>(result);
  else if constexpr (IsTuple<Plain>::value)
    return std::apply([](auto&&... parts) { return make_element(std::forward<decltype(parts)>(parts)...); },
                      std::forward<R>(result));
  else
    return make_element(std::forward<R>(result));
}

}  // namespace detail

// A name for the code of F that is the same in every run of one program.
template <class F>
std::string code_name() {
  return typeid(F).name();
}

template <class F>
MapFunction element_function(F f) {
  return [f = std::move(f)](const Element& e, const ElementContext& context) mutable {
    using Result = decltype(detail::call(f, e, context));
    if constexpr (std::is_same_v<Result, Element>)
      return detail::call(f, e, context);
    else
      return detail::to_element(detail::call(f, e, context));
  };
}

// For functions whose result is no element: predicates, keys, lengths, data sets.
template <class R, class F>
std::function<R(const Element&)> value_function(F f) {
  return [f = std::move(f)](const Element& e) mutable -> R {
    using Result = std::remove_cvref_t<decltype(detail::call(f, e, ElementContext{}))>;
    if constexpr (std::is_same_v<Result, Tensor> && std::is_arithmetic_v<R>)
      return detail::call(f, e, ElementContext{}).template item<R>();
    else
      return detail::call(f, e, ElementContext{});
  };
}

}  // namespace isochron::data
