use crate::calls::{host, reduce_args, softmax_args, start, start_mut};
use core::mem::size_of;
use core::ptr;
use warp_reduce_sys::*;

const MARK: f32 = 12.5;

/// A sum of eight f32 that `change` spoils; the output must stay as it was.
fn refused(change: impl Fn(&mut wr_reduce_args)) -> wr_status {
    let input = [1f32; 8];
    let mut output = [MARK; 8];
    let mut args = reduce_args(wr_op::WR_SUM, wr_dtype::WR_F32, [1, 8, 1]);
    args.input = start(&input);
    args.output = start_mut(&mut output);
    change(&mut args);
    // SAFETY: what `change` spoils is what the call checks before it reads or writes.
    let status = unsafe { wr_reduce_ex(&args, host()) };
    assert_eq!(output, [MARK; 8], "{status:?} wrote something");
    status
}

#[test]
fn each_cause_of_a_refused_reduction_has_its_own_status() {
    assert_eq!(
        refused(|args| args.input = ptr::null()),
        wr_status::WR_ERROR_NULL_POINTER
    );
    assert_eq!(
        refused(|args| args.output = ptr::null_mut()),
        wr_status::WR_ERROR_NULL_POINTER
    );
    assert_eq!(
        refused(|args| args.op = wr_op(0)),
        wr_status::WR_ERROR_INVALID_OP
    );
    assert_eq!(
        refused(|args| args.op = wr_op(99)),
        wr_status::WR_ERROR_INVALID_OP
    );
    assert_eq!(
        refused(|args| args.dtype = wr_dtype(0)),
        wr_status::WR_ERROR_INVALID_DTYPE
    );
    assert_eq!(
        refused(|args| args.nan_mode = wr_nan_mode(2)),
        wr_status::WR_ERROR_INVALID_OPTION
    );
    assert_eq!(
        refused(|args| args.add_to_output = 2),
        wr_status::WR_ERROR_INVALID_OPTION
    );
    assert_eq!(
        refused(|args| args.values = args.output),
        wr_status::WR_ERROR_UNSUPPORTED
    );
    assert_eq!(
        refused(|args| args.output_dtype = wr_dtype::WR_KOALABEAR),
        wr_status::WR_ERROR_UNSUPPORTED
    );
    assert_eq!(
        refused(|args| args.outer = usize::MAX / 2),
        wr_status::WR_ERROR_SIZE_OVERFLOW
    );
    assert_eq!(
        refused(|args| args.input = args.input.wrapping_byte_add(1)),
        wr_status::WR_ERROR_MISALIGNED
    );
    assert_eq!(
        refused(|args| args.output = args.input.wrapping_byte_add(4).cast_mut()),
        wr_status::WR_ERROR_OVERLAP
    );
    assert_eq!(
        refused(|args| args.struct_size = 0),
        wr_status::WR_ERROR_STRUCT_SIZE
    );
    assert_eq!(
        refused(|args| args.struct_size = size_of::<wr_reduce_args>() - 1),
        wr_status::WR_ERROR_STRUCT_SIZE
    );
}

#[test]
fn the_short_calls_refuse_too() {
    let words = [1u32; 8];
    let mut output = [7u32; 8];
    let (input, out) = (start(&words), start_mut(&mut output));
    // SAFETY: both are arrays of eight words, as the shapes say.
    unsafe {
        let status = wr_reduce(
            wr_op::WR_MIN,
            wr_dtype::WR_KOALABEAR,
            input,
            out,
            1,
            8,
            1,
            host(),
        );
        assert_eq!(status, wr_status::WR_ERROR_UNSUPPORTED);
        let status = wr_softmax(wr_dtype::WR_I32, input, out, 1, 8, 1, host());
        assert_eq!(status, wr_status::WR_ERROR_UNSUPPORTED);
        let status = wr_log_softmax(wr_dtype::WR_F32, input, ptr::null_mut(), 1, 8, 1, host());
        assert_eq!(status, wr_status::WR_ERROR_NULL_POINTER);
        assert_eq!(
            wr_reduce_ex(ptr::null(), host()),
            wr_status::WR_ERROR_NULL_POINTER
        );
        assert_eq!(
            wr_softmax_ex(ptr::null(), host()),
            wr_status::WR_ERROR_NULL_POINTER
        );
    }
    assert_eq!(output, [7; 8]);
}

#[test]
fn a_refused_query_leaves_the_bytes_alone() {
    let mut bytes = 4321;
    let mut args = softmax_args(wr_dtype::WR_F32, [1, 8, 1]);
    args.scale = f64::NAN;
    // SAFETY: both pointers are to live variables.
    let status = unsafe { wr_softmax_workspace_size(&args, &mut bytes) };
    assert_eq!(status, wr_status::WR_ERROR_INVALID_OPTION);
    assert_eq!(bytes, 4321);
}

#[test]
fn an_output_without_elements_needs_no_pointers() {
    // SAFETY: no element is read or written.
    let status = unsafe {
        wr_reduce(
            wr_op::WR_SUM,
            wr_dtype::WR_F32,
            ptr::null(),
            ptr::null_mut(),
            0,
            8,
            1,
            host(),
        )
    };
    assert_eq!(status, wr_status::WR_SUCCESS);
}

#[test]
fn without_a_gpu_a_cuda_stream_is_refused_with_what_is_missing() {
    // SAFETY: takes nothing.
    let missing = unsafe { wr_cuda_status() };
    if missing == wr_status::WR_SUCCESS {
        println!(
            "this machine has a GPU: nothing is missing, and host memory is not for its streams"
        );
        return;
    }
    let input = [1f32; 8];
    let mut output = [MARK];
    let legacy_default_stream = ptr::null_mut();
    let (values, sum) = (start(&input), start_mut(&mut output));
    // SAFETY: both pointers are to as many values as the shape says.
    let status = unsafe {
        wr_reduce(
            wr_op::WR_SUM,
            wr_dtype::WR_F32,
            values,
            sum,
            1,
            8,
            1,
            legacy_default_stream,
        )
    };
    assert_eq!(status, missing);
    assert_eq!(output, [MARK]);
}
