//! Reproducible numbers.

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Between -1 and 1, with all bits of an f64 in play.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Of both signs and very different magnitudes, so that the order of a sum shows in its bits.
    pub fn spread(&mut self) -> f64 {
        let exponent = (self.next() % 32) as i32 - 16;
        self.unit() * f64::from(exponent).exp2()
    }

    pub fn f32s(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.spread() as f32).collect()
    }

    pub fn f64s(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.spread()).collect()
    }
}
