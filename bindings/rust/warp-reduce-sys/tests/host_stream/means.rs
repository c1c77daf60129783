use crate::calls::reduce;
use crate::random::Random;
use warp_reduce_sys::*;

#[test]
fn a_mean_is_the_sum_divided_once() {
    for length in [1, 3, 1000, 70_001] {
        let values = Random(length as u64).f32s(length);
        let sum = reduce(wr_op::WR_SUM, wr_dtype::WR_F32, &values, [1, length, 1])[0];
        let mean = reduce(wr_op::WR_MEAN, wr_dtype::WR_F32, &values, [1, length, 1])[0];
        assert_eq!(
            mean.to_bits(),
            (sum / length as f32).to_bits(),
            "{length} elements"
        );
    }
}

#[test]
fn means_of_columns_are_near_the_exact_ones() {
    let (rows, columns) = (501, 40);
    let values = Random(40).f64s(rows * columns);
    let means = reduce(
        wr_op::WR_MEAN,
        wr_dtype::WR_F64,
        &values,
        [1, rows, columns],
    );
    for (column, mean) in means.iter().enumerate() {
        let along = || (0..rows).map(|row| values[row * columns + column]);
        let magnitude: f64 = along().map(f64::abs).sum();
        let expected = along().sum::<f64>() / rows as f64;
        assert!(
            (mean - expected).abs() <= 1e-13 * magnitude,
            "column {column}: {mean}, not {expected}"
        );
    }
}

#[test]
fn the_mean_of_nothing_is_the_canonical_nan() {
    assert_eq!(
        reduce::<f64>(wr_op::WR_MEAN, wr_dtype::WR_F64, &[], [1, 0, 1])[0].to_bits(),
        0x7FF8_0000_0000_0000
    );
}
