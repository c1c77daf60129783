//! Finds libwarp_reduce: where `WARP_REDUCE_LIB_DIR` says, through pkg-config, or by building the sources in `vendor/`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const FILE_NAME: &str = "libwarp_reduce.so";
const HEADER: &str = "warp_reduce.h";

/// A library that is ready to be linked.
struct Library {
    lib_dir: PathBuf,
    include_dir: PathBuf,
}

fn main() -> ExitCode {
    // docs.rs has neither the library nor CUDA, and links nothing.
    if variable("DOCS_RS").is_some() {
        return ExitCode::SUCCESS;
    }
    match target_loads_shared_libraries()
        .and_then(|()| find())
        .and_then(|library| announce(&library))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("warp-reduce-sys: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// The library is shared, and for 64-bit Linux: a program that is linked statically builds all the same, and dies before
/// `main`.
fn target_loads_shared_libraries() -> Result<(), String> {
    let target = env::var("TARGET").unwrap_or_default();
    let told = |name: &str| env::var(name).unwrap_or_default();
    if told("CARGO_CFG_TARGET_OS") != "linux" || told("CARGO_CFG_TARGET_POINTER_WIDTH") != "64" {
        return Err(format!(
            "libwarp_reduce is for Linux on 64-bit processors, and this build is for {target}"
        ));
    }
    let features = told("CARGO_CFG_TARGET_FEATURE");
    if features.split(',').any(|feature| feature == "crt-static") {
        return Err(format!(
            "programs for {target} are linked statically here (crt-static), and libwarp_reduce.so is a shared library \
             that such a program cannot load: build with RUSTFLAGS=\"-C target-feature=-crt-static\", or for a target \
             like x86_64-unknown-linux-gnu"
        ));
    }
    Ok(())
}

fn find() -> Result<Library, String> {
    if let Some(lib_dir) = variable("WARP_REDUCE_LIB_DIR") {
        return named_by_the_environment(PathBuf::from(lib_dir));
    }
    match known_to_pkg_config() {
        Some(library) => Ok(library),
        None => built_from_the_sources(),
    }
}

fn named_by_the_environment(lib_dir: PathBuf) -> Result<Library, String> {
    let lib_dir = folder_with(FILE_NAME, "WARP_REDUCE_LIB_DIR", lib_dir)?;
    let include_dir = match variable("WARP_REDUCE_INCLUDE_DIR") {
        Some(folder) => folder_with(HEADER, "WARP_REDUCE_INCLUDE_DIR", folder.into())?,
        None => installed_headers(&lib_dir).unwrap_or_else(|| vendored().join("capi/include")),
    };
    Ok(Library {
        lib_dir,
        include_dir,
    })
}

/// The folder that an environment variable names. Cargo starts this script in the crate's folder, so that a relative
/// one is seldom what its user meant.
fn folder_with(file: &str, variable: &str, named: PathBuf) -> Result<PathBuf, String> {
    if named.join(file).is_file() {
        return fs::canonicalize(&named).map_err(|error| at(&named, &error));
    }
    let hint = if named.is_relative() {
        "; it must be an absolute path"
    } else {
        ""
    };
    Err(format!(
        "{variable} is {}, and there is no {file} in it{hint}",
        named.display()
    ))
}

/// The headers of an installation that has `lib` and `include` side by side.
fn installed_headers(lib_dir: &Path) -> Option<PathBuf> {
    let include_dir = lib_dir.parent()?.join("include");
    include_dir.join(HEADER).is_file().then_some(include_dir)
}

/// An installed library of a compatible version. `WARP_REDUCE_NO_PKG_CONFIG` makes pkg-config find none.
fn known_to_pkg_config() -> Option<Library> {
    let (oldest, first_too_new) = compatible_versions();
    let found = pkg_config::Config::new()
        .range_version(oldest.as_str()..first_too_new.as_str())
        .cargo_metadata(false)
        .probe("warp_reduce")
        .ok()?;
    let lib_dir = found
        .link_paths
        .into_iter()
        .find(|folder| folder.join(FILE_NAME).is_file())?;
    let include_dir = found
        .include_paths
        .into_iter()
        .find(|folder| folder.join(HEADER).is_file())?;
    Some(Library {
        lib_dir,
        include_dir,
    })
}

/// From this crate's version up to the next one that may break callers, as cargo counts.
fn compatible_versions() -> (String, String) {
    let version = env!("CARGO_PKG_VERSION");
    let major: u32 = parse(env!("CARGO_PKG_VERSION_MAJOR"));
    let minor: u32 = parse(env!("CARGO_PKG_VERSION_MINOR"));
    let first_too_new = if major == 0 {
        format!("0.{}.0", minor + 1)
    } else {
        format!("{}.0.0", major + 1)
    };
    (version.to_owned(), first_too_new)
}

fn parse(number: &str) -> u32 {
    number
        .parse()
        .expect("cargo gives each part of the version as a number")
}

fn built_from_the_sources() -> Result<Library, String> {
    println!("cargo::rerun-if-changed={}", vendored().display());
    let mut build = cmake::Config::new(vendored());
    build
        .profile("Release")
        .define("CMAKE_INSTALL_LIBDIR", "lib")
        .define("WARP_REDUCE_BUILD_TESTS", "OFF")
        .define("WARP_REDUCE_BUILD_TOOLS", "OFF");
    if variable("CARGO_FEATURE_CUDA").is_some() {
        build
            .define("WARP_REDUCE_CUDA", "ON")
            .define("CMAKE_CUDA_COMPILER", cuda_compiler()?);
        if let Some(architectures) = variable("WARP_REDUCE_CUDA_ARCHITECTURES") {
            build.define("CMAKE_CUDA_ARCHITECTURES", architectures);
        }
    } else {
        build.define("WARP_REDUCE_CUDA", "OFF");
    }
    // CMake's installation obeys them: it would put the library elsewhere, or links to it.
    for name in ["DESTDIR", "CMAKE_INSTALL_MODE"] {
        env::remove_var(name);
    }
    let root = build.build();
    let library = Library {
        lib_dir: root.join("lib"),
        include_dir: root.join("include"),
    };
    for file in [
        library.lib_dir.join(FILE_NAME),
        library.include_dir.join(HEADER),
    ] {
        if !file.is_file() {
            return Err(format!(
                "CMake built and installed the library, and there is no {}: is there a variable in the environment \
                 that makes it install elsewhere?",
                file.display()
            ));
        }
    }
    Ok(library)
}

/// nvcc, looked for before CMake starts, so that a machine without a toolkit hears what to do in one sentence.
fn cuda_compiler() -> Result<PathBuf, String> {
    let named = variable("CUDACXX").map(PathBuf::from);
    let toolkits = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(variable)
        .map(|root| Path::new(&root).join("bin"));
    // A change of PATH alone is no reason to build the library again.
    let search_path = env::var_os("PATH").unwrap_or_default();
    let folders = toolkits
        .chain(env::split_paths(&search_path))
        .chain([PathBuf::from("/usr/local/cuda/bin")]);
    named
        .into_iter()
        .chain(folders.map(|folder| folder.join("nvcc")))
        .find(|compiler| compiler.is_file())
        .ok_or_else(|| NO_TOOLKIT.to_owned())
}

const NO_TOOLKIT: &str = "the feature `cuda` needs the CUDA toolkit, and there is no nvcc in CUDACXX, \
    CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda. Install the toolkit and set CUDA_HOME to it; or leave \
    the feature out, which builds the host device alone; or set WARP_REDUCE_LIB_DIR to the folder of a \
    libwarp_reduce.so that is built already";

/// Tells cargo how to link, and other build scripts where things are.
fn announce(library: &Library) -> Result<(), String> {
    let lib_dir = library.lib_dir.display();
    println!(
        "cargo::rustc-link-search=native={}",
        beside_the_build(&library.lib_dir)?.display()
    );
    println!("cargo::rustc-link-lib=dylib=warp_reduce");
    // Not -Wl,-rpath,FOLDER, which is cut at a comma in the folder's name.
    for argument in ["-Xlinker", "-rpath", "-Xlinker", &lib_dir.to_string()] {
        println!("cargo::rustc-link-arg-tests={argument}");
        println!("cargo::rustc-link-arg-examples={argument}");
    }
    println!(
        "cargo::metadata=root={}",
        library
            .lib_dir
            .parent()
            .unwrap_or(&library.lib_dir)
            .display()
    );
    println!("cargo::metadata=lib_dir={lib_dir}");
    println!("cargo::metadata=include={}", library.include_dir.display());
    Ok(())
}

/// A folder under cargo's target directory that holds the library. For such folders, and for no others, `cargo run`
/// and `cargo test` tell the loader where to look, in this crate and in every crate that depends on it.
fn beside_the_build(lib_dir: &Path) -> Result<PathBuf, String> {
    let here = PathBuf::from(variable("OUT_DIR").expect("cargo sets OUT_DIR")).join("lib");
    if here != lib_dir {
        copy_library(lib_dir, &here).map_err(|error| {
            format!(
                "copying {FILE_NAME} from {} to {}: {error}",
                lib_dir.display(),
                here.display()
            )
        })?;
    }
    Ok(here)
}

/// Copies libwarp_reduce.so and the versioned names that the loader asks for. Permissions come along, so that what an
/// earlier run left may be read-only.
fn copy_library(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name().filter(|name| is_library(name)) else {
            continue;
        };
        println!("cargo::rerun-if-changed={}", path.display());
        let partial = to.join("partial");
        if partial.exists() {
            fs::remove_file(&partial)?;
        }
        fs::copy(&path, &partial)?;
        fs::rename(&partial, to.join(name))?;
    }
    Ok(())
}

fn is_library(name: &OsStr) -> bool {
    let rest = name.to_str().and_then(|name| name.strip_prefix(FILE_NAME));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The library's own sources: symbolic links in its repository, files in a package.
fn vendored() -> PathBuf {
    PathBuf::from(variable("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"))
        .join("vendor")
}

/// An environment variable that is set to something; cargo runs this script again when it changes.
fn variable(name: &str) -> Option<OsString> {
    println!("cargo::rerun-if-env-changed={name}");
    env::var_os(name).filter(|value| !value.is_empty())
}

fn at(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
