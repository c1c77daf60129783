//! Column sums of a trace matrix of KoalaBear words, plain and weighted by the powers of a challenge in the extension
//! of degree 4, checked against field arithmetic in plain Rust.
//!
//!     cargo run --release --example trace_columns [host|cuda] [rows] [columns]

mod device;
mod driver;
mod field;
mod trace;

use core::ffi::CStr;
use core::mem::size_of;
use device::Device;
use driver::Driver;
use field::Extension;
use std::env;
use std::process::ExitCode;
use std::time::Instant;
use trace::{powers_of, Trace};
use warp_reduce_sys::*;

/// In a prover this comes from the transcript.
const CHALLENGE: Extension = [1_234_567_890, 987_654_321, 192_837_465, 1_029_384_756];

const NO_GPU: u8 = 77;

fn main() -> ExitCode {
    let Some((on_gpu, rows, columns)) = arguments() else {
        eprintln!("usage: trace_columns [host|cuda] [rows] [columns]");
        return ExitCode::FAILURE;
    };
    // SAFETY: takes nothing.
    let available = unsafe { wr_cuda_status() };
    if on_gpu && available != wr_status::WR_SUCCESS {
        println!("needs a GPU: not run: {}", sentence(available));
        return ExitCode::from(NO_GPU);
    }
    match show_sums(on_gpu, &Trace::of_powers(rows, columns)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Option<(bool, usize, usize)> {
    let mut given = env::args().skip(1);
    let on_gpu = match given.next().as_deref() {
        None | Some("host") => false,
        Some("cuda") => true,
        Some(_) => return None,
    };
    let mut number = |default| given.next().map_or(Some(default), |text| text.parse().ok());
    Some((on_gpu, number(1 << 13)?, number(64)?))
}

/// Prints the sums, and gives whether all of them are right.
fn show_sums(on_gpu: bool, trace: &Trace) -> Result<bool, String> {
    let device = if on_gpu {
        Device::Gpu(Driver::open()?)
    } else {
        Device::Host
    };
    let name = if on_gpu { "GPU" } else { "host device" };
    let Trace { rows, columns, .. } = *trace;
    println!("A trace of {rows} rows and {columns} columns of KoalaBear words, on the {name}\n");

    let (sums, plain_time) = column_sums(&device, trace)?;
    let (values, weighted_time) = weighted_column_sums(&device, trace)?;
    print_table(&sums, &values);
    let sums_agree = (0..columns)
        .filter(|&column| field::element(sums[column]) == trace.column_sum(column))
        .count();
    let values_agree = (0..columns)
        .filter(|&column| values[column].map(field::element) == trace.column_at(column, CHALLENGE))
        .count();
    println!("plain sums     {plain_time:8.3} ms   {sums_agree} of {columns} columns are right");
    println!(
        "weighted sums  {weighted_time:8.3} ms   {values_agree} of {columns} columns are right"
    );
    Ok(sums_agree == columns && values_agree == columns)
}

/// A sum of all rows for each column.
fn column_sums(device: &Device, trace: &Trace) -> Result<(Vec<u32>, f64), String> {
    let mut input = device.array(trace.words.clone())?;
    let mut output = device.array(vec![0u32; trace.columns])?;
    let args = wr_reduce_args {
        input: input.address(),
        output: output.address(),
        ..sum_of_rows(trace)
    };
    // SAFETY: the arrays have the lengths that the arguments say, and outlive the job.
    let milliseconds = unsafe { run(device, &args) }?;
    Ok((output.read()?.to_vec(), milliseconds))
}

/// Likewise of challenge^row times the row: each column is a polynomial's coefficients, each sum its value at the
/// challenge. Words of the base field with weights of the extension give elements of the extension.
fn weighted_column_sums(device: &Device, trace: &Trace) -> Result<(Vec<[u32; 4]>, f64), String> {
    let mut input = device.array(trace.words.clone())?;
    let mut weights = device.array(powers_of(CHALLENGE, trace.rows))?;
    let mut output = device.array(vec![[0u32; 4]; trace.columns])?;
    let args = wr_reduce_args {
        weights_dtype: wr_dtype::WR_KOALABEAR_X4,
        input: input.address(),
        weights: weights.address(),
        output: output.address(),
        ..sum_of_rows(trace)
    };
    // SAFETY: as above, and there is a weight for each row.
    let milliseconds = unsafe { run(device, &args) }?;
    Ok((output.read()?.to_vec(), milliseconds))
}

fn sum_of_rows(trace: &Trace) -> wr_reduce_args {
    wr_reduce_args {
        struct_size: size_of::<wr_reduce_args>(),
        op: wr_op::WR_SUM,
        dtype: wr_dtype::WR_KOALABEAR,
        outer: 1,
        axis: trace.rows,
        inner: trace.columns,
        ..Default::default()
    }
}

/// Runs the job twice and gives the milliseconds of the second time; the first one may have kernels to load.
///
/// # Safety
///
/// That of `wr_reduce_ex`.
unsafe fn run(device: &Device, args: &wr_reduce_args) -> Result<f64, String> {
    let mut milliseconds = 0.0;
    for _ in 0..2 {
        device.wait()?;
        let begin = Instant::now();
        let status = wr_reduce_ex(args, device.stream());
        if status != wr_status::WR_SUCCESS {
            return Err(format!("wr_reduce_ex: {}", sentence(status)));
        }
        device.wait()?;
        milliseconds = begin.elapsed().as_secs_f64() * 1e3;
    }
    Ok(milliseconds)
}

/// The first columns and the last one, as integers of the field.
fn print_table(sums: &[u32], values: &[[u32; 4]]) {
    println!("column         sum   sum of challenge^row * element");
    for (column, (&sum, value)) in sums.iter().zip(values).enumerate() {
        if column < 4 || column + 1 == sums.len() {
            let [a, b, c, d] = value.map(field::element);
            let sum = field::element(sum);
            println!("{column:6}  {sum:10}   {a:10} + {b:10} x + {c:10} x^2 + {d:10} x^3");
        } else if column == 4 {
            println!("   ...");
        }
    }
    println!();
}

fn sentence(status: wr_status) -> String {
    // SAFETY: the string is static and ends with a zero byte.
    unsafe { CStr::from_ptr(wr_status_string(status)) }
        .to_string_lossy()
        .into_owned()
}
