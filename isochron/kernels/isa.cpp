#include "isochron/kernels/isa.h"

#include <hwy/targets.h>

#include <array>
#include <cstdlib>

#include "isochron/base/error.h"

namespace isochron::kernels {
namespace {

struct Isa {
  std::string_view name;
  int64_t target;
};
// Best first, as Highway numbers them: a lower bit is a better target.
constexpr std::array kIsas = {Isa{"avx3", HWY_AVX3}, Isa{"avx2", HWY_AVX2}, Isa{"sse2", HWY_STATIC_TARGET}};

bool generated_and_supported(const Isa& isa) { return (hwy::SupportedTargets() & HWY_TARGETS & isa.target) != 0; }

}  // namespace

void limit_isa_from_environment() {
  const char* wanted = std::getenv("ISOCHRON_ISA");
  if (!wanted || !*wanted) return;
  int64_t better = 0;
  for (const Isa& isa : kIsas) {
    if (isa.name == wanted) return hwy::DisableTargets(better);
    better |= isa.target;
  }
  fail<ValueError>("ISOCHRON_ISA", "must be sse2, avx2 or avx3, got '{}'", wanted);
}

std::string_view current_isa() {
  for (const Isa& isa : kIsas)
    if (generated_and_supported(isa)) return isa.name;
  return kIsas.back().name;
}

void for_each_isa(const std::function<void(std::string_view)>& body) {
  struct Restore {
    ~Restore() { hwy::SetSupportedTargetsForTest(0); }
  } restore;
  for (const Isa& isa : kIsas) {
    hwy::SetSupportedTargetsForTest(0);
    if (!generated_and_supported(isa) && isa.target != HWY_STATIC_TARGET) continue;
    hwy::SetSupportedTargetsForTest(isa.target);
    body(isa.name);
  }
}

}  // namespace isochron::kernels
