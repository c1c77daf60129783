// The prime field KoalaBear, p = 2^31 - 2^24 + 1, as words below p. A sum needs no Montgomery arithmetic: it is the
// same function of the words in either form.
#pragma once

#include "numerics/element_types.h"

namespace wr {

inline constexpr std::uint32_t koalabear_prime = 0x7F000001u;

WR_HD std::uint64_t koalabear_reduce(std::uint64_t sum) { return sum % koalabear_prime; }

} // namespace wr
