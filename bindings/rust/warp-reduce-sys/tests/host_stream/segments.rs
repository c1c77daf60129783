use crate::calls::{host, reduce, segments, start, start_mut};
use crate::random::Random;
use core::mem::size_of;
use warp_reduce_sys::*;

/// Empty segments, short ones, one with most of the elements, and a few in front that belong to none.
fn ragged_offsets() -> Vec<i64> {
    let mut random = Random(100);
    let mut offsets = vec![5i64];
    for segment in 0..2000 {
        let length = match segment {
            700 => 50_000,
            _ if segment % 3 == 0 => 0,
            _ => (random.next() % 40) as i64,
        };
        offsets.push(offsets[segment] + length);
    }
    offsets
}

fn elements<'a, T>(input: &'a [T], offsets: &'a [i64]) -> impl Iterator<Item = &'a [T]> {
    offsets
        .windows(2)
        .map(|ends| &input[ends[0] as usize..ends[1] as usize])
}

fn end(offsets: &[i64]) -> usize {
    offsets[offsets.len() - 1] as usize
}

#[test]
fn a_segment_of_floats_has_the_bits_of_wr_reduce_on_it_alone() {
    let offsets = ragged_offsets();
    let input = Random(101).f32s(end(&offsets));
    for op in [
        wr_op::WR_SUM,
        wr_op::WR_MAX,
        wr_op::WR_NORM_L2,
        wr_op::WR_MEAN,
    ] {
        let results: Vec<f32> = segments(op, wr_dtype::WR_F32, &input, &offsets);
        for (segment, alone) in elements(&input, &offsets).enumerate() {
            let expected = reduce(op, wr_dtype::WR_F32, alone, [1, alone.len(), 1]);
            assert_eq!(
                results[segment].to_bits(),
                expected[0].to_bits(),
                "{op:?}, segment {segment}"
            );
        }
    }
}

#[test]
fn sums_and_positions_are_those_of_an_iterator() {
    let offsets = ragged_offsets();
    let mut random = Random(102);
    let input: Vec<i32> = (0..end(&offsets))
        .map(|_| random.next() as i32 >> 20)
        .collect();
    let sums: Vec<i32> = segments(wr_op::WR_SUM, wr_dtype::WR_I32, &input, &offsets);
    let places: Vec<i64> = segments(wr_op::WR_ARGMIN, wr_dtype::WR_I32, &input, &offsets);
    for (segment, alone) in elements(&input, &offsets).enumerate() {
        assert_eq!(
            sums[segment],
            alone.iter().sum::<i32>(),
            "segment {segment}"
        );
        // The first of equal ones; counted from the segment's first element.
        let least = (0..alone.len()).min_by_key(|&place| alone[place]);
        let expected = least.map_or(-1, |place| place as i64);
        assert_eq!(places[segment], expected, "segment {segment}");
    }
}

#[test]
fn offsets_may_be_of_32_bits() {
    let input = [1u64, 2, 4, 8, 16];
    let offsets = [0i32, 2, 2, 5];
    let mut output = [0u64; 3];
    let args = wr_reduce_segments_args {
        struct_size: size_of::<wr_reduce_segments_args>(),
        op: wr_op::WR_SUM,
        dtype: wr_dtype::WR_U64,
        offsets_dtype: wr_dtype::WR_I32,
        input: start(&input),
        output: start_mut(&mut output),
        offsets: start(&offsets),
        segments: output.len(),
        ..Default::default()
    };
    // SAFETY: the arguments describe `input`, `offsets` and `output`.
    let status = unsafe { wr_reduce_segments_ex(&args, host()) };
    assert_eq!(status, wr_status::WR_SUCCESS);
    assert_eq!(output, [3, 0, 28]);
}

#[test]
fn offsets_that_decrease_are_refused() {
    let (input, mut output) = ([1f32; 8], [7f32; 2]);
    for offsets in [[0i64, 5, 4], [-1, 2, 4], [3, 2, 4]] {
        // SAFETY: the host device looks at the offsets before it follows them.
        let status = unsafe {
            wr_reduce_segments(
                wr_op::WR_SUM,
                wr_dtype::WR_F32,
                start(&input),
                start_mut(&mut output),
                offsets.as_ptr(),
                2,
                host(),
            )
        };
        assert_eq!(status, wr_status::WR_ERROR_INVALID_OFFSETS, "{offsets:?}");
        assert_eq!(output, [7.0; 2]);
    }
}
