use crate::calls::{host, softmax, softmax_args, start, start_mut};
use crate::random::Random;
use warp_reduce_sys::*;

const LENGTHS: [usize; 9] = [1, 2, 5, 31, 1000, 1024, 1025, 4097, 70_001];

/// The textbook's softmax in f64, and the logarithm of its denominator.
fn reference(logits: &[f64]) -> (Vec<f64>, f64) {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|logit| (logit - largest).exp()).sum();
    (
        logits
            .iter()
            .map(|logit| (logit - largest).exp() / sum)
            .collect(),
        largest + sum.ln(),
    )
}

/// The spacing of f32 at a value.
fn f32_ulp(value: f64) -> f64 {
    f64::from((value.abs().log2().floor() as i32).max(-126) - 23).exp2()
}

fn logits(seed: u64, count: usize, spread: f64) -> Vec<f32> {
    let mut random = Random(seed);
    (0..count)
        .map(|_| (random.unit() * spread) as f32)
        .collect()
}

fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

#[test]
fn f32_outputs_are_within_four_ulp_whatever_the_spread() {
    for length in LENGTHS {
        for spread in [0.5, 10.0, 60.0] {
            let input = logits(length as u64, length, spread);
            let output = softmax(wr_dtype::WR_F32, &input, [1, length, 1]);
            for (got, expected) in output.iter().zip(reference(&widen(&input)).0) {
                let allowed = if expected > f64::from(-120).exp2() {
                    4.0 * f32_ulp(expected)
                } else {
                    expected
                };
                let error = (f64::from(*got) - expected).abs();
                assert!(
                    error <= allowed,
                    "{length} logits, spread {spread}: {got:e}, not {expected:e}"
                );
            }
        }
    }
}

#[test]
fn f64_outputs_are_near_the_reference() {
    for length in LENGTHS {
        let input = widen(&logits(length as u64, length, 20.0));
        let output = softmax(wr_dtype::WR_F64, &input, [1, length, 1]);
        for (got, expected) in output.iter().zip(reference(&input).0) {
            // What the reference itself may be off: its own exponentials and a sum in plain order.
            assert!(
                (got - expected).abs() <= 1e-12 * expected,
                "{length} logits: {got:e}, not {expected:e}"
            );
        }
    }
}

#[test]
fn bf16_outputs_are_the_exact_ones_rounded() {
    let input: Vec<u16> = logits(3, 3000, 4.0)
        .iter()
        .map(|logit| (logit.to_bits() >> 16) as u16)
        .collect();
    let widened: Vec<f64> = input
        .iter()
        .map(|&bits| f64::from(f32::from_bits(u32::from(bits) << 16)))
        .collect();
    let output = softmax(wr_dtype::WR_BF16, &input, [1, 3000, 1]);
    for (&bits, expected) in output.iter().zip(reference(&widened).0) {
        let got = f64::from(f32::from_bits(u32::from(bits) << 16));
        let half_a_bf16_ulp = f32_ulp(expected) * 32768.0;
        assert!(
            (got - expected).abs() <= half_a_bf16_ulp + 8.0 * f32_ulp(expected),
            "{got:e}, not {expected:e}"
        );
    }
}

#[test]
fn rows_and_columns_of_any_layout_are_softmaxed_on_their_own() {
    let (outer, axis, inner) = (3, 257, 5);
    let input = logits(9, outer * axis * inner, 8.0);
    let output = softmax(wr_dtype::WR_F32, &input, [outer, axis, inner]);
    for line in 0..outer * inner {
        let place = |step| line / inner * axis * inner + step * inner + line % inner;
        let along: Vec<f32> = (0..axis).map(|step| input[place(step)]).collect();
        let alone = softmax(wr_dtype::WR_F32, &along, [1, axis, 1]);
        for (step, expected) in alone.iter().enumerate() {
            assert_eq!(
                output[place(step)].to_bits(),
                expected.to_bits(),
                "line {line}, element {step}"
            );
        }
    }
}

#[test]
fn one_element_gives_one_and_equal_elements_share_evenly() {
    assert_eq!(
        softmax(wr_dtype::WR_F32, &[-12345.678f32], [1, 1, 1]),
        [1.0]
    );
    for length in [3, 7, 1000, 5000] {
        let output = softmax(wr_dtype::WR_F32, &vec![3.25f32; length], [1, length, 1]);
        assert!(
            output
                .iter()
                .all(|&share| share.to_bits() == (1.0 / length as f32).to_bits()),
            "{length} elements"
        );
    }
}

#[test]
fn the_input_may_be_the_output() {
    let mut values = logits(11, 5000, 10.0);
    let expected = softmax(wr_dtype::WR_F32, &values, [5, 1000, 1]);
    let place = start_mut(&mut values);
    // SAFETY: `place` is to 5000 values.
    let status = unsafe { wr_softmax(wr_dtype::WR_F32, place, place, 5, 1000, 1, host()) };
    assert_eq!(status, wr_status::WR_SUCCESS);
    assert!(values
        .iter()
        .zip(&expected)
        .all(|(got, expected)| got.to_bits() == expected.to_bits()));
}

#[test]
fn log_softmax_is_the_logit_less_the_logarithm_of_the_sum() {
    let input = logits(12, 3000, 30.0);
    let mut output = vec![0f32; 3000];
    // SAFETY: both slices have 3000 elements.
    let status = unsafe {
        wr_log_softmax(
            wr_dtype::WR_F32,
            start(&input),
            start_mut(&mut output),
            1,
            3000,
            1,
            host(),
        )
    };
    assert_eq!(status, wr_status::WR_SUCCESS);
    let (_, logsumexp) = reference(&widen(&input));
    for (got, logit) in output.iter().zip(&input) {
        let expected = f64::from(*logit) - logsumexp;
        assert!(
            (f64::from(*got) - expected).abs() <= 4.0 * f32_ulp(expected.abs().max(1.0)),
            "{got}, not {expected}"
        );
    }
}

#[test]
fn scale_multiplies_the_logits_and_logsumexp_comes_along() {
    let input = logits(13, 2500, 30.0);
    let scaled: Vec<f64> = input.iter().map(|logit| f64::from(logit * 0.125)).collect();
    let (mut output, mut logsumexp) = (vec![0f32; 2500], [0f32]);
    let args = wr_softmax_args {
        scale: 0.125,
        input: start(&input),
        output: start_mut(&mut output),
        logsumexp: start_mut(&mut logsumexp),
        ..softmax_args(wr_dtype::WR_F32, [1, 2500, 1])
    };
    // SAFETY: the arguments describe `input`, `output` and `logsumexp`.
    assert_eq!(
        unsafe { wr_softmax_ex(&args, host()) },
        wr_status::WR_SUCCESS
    );
    let (expected, expected_logsumexp) = reference(&scaled);
    for (got, expected) in output.iter().zip(expected) {
        assert!(
            (f64::from(*got) - expected).abs() <= 4.0 * f32_ulp(expected),
            "{got:e}, not {expected:e}"
        );
    }
    assert!(
        (f64::from(logsumexp[0]) - expected_logsumexp).abs() <= 4.0 * f32_ulp(expected_logsumexp)
    );
}

#[test]
fn a_row_with_nothing_to_share_is_nan_or_by_choice_zero() {
    let input = [f32::NEG_INFINITY; 1500];
    let output = softmax(wr_dtype::WR_F32, &input, [1, 1500, 1]);
    assert!(output.iter().all(|share| share.to_bits() == 0x7FC0_0000));

    let mut output = vec![1f32; 1500];
    let args = wr_softmax_args {
        empty_row: wr_empty_row::WR_EMPTY_ROW_ZERO,
        input: start(&input),
        output: start_mut(&mut output),
        ..softmax_args(wr_dtype::WR_F32, [1, 1500, 1])
    };
    // SAFETY: the arguments describe `input` and `output`.
    assert_eq!(
        unsafe { wr_softmax_ex(&args, host()) },
        wr_status::WR_SUCCESS
    );
    assert!(output.iter().all(|share| share.to_bits() == 0));
}
