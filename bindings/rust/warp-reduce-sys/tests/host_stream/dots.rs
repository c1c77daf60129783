use crate::calls::{dot, host, start, start_mut};
use crate::pairwise::{pairwise_f32, pairwise_f64};
use crate::random::Random;
use core::mem::size_of;
use warp_reduce_sys::*;

const LENGTHS: [usize; 7] = [0, 1, 2, 33, 1025, 4097, 300_001];

#[test]
fn a_dot_of_floats_rounds_each_product_and_adds_pairwise() {
    for length in LENGTHS {
        let mut random = Random(length as u64);
        let (left, right) = (random.f32s(length), random.f32s(length));
        let products: Vec<f32> = left.iter().zip(&right).map(|(l, r)| l * r).collect();
        assert_eq!(
            dot(wr_dtype::WR_F32, &left, &right).to_bits(),
            pairwise_f32(&products).to_bits(),
            "{length} elements"
        );
    }
}

#[test]
fn a_dot_may_be_kept_in_f64() {
    let mut random = Random(64);
    let (left, right) = (random.f32s(70_001), random.f32s(70_001));
    let wide = |(&l, &r): (&f32, &f32)| f64::from(l) * f64::from(r);
    let products: Vec<f64> = left.iter().zip(&right).map(wide).collect();
    let mut output = [0f64];
    let args = wr_dot_args {
        struct_size: size_of::<wr_dot_args>(),
        dtype: wr_dtype::WR_F32,
        accumulate_dtype: wr_dtype::WR_F64,
        output_dtype: wr_dtype::WR_F64,
        left: start(&left),
        right: start(&right),
        output: start_mut(&mut output),
        count: left.len(),
        ..Default::default()
    };
    // SAFETY: the arguments describe `left`, `right` and `output`.
    assert_eq!(unsafe { wr_dot_ex(&args, host()) }, wr_status::WR_SUCCESS);
    assert_eq!(output[0].to_bits(), pairwise_f64(&products).to_bits());
}

#[test]
fn a_dot_of_integers_wraps() {
    let mut random = Random(65);
    let mut integers = || -> Vec<i32> { (0..100_003).map(|_| random.next() as i32).collect() };
    let (left, right) = (integers(), integers());
    let products = left.iter().zip(&right).map(|(l, r)| l.wrapping_mul(*r));
    assert_eq!(
        dot(wr_dtype::WR_I32, &left, &right),
        products.fold(0, i32::wrapping_add)
    );
}

#[test]
fn a_vector_may_be_multiplied_with_itself() {
    let values = [3i64, -4, 5];
    assert_eq!(dot(wr_dtype::WR_I64, &values, &values), 50);
}
