use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

use super::Selftest;

/// What is taken out of the kernel's source.
const WANTED: [&str; 4] = [
    "tools/testing/selftests/x86",
    "tools/testing/selftests/kselftest.h",
    "tools/testing/selftests/sigaltstack",
    "arch/x86/include/asm/desc_defs.h",
];

/// The tests' sources, unpacked in the user's cache directory.
#[derive(Debug)]
pub struct Source {
    directory: PathBuf,
}

impl Source {
    /// Unpacks the source of the oldest kernel that the module supports, which `cargo xtask setup` keeps in the user's cache directory
    /// as Debian packed it, unless that was done before.
    ///
    /// # Errors
    /// There is no such file.
    ///
    /// # Panics
    /// Where the archive is not what it should be, or the cache cannot be written.
    pub fn find() -> Result<Source, String> {
        let archive = archive().ok_or("the kernel's source is not there; `cargo xtask setup` brings it")?;
        let stem = archive.file_name().unwrap_or_default().to_string_lossy().trim_end_matches(".tar.xz").to_owned();
        let size = fs::metadata(&archive).map_or(0, |metadata| metadata.len());
        let cache = cache().join("selftests");
        let directory = cache.join(format!("{stem}-{size}"));
        if !directory.exists() {
            fs::create_dir_all(&cache).expect("the cache directory");
            let fresh = tempfile::tempdir_in(&cache).expect("a temporary directory");
            let mut tar = Command::new("tar");
            tar.arg("--extract").arg("--file").arg(&archive).arg("--directory").arg(fresh.path());
            tar.arg("--strip-components=1").args(WANTED.map(|path| format!("{stem}/{path}")));
            assert!(tar.status().expect("tar").success(), "cannot unpack {}", archive.display());
            // Somebody else may have been quicker.
            let _ = fs::rename(fresh.keep(), &directory);
        }
        Ok(Source { directory })
    }

    /// Builds a test as its makefile does, and returns the program's path.
    ///
    /// # Errors
    /// The compiler's errors.
    ///
    /// # Panics
    /// Where gcc cannot be run.
    pub fn build(&self, test: &Selftest, bits: u32) -> Result<PathBuf, String> {
        let selftests = self.directory.join("tools/testing/selftests");
        let file = format!("{}.c", test.name);
        let folder =
            ["x86", "sigaltstack"].map(|name| selftests.join(name)).into_iter().find(|f| f.join(&file).exists());
        let folder = folder.ok_or("this kernel's source does not have it")?;
        let program = self.directory.join(format!("{}_{bits}", test.name));
        if program.exists() {
            return Ok(program);
        }
        let unfinished = self.directory.join(format!("{}_{bits}.{}", test.name, std::process::id()));
        let extra = test.extra.iter().filter(|(width, _)| *width == bits).flat_map(|(_, words)| *words);
        let output = Command::new("gcc")
            .current_dir(&folder)
            .args([&format!("-m{bits}"), "-O2", "-g", "-std=gnu99", "-pthread", "-no-pie", "-w"])
            .args(["-DCAN_BUILD_32", "-DCAN_BUILD_64", "-o"])
            .arg(&unfinished)
            .arg(&file)
            .args(extra)
            .args(["-lrt", "-ldl", "-lm"])
            .stdin(Stdio::null())
            .output()
            .expect("gcc is needed");
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "gcc: {}",
                complaint.lines().find(|line| line.contains("error")).unwrap_or(&complaint)
            ));
        }
        fs::rename(&unfinished, &program).expect("a finished program");
        Ok(program)
    }
}

/// The archive in the folder that xtask/src/vm/source.rs unpacks Debian's package to.
fn archive() -> Option<PathBuf> {
    let entries = fs::read_dir(cache().join("kernel/source-of-oldest/usr/src")).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "xz"))
}

fn cache() -> PathBuf {
    let user = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    user.or_else(home).unwrap_or_else(env::temp_dir).join("ntrace")
}
