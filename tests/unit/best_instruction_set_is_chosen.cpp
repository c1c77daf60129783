// A processor gets the best variant of the kernels whose instructions it has, all of them, and none that it lacks:
// every set of features is tried, those of other processors too.
#include "check.h"

#include "host/common/vector_kernels.h"

#if defined(WR_HAS_X86_VARIANTS)

#include <cpuid.h>
#include <cstring>

namespace {

// The features that the processor of the moment has.
const char *const features[] = {"avx2", "fma", "bmi", "bmi2", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"};
constexpr unsigned feature_count = 9, f16c_feature = 4, needed_by_avx2 = 0x1F, needed_by_avx512 = 0x1FF;
unsigned has;

int supports(const char *name) {
    for (unsigned i = 0; i < feature_count; ++i) {
        if (std::strcmp(name, features[i]) == 0) {
            return static_cast<int>(has >> i & 1);
        }
    }
    CHECK(false, "%s is not known to this test", name);
    return 0;
}

// Leaf 1 says F16C; the others are asked for by name.
int cpuid(unsigned leaf, unsigned *eax, unsigned *ebx, unsigned *ecx, unsigned *edx) {
    CHECK(leaf == 1, "leaf %u is not known to this test", leaf);
    *eax = *ebx = *edx = 0;
    *ecx = (has >> f16c_feature & 1) != 0 ? ~0u : ~static_cast<unsigned>(bit_F16C);
    return 1;
}

} // namespace

#define __builtin_cpu_supports(name) supports(name)
#define __builtin_cpu_init()
#define __get_cpuid cpuid
#include "host/common/instruction_set.cpp" // NOLINT(bugprone-suspicious-include): with another processor
#undef __builtin_cpu_supports
#undef __builtin_cpu_init
#undef __get_cpuid

// The variants' tables, of which only the addresses matter.
namespace wr::host {
namespace baseline {
const Kernels kernels{};
}
namespace avx2 {
const Kernels kernels{};
}
namespace avx512 {
const Kernels kernels{};
}
} // namespace wr::host

namespace {

void check_all_processors() {
    using namespace wr::host;
    for (has = 0; has < 1u << feature_count; ++has) {
        const Variants usable = usable_variants();
        const bool second = (has & needed_by_avx2) == needed_by_avx2, third = has == needed_by_avx512;
        CHECK(usable.count == 1u + second + third, "features %#x: %zu variants", has, usable.count);
        CHECK(usable.kernels[0] == &baseline::kernels, "features %#x: the first variant", has);
        CHECK(!second || usable.kernels[1] == &avx2::kernels, "features %#x: the second variant", has);
        CHECK(!third || usable.kernels[2] == &avx512::kernels, "features %#x: the third variant", has);
    }
    has = needed_by_avx512;
    CHECK(&best_kernels() == &avx512::kernels, "the best of three");
}

} // namespace

#else

namespace {

void check_all_processors() {
    CHECK(wr::host::usable_variants().count == 1, "one variant");
    CHECK(&wr::host::best_kernels() == wr::host::usable_variants().kernels[0], "and it is chosen");
}

} // namespace

#endif

int main() {
    check_all_processors();
    return check_report("best_instruction_set_is_chosen");
}
