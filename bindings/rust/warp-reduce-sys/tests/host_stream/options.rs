//! What the options of `wr_reduce_ex` change.

use crate::calls::{host, reduce, reduce_args, reduce_as, start, start_mut};
use crate::field_arithmetic::KOALABEAR_PRIME;
use crate::pairwise::pairwise_f32;
use crate::random::Random;
use warp_reduce_sys::*;

#[test]
fn a_sum_is_added_to_what_the_output_holds_and_rounded_once() {
    let (rows, columns) = (3000, 37);
    let mut random = Random(200);
    let (input, before) = (random.f32s(rows * columns), random.f32s(columns));
    let mut output = before.clone();
    reduce_as(&wr_reduce_args {
        add_to_output: 1,
        input: start(&input),
        output: start_mut(&mut output),
        ..reduce_args(wr_op::WR_SUM, wr_dtype::WR_F32, [1, rows, columns])
    });
    for column in 0..columns {
        let along: Vec<f32> = input
            .iter()
            .skip(column)
            .step_by(columns)
            .copied()
            .collect();
        let expected = before[column] + pairwise_f32(&along);
        assert_eq!(
            output[column].to_bits(),
            expected.to_bits(),
            "column {column}"
        );
    }
}

#[test]
fn two_halves_that_are_added_give_the_word_of_the_whole() {
    let mut random = Random(201);
    let words: Vec<u32> = (0..100_000)
        .map(|_| (random.next() % KOALABEAR_PRIME) as u32)
        .collect();
    let mut sum = [0u32];
    for half in words.chunks(50_000) {
        reduce_as(&wr_reduce_args {
            add_to_output: 1,
            input: start(half),
            output: start_mut(&mut sum),
            ..reduce_args(wr_op::WR_SUM, wr_dtype::WR_KOALABEAR, [1, half.len(), 1])
        });
    }
    let expected = words.iter().map(|&word| u64::from(word)).sum::<u64>() % KOALABEAR_PRIME;
    assert_eq!(u64::from(sum[0]), expected);
}

#[test]
fn an_extreme_keeps_what_is_more_extreme() {
    let input = [[3i8, -7], [5, 0]];
    let mut output = [4i8, 100];
    reduce_as(&wr_reduce_args {
        add_to_output: 1,
        input: start(&input),
        output: start_mut(&mut output),
        ..reduce_args(wr_op::WR_MAX, wr_dtype::WR_I8, [1, 2, 2])
    });
    assert_eq!(output, [5, 100]);
}

#[test]
fn a_position_cannot_be_added_to() {
    let (input, mut output) = ([1f32; 4], [7i64]);
    let args = wr_reduce_args {
        add_to_output: 1,
        input: start(&input),
        output: start_mut(&mut output),
        ..reduce_args(wr_op::WR_ARGMAX, wr_dtype::WR_F32, [1, 4, 1])
    };
    // SAFETY: the arguments describe `input` and `output`.
    let status = unsafe { wr_reduce_ex(&args, host()) };
    assert_eq!(status, wr_status::WR_ERROR_UNSUPPORTED);
    assert_eq!(output, [7]);
}

#[test]
fn a_nan_that_is_ignored_counts_as_absent() {
    let input = [1f64, f64::NAN, 3.0, f64::NAN];
    let mut mean = [0f64];
    reduce_as(&wr_reduce_args {
        nan_mode: wr_nan_mode::WR_NAN_IGNORE,
        input: start(&input),
        output: start_mut(&mut mean),
        ..reduce_args(wr_op::WR_MEAN, wr_dtype::WR_F64, [1, 4, 1])
    });
    assert_eq!(mean, [2.0]);
    assert!(reduce(wr_op::WR_MEAN, wr_dtype::WR_F64, &input, [1, 4, 1])[0].is_nan());
}

#[test]
fn a_sum_of_bytes_may_be_wider_than_a_byte() {
    let input = [-100i8; 1000];
    let mut sum = [0i64];
    reduce_as(&wr_reduce_args {
        output_dtype: wr_dtype::WR_I64,
        input: start(&input),
        output: start_mut(&mut sum),
        ..reduce_args(wr_op::WR_SUM, wr_dtype::WR_I8, [1, 1000, 1])
    });
    assert_eq!(sum, [-100_000]);
}
