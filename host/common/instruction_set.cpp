// Which variant of the vector kernels this processor gets.
#include "host/common/vector_kernels.h"

#if defined(WR_HAS_X86_VARIANTS)
#include <cpuid.h>
#endif

namespace wr::host {

#if defined(WR_HAS_X86_VARIANTS)

namespace {

// Older Clangs' __builtin_cpu_supports does not know it. Its registers are AVX2's, whose test covers the system's part.
bool has_f16c() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && has_f16c();
}

bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

} // namespace

Variants usable_variants() {
    __builtin_cpu_init();
    Variants usable{1, {&baseline::kernels}};
    if (has_avx2()) {
        usable.kernels[usable.count++] = &avx2::kernels;
    }
    if (has_avx512()) {
        usable.kernels[usable.count++] = &avx512::kernels;
    }
    return usable;
}

#else

Variants usable_variants() { return {1, {&baseline::kernels}}; }

#endif

const Kernels &best_kernels() {
    static const Variants usable = usable_variants();
    return *usable.kernels[usable.count - 1];
}

} // namespace wr::host
