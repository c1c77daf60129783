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

/// `wr_reduce` into as many elements of the input's type as the shape leaves.
pub fn reduce<T: Copy + Default>(op: wr_op, dtype: wr_dtype, input: &[T], shape: Shape) -> Vec<T> {
    reduce_to(op, dtype, input, shape)
}

/// `wr_reduce` of an operator that gives elements of type `O`.
pub fn reduce_to<T, O: Copy + Default>(
    op: wr_op,
    dtype: wr_dtype,
    input: &[T],
    [outer, axis, inner]: Shape,
) -> Vec<O> {
    assert_eq!(input.len(), outer * axis * inner);
    let mut output = vec![O::default(); outer * inner];
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

/// `wr_reduce_ex` on the host stream.
pub fn reduce_as(args: &wr_reduce_args) {
    // SAFETY: the callers' arguments describe their own slices.
    assert_eq!(unsafe { wr_reduce_ex(args, host()) }, wr_status::WR_SUCCESS);
}

/// `wr_reduce_segments` into one element a segment.
pub fn segments<T, O: Copy + Default>(
    op: wr_op,
    dtype: wr_dtype,
    input: &[T],
    offsets: &[i64],
) -> Vec<O> {
    let mut output = vec![O::default(); offsets.len() - 1];
    // SAFETY: the input reaches to the last offset, the output has an element a segment.
    let status = unsafe {
        wr_reduce_segments(
            op,
            dtype,
            start(input),
            start_mut(&mut output),
            offsets.as_ptr(),
            output.len(),
            host(),
        )
    };
    assert_eq!(status, wr_status::WR_SUCCESS);
    output
}

/// `wr_dot` of two vectors of one length.
pub fn dot<T: Copy + Default>(dtype: wr_dtype, left: &[T], right: &[T]) -> T {
    assert_eq!(left.len(), right.len());
    let mut output = [T::default()];
    // SAFETY: both vectors have the length that is given, the output is one element.
    let status = unsafe {
        wr_dot(
            dtype,
            start(left),
            start(right),
            start_mut(&mut output),
            left.len(),
            host(),
        )
    };
    assert_eq!(status, wr_status::WR_SUCCESS);
    output[0]
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
