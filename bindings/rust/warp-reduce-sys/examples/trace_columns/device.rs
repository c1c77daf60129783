//! Where the sums are computed: in ordinary memory on the host stream, or in a GPU's memory on a stream of its own.

use crate::driver::Driver;
use core::ffi::c_void;
use warp_reduce_sys::{wr_host_stream, CUstream_st};

pub enum Device {
    Host,
    Gpu(Driver),
}

impl Device {
    pub fn stream(&self) -> *mut CUstream_st {
        match self {
            // SAFETY: takes nothing.
            Device::Host => unsafe { wr_host_stream() },
            Device::Gpu(driver) => driver.stream(),
        }
    }

    /// Moves values to where the device's jobs can use them.
    pub fn array<T: Copy>(&self, values: Vec<T>) -> Result<Array<'_, T>, String> {
        let on_gpu = match self {
            Device::Host => None,
            Device::Gpu(driver) => Some((driver, driver.copy_of(&values)?)),
        };
        Ok(Array { values, on_gpu })
    }

    /// Until the jobs on the stream have run.
    pub fn wait(&self) -> Result<(), String> {
        match self {
            Device::Host => Ok(()),
            Device::Gpu(driver) => driver.wait(),
        }
    }
}

/// An array that the device's jobs can use; on a GPU, `values` is what was there before them.
pub struct Array<'device, T> {
    values: Vec<T>,
    on_gpu: Option<(&'device Driver, u64)>,
}

impl<T: Copy> Array<'_, T> {
    pub fn address(&mut self) -> *mut c_void {
        match self.on_gpu {
            None => self.values.as_mut_ptr().cast(),
            Some((_, address)) => address as *mut c_void,
        }
    }

    /// What the array holds once the jobs on the stream have run.
    pub fn read(&mut self) -> Result<&[T], String> {
        if let Some((driver, address)) = self.on_gpu {
            driver.read(address, &mut self.values)?;
        }
        Ok(&self.values)
    }
}

impl<T> Drop for Array<'_, T> {
    fn drop(&mut self) {
        if let Some((driver, address)) = self.on_gpu {
            driver.free(address);
        }
    }
}
