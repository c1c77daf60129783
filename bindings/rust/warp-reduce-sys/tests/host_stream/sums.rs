use crate::calls::{host, reduce, reduce_args, start, start_mut};
use crate::field_arithmetic::KOALABEAR_PRIME;
use crate::pairwise::{pairwise_f32, pairwise_f64};
use crate::random::Random;
use warp_reduce_sys::*;

/// Lengths on both sides of every boundary that a power of two or a block may make.
const LENGTHS: [usize; 14] = [
    1, 2, 3, 31, 32, 33, 127, 1000, 1023, 1024, 1025, 4097, 65537, 300_001,
];

/// Any bf16 is the upper half of an f32.
fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[test]
fn f32_sum_has_the_bits_of_the_pairwise_definition() {
    for length in LENGTHS {
        let values = Random(length as u64).f32s(length);
        let sum = reduce(wr_op::WR_SUM, wr_dtype::WR_F32, &values, [1, length, 1]);
        assert_eq!(
            sum[0].to_bits(),
            pairwise_f32(&values).to_bits(),
            "{length} elements"
        );
    }
}

#[test]
fn f64_sum_has_the_bits_of_the_pairwise_definition() {
    for length in LENGTHS {
        let values = Random(length as u64).f64s(length);
        let sum = reduce(wr_op::WR_SUM, wr_dtype::WR_F64, &values, [1, length, 1]);
        assert_eq!(
            sum[0].to_bits(),
            pairwise_f64(&values).to_bits(),
            "{length} elements"
        );
    }
}

#[test]
fn bf16_sum_into_f32_has_the_bits_of_the_widened_values() {
    let mut random = Random(16);
    let values: Vec<u16> = random
        .f32s(70_001)
        .iter()
        .map(|value| (value.to_bits() >> 16) as u16)
        .collect();
    let widened: Vec<f32> = values.iter().copied().map(widen_bf16).collect();
    let mut sum = [0f32];
    let args = wr_reduce_args {
        output_dtype: wr_dtype::WR_F32,
        input: start(&values),
        output: start_mut(&mut sum),
        ..reduce_args(wr_op::WR_SUM, wr_dtype::WR_BF16, [1, values.len(), 1])
    };
    // SAFETY: the arguments describe `values` and `sum`.
    assert_eq!(
        unsafe { wr_reduce_ex(&args, host()) },
        wr_status::WR_SUCCESS
    );
    assert_eq!(sum[0].to_bits(), pairwise_f32(&widened).to_bits());
}

#[test]
fn f16_sum_is_rounded_once_to_f16() {
    let one = 0x3C00u16;
    let sum = reduce(wr_op::WR_SUM, wr_dtype::WR_F16, &[one; 1024], [1, 1024, 1]);
    assert_eq!(sum, [0x6400], "1024 in f16");
    // 2051 lies half way between 2050 and 2052; the even one of them is 2052.
    let sum = reduce(wr_op::WR_SUM, wr_dtype::WR_F16, &[one; 2051], [1, 2051, 1]);
    assert_eq!(sum, [0x6802], "2052 in f16");
}

#[test]
fn integer_sums_wrap_in_their_own_width() {
    let mut random = Random(32);
    let words: Vec<i32> = (0..100_003).map(|_| random.next() as i32).collect();
    let sum = reduce(wr_op::WR_SUM, wr_dtype::WR_I32, &words, [1, words.len(), 1]);
    assert_eq!(sum, [words.iter().copied().fold(0, i32::wrapping_add)]);

    let longs: Vec<i64> = (0..100_003).map(|_| random.next() as i64).collect();
    let sum = reduce(wr_op::WR_SUM, wr_dtype::WR_I64, &longs, [1, longs.len(), 1]);
    assert_eq!(sum, [longs.iter().copied().fold(0, i64::wrapping_add)]);
}

#[test]
fn koalabear_sum_is_the_canonical_word_of_u64_arithmetic() {
    let mut random = Random(31);
    for length in LENGTHS {
        let words: Vec<u32> = (0..length)
            .map(|_| (random.next() % KOALABEAR_PRIME) as u32)
            .collect();
        let sum = reduce(
            wr_op::WR_SUM,
            wr_dtype::WR_KOALABEAR,
            &words,
            [1, length, 1],
        );
        let expected = words.iter().map(|&word| u64::from(word)).sum::<u64>() % KOALABEAR_PRIME;
        assert_eq!(u64::from(sum[0]), expected, "{length} words");
    }
    let largest = [(KOALABEAR_PRIME - 1) as u32; 5000];
    let sum = reduce(
        wr_op::WR_SUM,
        wr_dtype::WR_KOALABEAR,
        &largest,
        [1, 5000, 1],
    );
    assert_eq!(u64::from(sum[0]), KOALABEAR_PRIME - 5000);
}

#[test]
fn every_row_and_column_of_any_layout_has_the_bits_of_its_own_sum() {
    for [outer, axis, inner] in [
        [7, 1000, 1],
        [1, 1000, 7],
        [5, 33, 9],
        [1, 2049, 300],
        [300, 2049, 1],
        [3, 1, 4],
    ] {
        let values = Random(axis as u64).f32s(outer * axis * inner);
        let sums = reduce(
            wr_op::WR_SUM,
            wr_dtype::WR_F32,
            &values,
            [outer, axis, inner],
        );
        for (place, sum) in sums.iter().enumerate() {
            let first = place / inner * axis * inner + place % inner;
            let along: Vec<f32> = (0..axis).map(|step| values[first + step * inner]).collect();
            assert_eq!(
                sum.to_bits(),
                pairwise_f32(&along).to_bits(),
                "[{outer}][{axis}][{inner}], output {place}"
            );
        }
    }
}

#[test]
fn negative_strides_read_backwards() {
    let values = Random(5).f32s(5000);
    let reversed: Vec<f32> = values.iter().rev().copied().collect();
    let mut sum = [0f32];
    let args = wr_reduce_args {
        axis_stride: -1,
        strides_given: 1,
        input: start(&values[values.len() - 1..]),
        output: start_mut(&mut sum),
        ..reduce_args(wr_op::WR_SUM, wr_dtype::WR_F32, [1, values.len(), 1])
    };
    // SAFETY: from the last element backwards, the arguments describe `values`.
    assert_eq!(
        unsafe { wr_reduce_ex(&args, host()) },
        wr_status::WR_SUCCESS
    );
    assert_eq!(sum[0].to_bits(), pairwise_f32(&reversed).to_bits());
}

#[test]
fn a_workspace_as_large_as_the_query_says_gives_the_same_bits() {
    let values = Random(6).f32s(200_000);
    let mut sum = [0f32];
    let mut args = wr_reduce_args {
        input: start(&values),
        output: start_mut(&mut sum),
        ..reduce_args(wr_op::WR_SUM, wr_dtype::WR_F32, [1, values.len(), 1])
    };
    let mut bytes = usize::MAX;
    // SAFETY: both pointers are to live variables.
    assert_eq!(
        unsafe { wr_reduce_workspace_size(&args, &mut bytes) },
        wr_status::WR_SUCCESS
    );
    let mut workspace = vec![0u128; bytes.div_ceil(16)];
    args.workspace = start_mut(&mut workspace);
    args.workspace_bytes = bytes;
    // SAFETY: the arguments describe `values`, `sum` and `workspace`.
    assert_eq!(
        unsafe { wr_reduce_ex(&args, host()) },
        wr_status::WR_SUCCESS
    );
    assert_eq!(sum[0].to_bits(), pairwise_f32(&values).to_bits());
}

#[test]
fn the_empty_sum_is_positive_zero_and_negative_zeros_stay_negative() {
    let sums = reduce::<f32>(wr_op::WR_SUM, wr_dtype::WR_F32, &[], [3, 0, 1]);
    assert!(sums.iter().all(|sum| sum.to_bits() == 0));
    let sum = reduce(
        wr_op::WR_SUM,
        wr_dtype::WR_F32,
        &[-0f32; 3000],
        [1, 3000, 1],
    );
    assert_eq!(sum[0].to_bits(), 0x8000_0000);
}

#[test]
fn a_nan_or_opposite_infinities_give_the_canonical_nan() {
    for poison in [
        &[f32::from_bits(0xFFC1_2345)][..],
        &[f32::INFINITY, f32::NEG_INFINITY],
    ] {
        let mut values = vec![1f32; 2000];
        values[1234..1234 + poison.len()].copy_from_slice(poison);
        let sum = reduce(wr_op::WR_SUM, wr_dtype::WR_F32, &values, [1, 2000, 1]);
        assert_eq!(sum[0].to_bits(), 0x7FC0_0000);
    }
}
