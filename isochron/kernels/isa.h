// Which instruction set the kernels run on: chosen once per process, the best the machine has.
//
//   limit_isa_from_environment();      // honours ISOCHRON_ISA=sse2|avx2|avx3
//   current_isa();                     // "avx2"
//
// Every kernel source is compiled for each of the three sets below and picks one at run time. "sse2" is
// what any x86-64 machine can run; "avx3" is AVX-512 (F, BW, DQ, VL).
#pragma once

#include <functional>
#include <string_view>

namespace isochron::kernels {

// Keeps dispatch at or below the set named by ISOCHRON_ISA; without the variable nothing changes. Call it
// before other threads run kernels. Throws ValueError for an unknown name.
void limit_isa_from_environment();

// The set the next kernel call runs on: "sse2", "avx2" or "avx3".
std::string_view current_isa();

// For tests: calls `body` once for every set this machine has, with dispatch fixed to that set, then restores
// the choice. Not to be called while another thread runs kernels.
void for_each_isa(const std::function<void(std::string_view isa)>& body);

}  // namespace isochron::kernels
