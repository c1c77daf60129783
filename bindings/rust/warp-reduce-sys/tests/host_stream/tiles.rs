use crate::calls::{host, start, start_mut};
use crate::pairwise::pairwise_f32;
use crate::random::Random;
use warp_reduce_sys::*;

const WIDTHS: [usize; 5] = [2, 4, 8, 16, 32];
/// The last tile is short, for every width.
const LANES: usize = 1003;

fn tile_reduce<T: Copy, O: Copy + Default>(
    op: wr_op,
    dtype: wr_dtype,
    input: &[T],
    width: usize,
) -> Vec<O> {
    let mut output = vec![O::default(); input.len()];
    // SAFETY: the output has an element a lane.
    let status = unsafe {
        wr_tile_reduce(
            op,
            dtype,
            start(input),
            start_mut(&mut output),
            input.len(),
            width as u32,
            host(),
        )
    };
    assert_eq!(status, wr_status::WR_SUCCESS);
    output
}

fn shuffle(mode: wr_shuffle, input: &[u64], width: usize, operand: usize) -> Vec<u64> {
    let mut output = vec![0; input.len()];
    // SAFETY: the output has an element a lane.
    let status = unsafe {
        wr_tile_shuffle(
            mode,
            wr_dtype::WR_U64,
            start(input),
            start_mut(&mut output),
            input.len(),
            width as u32,
            operand as u32,
            host(),
        )
    };
    assert_eq!(status, wr_status::WR_SUCCESS);
    output
}

fn vote(vote: wr_vote, predicates: &[i32], width: usize, members: u32) -> Vec<u32> {
    let mut output = vec![0; predicates.len()];
    // SAFETY: the output has an element a lane.
    let status = unsafe {
        wr_tile_vote(
            vote,
            predicates.as_ptr(),
            output.as_mut_ptr(),
            predicates.len(),
            width as u32,
            members,
            host(),
        )
    };
    assert_eq!(status, wr_status::WR_SUCCESS);
    output
}

fn match_any(input: &[u32], width: usize, members: u32) -> Vec<u32> {
    let mut output = vec![0; input.len()];
    // SAFETY: the output has an element a lane.
    let status = unsafe {
        wr_tile_match(
            wr_match::WR_MATCH_ANY,
            wr_dtype::WR_U32,
            start(input),
            output.as_mut_ptr(),
            input.len(),
            width as u32,
            members,
            host(),
        )
    };
    assert_eq!(status, wr_status::WR_SUCCESS);
    output
}

/// Bit i for lane i where `holds`, of the lanes that `members` names.
fn mask<T>(tile: &[T], members: u32, holds: impl Fn(&T) -> bool) -> u32 {
    let bits = tile.iter().enumerate();
    bits.filter(|&(lane, value)| members >> lane & 1 == 1 && holds(value))
        .fold(0, |mask, (lane, _)| mask | 1 << lane)
}

#[test]
fn every_lane_gets_the_result_of_its_tile() {
    let mut random = Random(300);
    let floats = random.f32s(LANES);
    let integers: Vec<u16> = (0..LANES).map(|_| random.next() as u16).collect();
    for width in WIDTHS {
        let sums: Vec<f32> = tile_reduce(wr_op::WR_SUM, wr_dtype::WR_F32, &floats, width);
        let largest: Vec<u16> = tile_reduce(wr_op::WR_MAX, wr_dtype::WR_U16, &integers, width);
        let lanes: Vec<i64> = tile_reduce(wr_op::WR_ARGMIN, wr_dtype::WR_U16, &integers, width);
        for lane in 0..LANES {
            let tile = lane / width * width..LANES.min((lane / width + 1) * width);
            let sum = pairwise_f32(&floats[tile.clone()]);
            assert_eq!(
                sums[lane].to_bits(),
                sum.to_bits(),
                "width {width}, lane {lane}"
            );
            let tile = &integers[tile];
            assert_eq!(
                Some(&largest[lane]),
                tile.iter().max(),
                "width {width}, lane {lane}"
            );
            let least = (0..tile.len()).min_by_key(|&place| tile[place]);
            assert_eq!(
                Some(lanes[lane] as usize),
                least,
                "width {width}, lane {lane}"
            );
        }
    }
}

#[test]
fn a_shuffle_takes_the_other_lane_and_keeps_its_own_where_there_is_none() {
    let mut random = Random(301);
    let input: Vec<u64> = (0..LANES).map(|_| random.next()).collect();
    for (width, operand) in WIDTHS
        .into_iter()
        .flat_map(|width| [(width, 1), (width, width - 1)])
    {
        let source = [
            (wr_shuffle::WR_SHUFFLE_UP, -(operand as isize), None),
            (wr_shuffle::WR_SHUFFLE_DOWN, operand as isize, None),
            (wr_shuffle::WR_SHUFFLE_XOR, 0, Some(operand)),
        ];
        for (mode, step, flipped) in source {
            let output = shuffle(mode, &input, width, operand);
            for (lane, value) in output.into_iter().enumerate() {
                let inside = (lane % width) as isize + step;
                let inside = flipped.map_or(inside, |flipped| inside ^ flipped as isize);
                let from = (lane - lane % width).wrapping_add_signed(inside);
                let reachable = (0..width as isize).contains(&inside) && from < LANES;
                let expected = input[if reachable { from } else { lane }];
                assert_eq!(
                    value, expected,
                    "{mode:?} {operand}, width {width}, lane {lane}"
                );
            }
        }
    }
}

#[test]
fn votes_and_matches_count_the_members_alone() {
    let mut random = Random(302);
    let values: Vec<u32> = (0..LANES).map(|_| (random.next() % 3) as u32).collect();
    let predicates: Vec<i32> = values.iter().map(|&value| value as i32 - 1).collect();
    for width in WIDTHS {
        let members = 0xB6D5_35DBu32 >> (32 - width);
        let ballots = vote(wr_vote::WR_VOTE_BALLOT, &predicates, width, members);
        let matches = match_any(&values, width, members);
        for lane in 0..LANES {
            let tile = lane / width * width..LANES.min((lane / width + 1) * width);
            let is_member = members >> (lane % width) & 1 == 1;
            let ballot = mask(&predicates[tile.clone()], members, |&predicate| {
                predicate != 0
            });
            let same = mask(&values[tile], members, |&value| value == values[lane]);
            let expected = if is_member { (ballot, same) } else { (0, 0) };
            assert_eq!(
                (ballots[lane], matches[lane]),
                expected,
                "width {width}, lane {lane}"
            );
        }
    }
}
