use crate::calls::{host, reduce, softmax};
use crate::random::Random;
use std::thread;
use warp_reduce_sys::*;

const THREADS: u64 = 8;
const ROUNDS: u64 = 20;

/// The bits of a job that goes through sums of every kind and a softmax.
fn job(seed: u64) -> Vec<u32> {
    let mut random = Random(seed);
    let length = 1 + (random.next() % 40_000) as usize;
    let values = random.f32s(length);
    let words: Vec<u32> = values
        .iter()
        .map(|value| value.to_bits() % 0x7F00_0001)
        .collect();
    let mut bits = reduce(
        wr_op::WR_SUM,
        wr_dtype::WR_KOALABEAR,
        &words,
        [1, length, 1],
    );
    for op in [wr_op::WR_SUM, wr_op::WR_MEAN, wr_op::WR_MIN, wr_op::WR_MAX] {
        bits.push(reduce(op, wr_dtype::WR_F32, &values, [1, length, 1])[0].to_bits());
    }
    bits.extend(
        softmax(wr_dtype::WR_F32, &values, [1, length, 1])
            .iter()
            .map(|share| share.to_bits()),
    );
    bits
}

#[test]
fn calls_of_many_threads_at_once_give_the_bits_of_one() {
    let seeds = |thread: u64| (0..ROUNDS).map(move |round| thread * ROUNDS + round);
    let alone: Vec<Vec<Vec<u32>>> = (0..THREADS)
        .map(|thread| seeds(thread).map(job).collect())
        .collect();
    let together: Vec<Vec<Vec<u32>>> = thread::scope(|scope| {
        let running: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || seeds(thread).map(job).collect()))
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"))
            .collect()
    });
    assert!(alone == together);
}

#[test]
fn the_host_stream_is_the_same_in_every_thread() {
    let here = host() as usize;
    assert_ne!(here, 0);
    let there = thread::spawn(|| host() as usize)
        .join()
        .expect("the thread does not panic");
    assert_eq!(here, there);
}
