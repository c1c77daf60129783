//! Where an extreme lies.

use crate::calls::{reduce_args, reduce_as, reduce_to, start, start_mut, Shape};
use crate::random::Random;
use warp_reduce_sys::*;

/// `WR_ARGMIN` or `WR_ARGMAX` with the elements at the indices.
fn with_values<T: Copy + Default>(
    op: wr_op,
    dtype: wr_dtype,
    input: &[T],
    shape: Shape,
) -> (Vec<i64>, Vec<T>) {
    let outputs = shape[0] * shape[2];
    let (mut places, mut values) = (vec![0i64; outputs], vec![T::default(); outputs]);
    reduce_as(&wr_reduce_args {
        input: start(input),
        output: start_mut(&mut places),
        values: start_mut(&mut values),
        ..reduce_args(op, dtype, shape)
    });
    (places, values)
}

#[test]
fn the_first_of_the_largest_is_found_in_every_layout_with_its_value() {
    for [outer, axis, inner] in [[300, 1000, 1], [1, 2049, 50], [5, 33, 9], [1, 300_001, 1]] {
        let mut random = Random(axis as u64);
        // Few different values, so that there are many equal ones.
        let input: Vec<i16> = (0..outer * axis * inner)
            .map(|_| (random.next() % 100) as i16 - 50)
            .collect();
        let shape = [outer, axis, inner];
        let (places, values) = with_values(wr_op::WR_ARGMAX, wr_dtype::WR_I16, &input, shape);
        for output in 0..outer * inner {
            let first = output / inner * axis * inner + output % inner;
            let along = |step: usize| input[first + step * inner];
            let expected = (0..axis)
                .rev()
                .max_by_key(|&step| along(step))
                .expect("the axis is not empty");
            assert_eq!(
                places[output], expected as i64,
                "{shape:?}, output {output}"
            );
            assert_eq!(
                values[output],
                along(expected),
                "{shape:?}, output {output}"
            );
        }
    }
}

#[test]
fn the_first_nan_wins_and_its_value_is_a_nan() {
    let mut input = vec![1f32; 5000];
    (input[17], input[1700], input[1701]) = (f32::INFINITY, f32::NAN, f32::NAN);
    for op in [wr_op::WR_ARGMIN, wr_op::WR_ARGMAX] {
        let (places, values) = with_values(op, wr_dtype::WR_F32, &input, [1, 5000, 1]);
        assert_eq!(places, [1700]);
        assert_eq!(values[0].to_bits(), 0x7FC0_0000);
    }
}

#[test]
fn an_index_may_be_of_32_bits() {
    let input = [4u8, 9, 2, 9];
    let mut place = [0i32];
    reduce_as(&wr_reduce_args {
        output_dtype: wr_dtype::WR_I32,
        input: start(&input),
        output: start_mut(&mut place),
        ..reduce_args(wr_op::WR_ARGMAX, wr_dtype::WR_U8, [1, 4, 1])
    });
    assert_eq!(place, [1]);
}

#[test]
fn nothing_has_no_extreme() {
    let (places, values) = with_values::<i32>(wr_op::WR_ARGMIN, wr_dtype::WR_I32, &[], [2, 0, 1]);
    assert_eq!((places, values), (vec![-1; 2], vec![i32::MAX; 2]));
    let places: Vec<i64> = reduce_to::<f64, _>(wr_op::WR_ARGMAX, wr_dtype::WR_F64, &[], [1, 0, 1]);
    assert_eq!(places, [-1]);
}
