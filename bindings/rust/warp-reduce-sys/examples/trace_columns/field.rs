//! KoalaBear and its extension of degree 4 as a textbook has them: integers below p, polynomials modulo x^4 - 3.

/// p = 2^31 - 2^24 + 1
pub const PRIME: u64 = (1 << 31) - (1 << 24) + 1;

/// Memory holds 2^32 times an element, modulo p.
pub const MONTGOMERY: u64 = (1 << 32) % PRIME;

/// A polynomial's coefficients: of 1, x, x^2, x^3.
pub type Extension = [u64; 4];

pub fn word(element: u64) -> u32 {
    (element * MONTGOMERY % PRIME) as u32
}

pub fn element(word: u32) -> u64 {
    const OUT_OF_MONTGOMERY: u64 = inverse(MONTGOMERY);
    u64::from(word) * OUT_OF_MONTGOMERY % PRIME
}

/// Fermat: a^(p - 2).
pub const fn inverse(element: u64) -> u64 {
    let (mut power, mut square, mut exponent) = (1, element, PRIME - 2);
    while exponent != 0 {
        if exponent % 2 == 1 {
            power = power * square % PRIME;
        }
        square = square * square % PRIME;
        exponent /= 2;
    }
    power
}

pub fn times(left: Extension, right: Extension) -> Extension {
    let mut powers = [0; 7];
    for (i, l) in left.into_iter().enumerate() {
        for (j, r) in right.into_iter().enumerate() {
            powers[i + j] = (powers[i + j] + l * r) % PRIME;
        }
    }
    // x^4 is 3.
    let upper = |power: usize| {
        powers
            .get(power + 4)
            .map_or(0, |coefficient| 3 * coefficient)
    };
    std::array::from_fn(|power| (powers[power] + upper(power)) % PRIME)
}
