// Where partial results meet, they are words below the prime: whatever 64 bits a sum has come to, `settle` gives its
// remainder, so that no number of them can overflow.
#include "check.h"

#include "numerics/operators.h"

#include <initializer_list>
#include <random>

namespace {

using namespace wr;

std::mt19937_64 random_bits(7);

constexpr std::uint64_t koalabear = 2130706433, babybear = 2013265921, mersenne31 = 2147483647;

// Sums around the ends of 64 bits and around multiples of the prime.
std::uint64_t sum_at(int index, std::uint64_t prime) {
    const std::uint64_t most = ~std::uint64_t{0};
    switch (index) {
    case 0:
        return most;
    case 1:
        return most / prime * prime;
    case 2:
        return most / prime * prime - 1;
    case 3:
        return prime;
    case 4:
        return prime - 1;
    case 5:
        return 0;
    default:
        return random_bits() >> (random_bits() % 40);
    }
}

template <class Op>
void check_words(std::uint64_t prime, const char *name) {
    for (int i = 0; i < 3000; ++i) {
        const std::uint64_t sum = sum_at(i, prime), settled = Op::settle(sum);
        CHECK(settled == sum % prime, "%s: %llx becomes %llx", name, static_cast<unsigned long long>(sum),
              static_cast<unsigned long long>(settled));
    }
}

template <class Op>
void check_extensions(std::uint64_t prime, const char *name) {
    for (int i = 0; i < 3000; ++i) {
        ExtensionSum sum{};
        for (int k = 0; k < 4; ++k) {
            sum.sums[k] = sum_at(i < 8 ? (i + k) % 8 : i, prime);
        }
        const ExtensionSum settled = Op::settle(sum);
        for (int k = 0; k < 4; ++k) {
            CHECK(settled.sums[k] == sum.sums[k] % prime, "%s: coordinate %d, %llx becomes %llx", name, k,
                  static_cast<unsigned long long>(sum.sums[k]), static_cast<unsigned long long>(settled.sums[k]));
        }
    }
}

} // namespace

int main() {
    check_words<FieldSum<KoalaBear>>(koalabear, "sums of KoalaBear");
    check_words<FieldSquareSum<KoalaBear>>(koalabear, "squares of KoalaBear");
    check_words<WeightedFieldSum<BabyBear>>(babybear, "products of BabyBear");
    check_words<FieldSquareSum<BabyBear>>(babybear, "squares of BabyBear");
    check_words<FieldSum<Mersenne31>>(mersenne31, "sums of Mersenne31");
    check_words<FieldSquareSum<Mersenne31>>(mersenne31, "squares of Mersenne31");
    check_extensions<FieldSum<KoalaBearX4>>(koalabear, "sums of KoalaBear's extension");
    check_extensions<FieldSquareSum<KoalaBearX4>>(koalabear, "squares of KoalaBear's extension");
    check_extensions<FieldSquareSum<BabyBearX4>>(babybear, "squares of BabyBear's extension");
    check_extensions<WeightedFieldSum<BabyBearX4>>(babybear, "products of BabyBear's extension");
    check_extensions<ExtensionByBaseSum<BabyBearX4>>(babybear, "products of BabyBear's extension with words");
    check_extensions<Partial<FieldSquareSum<BabyBearX4>>>(babybear, "partial squares of BabyBear's extension");
    return check_report("partial_field_sums_are_reduced");
}
