use crate::calls::reduce;
use crate::random::Random;
use warp_reduce_sys::*;

#[test]
fn extremes_of_integers_are_those_of_an_iterator() {
    let mut random = Random(64);
    let (rows, columns) = (2000, 13);
    let values: Vec<i64> = (0..rows * columns).map(|_| random.next() as i64).collect();
    let least = reduce(wr_op::WR_MIN, wr_dtype::WR_I64, &values, [rows, columns, 1]);
    let greatest = reduce(wr_op::WR_MAX, wr_dtype::WR_I64, &values, [rows, columns, 1]);
    for (row, elements) in values.chunks(columns).enumerate() {
        assert_eq!(Some(&least[row]), elements.iter().min());
        assert_eq!(Some(&greatest[row]), elements.iter().max());
    }
}

#[test]
fn the_extreme_is_found_wherever_it_lies() {
    let length = 5000;
    for place in [0, 1, 31, 1023, 1024, 4095, 4999] {
        let mut values = vec![1f32; length];
        values[place] = 2.0;
        assert_eq!(
            reduce(wr_op::WR_MAX, wr_dtype::WR_F32, &values, [1, length, 1]),
            [2.0]
        );
        values[place] = -2.0;
        assert_eq!(
            reduce(wr_op::WR_MIN, wr_dtype::WR_F32, &values, [1, length, 1]),
            [-2.0]
        );
    }
}

#[test]
fn negative_zero_is_below_positive_zero() {
    for zeros in [[0f32, -0.0], [-0.0, 0.0]] {
        assert_eq!(
            reduce(wr_op::WR_MIN, wr_dtype::WR_F32, &zeros, [1, 2, 1])[0].to_bits(),
            0x8000_0000
        );
        assert_eq!(
            reduce(wr_op::WR_MAX, wr_dtype::WR_F32, &zeros, [1, 2, 1])[0].to_bits(),
            0
        );
    }
}

#[test]
fn a_nan_wins_and_becomes_canonical() {
    let mut values = vec![f32::INFINITY; 3000];
    values[2047] = f32::from_bits(0xFF80_0001);
    for op in [wr_op::WR_MIN, wr_op::WR_MAX] {
        assert_eq!(
            reduce(op, wr_dtype::WR_F32, &values, [1, 3000, 1])[0].to_bits(),
            0x7FC0_0000
        );
    }
}

#[test]
fn extremes_of_nothing_are_the_ends_of_the_type() {
    assert_eq!(
        reduce::<f32>(wr_op::WR_MIN, wr_dtype::WR_F32, &[], [1, 0, 1]),
        [f32::INFINITY]
    );
    assert_eq!(
        reduce::<f32>(wr_op::WR_MAX, wr_dtype::WR_F32, &[], [1, 0, 1]),
        [f32::NEG_INFINITY]
    );
    assert_eq!(
        reduce::<i32>(wr_op::WR_MIN, wr_dtype::WR_I32, &[], [1, 0, 1]),
        [i32::MAX]
    );
    assert_eq!(
        reduce::<i32>(wr_op::WR_MAX, wr_dtype::WR_I32, &[], [1, 0, 1]),
        [i32::MIN]
    );
}
