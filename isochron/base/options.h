// The fields of an options structure by name, and the arguments an object was made with: said once, used wherever
// options are written, read or shown (nn/config.h).
//
//   struct ScaleOptions {
//     double factor = 1;
//     std::string name = {};
//   };
//   ISO_OPTIONS(ScaleOptions, factor, name)              // does not compile when a field is left out
//
//   class Scale : public Layer {
//    public:
//     explicit Scale(int64_t units, ScaleOptions options = {});
//     ISO_ARGUMENTS(units_, options_)                    // what the constructor takes; the fields of options join in
//     …
//   };
//
//   for_each_option(options, [](const char* name, auto& value) { … });
#pragma once

#include <type_traits>

#define ISO_PARENS ()
#define ISO_EXPAND(...) ISO_EXPAND2(ISO_EXPAND2(ISO_EXPAND2(ISO_EXPAND2(__VA_ARGS__))))
#define ISO_EXPAND2(...) ISO_EXPAND1(ISO_EXPAND1(ISO_EXPAND1(__VA_ARGS__)))
#define ISO_EXPAND1(...) ISO_EXPAND0(ISO_EXPAND0(ISO_EXPAND0(__VA_ARGS__)))
#define ISO_EXPAND0(...) __VA_ARGS__
// macro(a) macro(b) …, for up to 36 of them.
#define ISO_FOR_EACH(macro, ...) __VA_OPT__(ISO_EXPAND(ISO_FOR_EACH_STEP(macro, __VA_ARGS__)))
#define ISO_FOR_EACH_STEP(macro, first, ...) macro(first) __VA_OPT__(ISO_FOR_EACH_AGAIN ISO_PARENS(macro, __VA_ARGS__))
#define ISO_FOR_EACH_AGAIN() ISO_FOR_EACH_STEP

#define ISO_OPTION_STEP(field) visit(#field, options.field);
#define ISO_OPTIONS(Type, ...)                                                                         \
  template <class Options, class Visit>                                                                \
  requires std::is_same_v<std::remove_const_t<Options>, Type>                                          \
  void for_each_option(Options& options, Visit&& visit) {                                              \
    [[maybe_unused]] const auto all_of_them = [&] { [[maybe_unused]] auto& [__VA_ARGS__] = options; }; \
    ISO_FOR_EACH(ISO_OPTION_STEP, __VA_ARGS__)                                                         \
  }

// A template, so that a class costs its users nothing until files are to know it.
#define ISO_ARGUMENTS(...)                                \
  template <class Visit>                                  \
  auto visit_constructor_arguments(Visit&& visit) const { \
    return visit(__VA_ARGS__);                            \
  }                                                       \
  static constexpr const char* constructor_argument_names() { return #__VA_ARGS__; }
