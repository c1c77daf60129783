use core::ffi::{c_char, CStr};
use warp_reduce_sys::*;

fn text(text: *const c_char) -> &'static str {
    assert!(!text.is_null());
    // SAFETY: the header promises a static string that ends with a zero byte.
    unsafe { CStr::from_ptr(text) }
        .to_str()
        .expect("the library writes UTF-8")
}

#[test]
fn the_linked_library_is_of_a_compatible_version() {
    let part = |text: &str| text.parse::<u32>().expect("cargo gives numbers");
    // SAFETY: takes nothing.
    let version = unsafe { wr_version() };
    assert_eq!(version >> 16, part(env!("CARGO_PKG_VERSION_MAJOR")));
    assert_eq!(version >> 8 & 0xFF, part(env!("CARGO_PKG_VERSION_MINOR")));
    assert!(version & 0xFF >= part(env!("CARGO_PKG_VERSION_PATCH")));
}

#[test]
fn a_status_has_its_name_and_a_sentence() {
    let names = [
        (wr_status::WR_SUCCESS, "WR_SUCCESS"),
        (wr_status::WR_ERROR_OVERLAP, "WR_ERROR_OVERLAP"),
        (wr_status::WR_ERROR_NO_DRIVER, "WR_ERROR_NO_DRIVER"),
        (wr_status::WR_ERROR_INTERNAL, "WR_ERROR_INTERNAL"),
    ];
    for (status, name) in names {
        // SAFETY: any value is allowed.
        assert_eq!(text(unsafe { wr_status_name(status) }), name);
        // SAFETY: any value is allowed.
        assert!(text(unsafe { wr_status_string(status) }).len() > 10);
    }
    for unknown in [wr_status(999), wr_status(1002), wr_status(u32::MAX)] {
        // SAFETY: any value is allowed.
        unsafe {
            (
                text(wr_status_name(unknown)),
                text(wr_status_string(unknown)),
            )
        };
    }
}

#[test]
fn an_element_has_the_size_of_its_rust_type() {
    let sizes = [
        (wr_dtype::WR_F32, 4),
        (wr_dtype::WR_F64, 8),
        (wr_dtype::WR_BF16, 2),
        (wr_dtype::WR_I64, 8),
        (wr_dtype::WR_KOALABEAR, 4),
        (wr_dtype::WR_KOALABEAR_X4, 16),
        (wr_dtype(0), 0),
        (wr_dtype(12345), 0),
    ];
    for (dtype, size) in sizes {
        // SAFETY: any value is allowed.
        assert_eq!(unsafe { wr_dtype_size(dtype) }, size, "{dtype:?}");
    }
}
