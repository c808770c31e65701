// The classes of this library that files know, by their base: see config.h.
#pragma once

#include "isochron/nn/config.h"

namespace isochron {

template <class Base>
void add_builtin_kinds();
template <>
void add_builtin_kinds<Layer>();
template <>
void add_builtin_kinds<Loss>();
template <>
void add_builtin_kinds<Metric>();
template <>
void add_builtin_kinds<Optimizer>();
template <>
void add_builtin_kinds<Schedule>();

// As add_config_kind(), for those functions.
template <class Base>
void add_builtin_kind(ConfigKind<Base> kind);

}  // namespace isochron
