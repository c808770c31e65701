// How models are described: their layers, and which calls of them lead from inputs to outputs.
#pragma once

#include "isochron/nn/config.h"

namespace isochron {

ConfigKind<Layer> sequential_kind();
ConfigKind<Layer> functional_kind();

}  // namespace isochron
