//! The library's calls over slices.

use core::ffi::c_void;
use core::mem::size_of;
use warp_reduce_sys::*;

/// `[outer, axis, inner]`.
pub type Shape = [usize; 3];

pub fn host() -> *mut CUstream_st {
    // SAFETY: takes nothing.
    unsafe { wr_host_stream() }
}

/// `wr_reduce` into as many elements as the shape leaves.
pub fn reduce<T: Copy + Default>(
    op: wr_op,
    dtype: wr_dtype,
    input: &[T],
    [outer, axis, inner]: Shape,
) -> Vec<T> {
    assert_eq!(input.len(), outer * axis * inner);
    let mut output = vec![T::default(); outer * inner];
    // SAFETY: both slices have the lengths that the shape says.
    let status = unsafe {
        wr_reduce(
            op,
            dtype,
            start(input),
            start_mut(&mut output),
            outer,
            axis,
            inner,
            host(),
        )
    };
    assert_eq!(status, wr_status::WR_SUCCESS);
    output
}

/// `wr_softmax` into an array of the input's shape.
pub fn softmax<T: Copy + Default>(
    dtype: wr_dtype,
    input: &[T],
    [outer, axis, inner]: Shape,
) -> Vec<T> {
    assert_eq!(input.len(), outer * axis * inner);
    let mut output = vec![T::default(); input.len()];
    // SAFETY: both slices have the lengths that the shape says.
    let status = unsafe {
        wr_softmax(
            dtype,
            start(input),
            start_mut(&mut output),
            outer,
            axis,
            inner,
            host(),
        )
    };
    assert_eq!(status, wr_status::WR_SUCCESS);
    output
}

/// Every knob of a reduction at its default, for a shape.
pub fn reduce_args(op: wr_op, dtype: wr_dtype, [outer, axis, inner]: Shape) -> wr_reduce_args {
    let struct_size = size_of::<wr_reduce_args>();
    wr_reduce_args {
        struct_size,
        op,
        dtype,
        outer,
        axis,
        inner,
        ..Default::default()
    }
}

/// Every knob of softmax at its default, for a shape.
pub fn softmax_args(dtype: wr_dtype, [outer, axis, inner]: Shape) -> wr_softmax_args {
    let struct_size = size_of::<wr_softmax_args>();
    wr_softmax_args {
        struct_size,
        dtype,
        outer,
        axis,
        inner,
        ..Default::default()
    }
}

pub fn start<T>(values: &[T]) -> *const c_void {
    values.as_ptr().cast()
}

pub fn start_mut<T>(values: &mut [T]) -> *mut c_void {
    values.as_mut_ptr().cast()
}
