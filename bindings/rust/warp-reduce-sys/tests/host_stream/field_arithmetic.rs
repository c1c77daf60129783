//! Integers modulo KoalaBear's prime and the polynomials over them, and the words that stand for them.

pub const KOALABEAR_PRIME: u64 = (1 << 31) - (1 << 24) + 1;

/// An element of the extension: coefficients of 1, x, x^2 and x^3.
pub type Extension = [u64; 4];

pub fn plus(left: u64, right: u64) -> u64 {
    (left + right) % KOALABEAR_PRIME
}

pub fn times(left: u64, right: u64) -> u64 {
    left * right % KOALABEAR_PRIME
}

pub fn extension_plus(left: Extension, right: Extension) -> Extension {
    std::array::from_fn(|power| plus(left[power], right[power]))
}

/// The product of two polynomials, where x^4 is 3.
pub fn extension_times(left: Extension, right: Extension) -> Extension {
    let mut product = [0; 4];
    for (i, j) in (0..16).map(|pair| (pair / 4, pair % 4)) {
        let wrapped = if i + j < 4 { 1 } else { 3 };
        let coefficient = times(wrapped, times(left[i], right[j]));
        product[(i + j) % 4] = plus(product[(i + j) % 4], coefficient);
    }
    product
}

/// In Montgomery form: 2^32 times the integer.
pub fn word(integer: u64) -> u32 {
    times(integer, (1 << 32) % KOALABEAR_PRIME) as u32
}

pub fn extension_words(element: Extension) -> [u32; 4] {
    element.map(word)
}
