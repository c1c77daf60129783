// The floating-point environment that the numerics are defined in: round to nearest, subnormals kept.
//
// A caller's thread may be in another one (audio and game engines flush subnormals to zero), and a new thread starts in
// its creator's. Whoever computes holds one of these meanwhile; the caller's environment, flags included, comes back.
#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace wr::host {

class FloatEnvironment {
  public:
#if defined(__x86_64__)
    FloatEnvironment() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(all_masked_to_nearest); }
    ~FloatEnvironment() { __builtin_ia32_ldmxcsr(saved_); }
#elif defined(__aarch64__)
    FloatEnvironment() {
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
        __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
    }
    ~FloatEnvironment() { __asm__ volatile("msr fpcr, %0" : : "r"(saved_)); }
#else
    FloatEnvironment() {
        std::fegetenv(&saved_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~FloatEnvironment() { std::fesetenv(&saved_); }
#endif
    FloatEnvironment(const FloatEnvironment &) = delete;
    FloatEnvironment &operator=(const FloatEnvironment &) = delete;

  private:
#if defined(__x86_64__)
    static constexpr unsigned all_masked_to_nearest = 0x1F80; // MXCSR's value at reset
    unsigned saved_;
#elif defined(__aarch64__)
    std::uint64_t saved_;
#else
    std::fenv_t saved_;
#endif
};

} // namespace wr::host
