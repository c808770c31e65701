// From a graph node (one elementwise op, or a fused group of them) to a tile program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isochron/kernels/kernel.h"
#include "isochron/kernels/tile/tile_program.h"

namespace isochron {

// Null with the reason when the node's ops or dtypes have no tile form.
std::optional<kernels::TileProgram> lower_to_tile(const KernelRequest& request, std::string& why_not);

// The ops that have a tile form.
std::vector<const char*> tile_op_names();

}  // namespace isochron
