// The logit that stands in the place of one that a mask leaves out: its exponential is +0 in the frame of every
// ordinary maximum, and all other logits of such rows are larger.
#include "check.h"
#include "numerics/exponential.h"
#include "numerics/softmax.h"

#include <cstdint>

int main() {
    using C = wr::ExponentialConstants<float>;
    constexpr float largest = 0x1p20f; // beyond all ordinary maxima
    CHECK(!wr::is_ordinary(largest) && !wr::is_ordinary(-largest), "%g is ordinary", static_cast<double>(largest));
    const std::int32_t last = wr::nearest_exponent(largest) + 1;
    int wrong = 0;
    for (std::int32_t n = -last; n <= last; ++n) {
        const float e = wr::scaled_exponential(C::vanishing, C::magic - static_cast<float>(n));
        wrong += wr::bit_cast<std::uint32_t>(e) != 0;
    }
    CHECK(wrong == 0, "%d of %d frames give something else than +0", wrong, 2 * last + 1);
    CHECK(C::vanishing < -largest - C::reach, "%g is a logit of ordinary rows", static_cast<double>(C::vanishing));
    CHECK((wr::bit_cast<std::uint32_t>(C::vanishing) & 0xFFFFu) == 0, "%g is no bf16 number",
          static_cast<double>(C::vanishing));
    // Not for any number: of others something is left.
    CHECK(wr::bit_cast<std::uint32_t>(wr::scaled_exponential(2 * C::vanishing / 3, C::magic)) != 0, "nothing is left");
    return check_report("masked_logits_vanish");
}
