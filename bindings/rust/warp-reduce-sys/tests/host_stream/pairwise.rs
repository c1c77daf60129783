//! The order in which floats are added.

/// The definition: T(x[0..n)) = T(x[0..h)) + T(x[h..n)), h the largest power of two below n.
pub fn pairwise_f32(values: &[f32]) -> f32 {
    match values {
        [] => 0.0,
        [value] => *value,
        _ => {
            let (left, right) = values.split_at(values.len().next_power_of_two() / 2);
            pairwise_f32(left) + pairwise_f32(right)
        }
    }
}

pub fn pairwise_f64(values: &[f64]) -> f64 {
    match values {
        [] => 0.0,
        [value] => *value,
        _ => {
            let (left, right) = values.split_at(values.len().next_power_of_two() / 2);
            pairwise_f64(left) + pairwise_f64(right)
        }
    }
}
