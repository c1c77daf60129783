//! One call of the library, from a crate that does nothing to find it.

#![no_std]

use warp_reduce_sys::{wr_dtype, wr_host_stream, wr_op, wr_reduce, wr_status};

/// The sum of an array, on the host device.
///
/// # Errors
///
/// What `wr_reduce` answers where it does not answer `WR_SUCCESS`.
pub fn sum(values: &[f64]) -> Result<f64, wr_status> {
    let mut sum = 0.0f64;
    let (input, output) = (values.as_ptr().cast(), core::ptr::from_mut(&mut sum).cast());
    // SAFETY: `input` is to values.len() numbers, `output` to one, and the host stream takes ordinary memory.
    let status = unsafe {
        wr_reduce(
            wr_op::WR_SUM,
            wr_dtype::WR_F64,
            input,
            output,
            1,
            values.len(),
            1,
            wr_host_stream(),
        )
    };
    match status {
        wr_status::WR_SUCCESS => Ok(sum),
        refused => Err(refused),
    }
}
