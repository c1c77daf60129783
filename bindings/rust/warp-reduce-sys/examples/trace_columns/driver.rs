//! The few calls of the CUDA driver that an array on a GPU takes. A program with a CUDA crate of its own has its memory
//! and streams from there, and casts the raw stream as `stream` does.

use core::ffi::{c_int, c_uint, c_void};
use core::mem::size_of_val;
use libloading::Library;
use std::ptr;
use warp_reduce_sys::CUstream_st;

pub struct Driver {
    library: Library,
    stream: *mut c_void,
}

type Init = unsafe extern "C" fn(c_uint) -> c_int;
type DeviceGet = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type ContextRetain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
type StreamCreate = unsafe extern "C" fn(*mut *mut c_void, c_uint) -> c_int;
type OfHandle = unsafe extern "C" fn(*mut c_void) -> c_int;
type Allocate = unsafe extern "C" fn(*mut u64, usize) -> c_int;
type CopyToDevice = unsafe extern "C" fn(u64, *const c_void, usize) -> c_int;
type CopyFromDevice = unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int;
type Free = unsafe extern "C" fn(u64) -> c_int;

impl Driver {
    /// The first GPU, with a stream that copies wait for.
    pub fn open() -> Result<Driver, String> {
        // SAFETY: the driver's library may be loaded at any time.
        let library =
            unsafe { Library::new("libcuda.so.1") }.map_err(|error| format!("CUDA: {error}"))?;
        let mut driver = Driver {
            library,
            stream: ptr::null_mut(),
        };
        let (mut device, mut context) = (0, ptr::null_mut());
        // SAFETY: the signatures are those of cuda.h, and the pointers are to live variables.
        unsafe {
            driver.call("cuInit", |init: Init| init(0))?;
            driver.call("cuDeviceGet", |get: DeviceGet| get(&mut device, 0))?;
            // The context that the CUDA runtime, and so the library, uses too.
            driver.call("cuDevicePrimaryCtxRetain", |retain: ContextRetain| {
                retain(&mut context, device)
            })?;
            driver.call("cuCtxSetCurrent", |set: OfHandle| set(context))?;
            let mut stream = ptr::null_mut();
            driver.call("cuStreamCreate", |create: StreamCreate| {
                create(&mut stream, 0)
            })?;
            driver.stream = stream;
        }
        Ok(driver)
    }

    pub fn stream(&self) -> *mut CUstream_st {
        self.stream.cast()
    }

    pub fn copy_of<T: Copy>(&self, values: &[T]) -> Result<u64, String> {
        let (mut address, bytes) = (0, size_of_val(values));
        // SAFETY: `values` has as many bytes as are allocated and copied.
        unsafe {
            self.call("cuMemAlloc_v2", |allocate: Allocate| {
                allocate(&mut address, bytes)
            })?;
            self.call("cuMemcpyHtoD_v2", |copy: CopyToDevice| {
                copy(address, values.as_ptr().cast(), bytes)
            })?;
        }
        Ok(address)
    }

    pub fn read<T: Copy>(&self, address: u64, values: &mut [T]) -> Result<(), String> {
        self.wait()?;
        // SAFETY: the memory was made by `copy_of` for as many values.
        unsafe {
            self.call("cuMemcpyDtoH_v2", |copy: CopyFromDevice| {
                copy(values.as_mut_ptr().cast(), address, size_of_val(values))
            })
        }
    }

    pub fn wait(&self) -> Result<(), String> {
        // SAFETY: the stream lives as long as the driver.
        unsafe { self.call("cuStreamSynchronize", |wait: OfHandle| wait(self.stream)) }
    }

    /// Waits for the jobs that use the memory.
    pub fn free(&self, address: u64) {
        // SAFETY: the memory was made by `copy_of`.
        let freed = unsafe { self.call("cuMemFree_v2", |free: Free| free(address)) };
        if let Err(error) = freed {
            eprintln!("{error}");
        }
    }

    /// # Safety
    ///
    /// `F` must be the function's type, and what `call` hands over must be what cuda.h asks for.
    unsafe fn call<F: Copy>(
        &self,
        name: &str,
        call: impl FnOnce(F) -> c_int,
    ) -> Result<(), String> {
        let function = self.library.get::<F>(name.as_bytes());
        let function = function.map_err(|error| format!("CUDA: {error}"))?;
        match call(*function) {
            0 => Ok(()),
            error => Err(format!("{name}: CUDA's error {error}")),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // SAFETY: nothing uses the stream any more. A process that ends needs no word on what this gives.
        let _ = unsafe {
            self.call("cuStreamDestroy_v2", |destroy: OfHandle| {
                destroy(self.stream)
            })
        };
    }
}
