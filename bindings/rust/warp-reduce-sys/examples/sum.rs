//! Sums words of the KoalaBear prime field on the host device and checks the sum against u64 arithmetic.
//!
//!     cargo run --release --example sum [how many words]

use std::env;
use std::ffi::CStr;
use std::process::ExitCode;
use std::time::Instant;
use warp_reduce_sys::*;

const PRIME: u64 = (1 << 31) - (1 << 24) + 1;

fn main() -> ExitCode {
    let count = env::args()
        .nth(1)
        .map_or(Ok(1 << 24), |count| count.parse());
    let Ok(count) = count else {
        eprintln!("usage: sum [how many words]");
        return ExitCode::FAILURE;
    };
    let words = field_elements(count);
    let begin = Instant::now();
    let sum = match sum_on_the_host(&words) {
        Ok(sum) => sum,
        Err(status) => {
            eprintln!("wr_reduce: {}", sentence(status));
            return ExitCode::FAILURE;
        }
    };
    let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
    let expected = words.iter().map(|&word| u64::from(word)).sum::<u64>() % PRIME;
    println!("sum of {count} KoalaBear words  {sum}  ({milliseconds:.3} ms on the host device)");
    println!("the same in u64 arithmetic      {expected}");
    if u64::from(sum) == expected {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The powers of 3, which generates the field's multiplicative group: they go round all words but zero.
fn field_elements(count: usize) -> Vec<u32> {
    let next = |word: &u64| Some(word * 3 % PRIME);
    std::iter::successors(Some(1u64), next)
        .take(count)
        .map(|word| word as u32)
        .collect()
}

fn sum_on_the_host(words: &[u32]) -> Result<u32, wr_status> {
    let mut sum = 0u32;
    let (input, output) = (words.as_ptr().cast(), std::ptr::from_mut(&mut sum).cast());
    // SAFETY: `input` is to words.len() words, `output` to one, and the host stream takes ordinary memory.
    let status = unsafe {
        wr_reduce(
            wr_op::WR_SUM,
            wr_dtype::WR_KOALABEAR,
            input,
            output,
            1,
            words.len(),
            1,
            wr_host_stream(),
        )
    };
    match status {
        wr_status::WR_SUCCESS => Ok(sum),
        refused => Err(refused),
    }
}

fn sentence(status: wr_status) -> String {
    // SAFETY: the string is static and ends with a zero byte.
    unsafe { CStr::from_ptr(wr_status_string(status)) }
        .to_string_lossy()
        .into_owned()
}
