use std::path::{Path, PathBuf};
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
    /// Unpacks `/usr/src/linux-source-VERSION.tar.xz`, which Debian's package `linux-source` brings, unless that was done before.
    ///
    /// # Errors
    /// There is no such file.
    ///
    /// # Panics
    /// Where the archive is not what it should be, or the cache cannot be written.
    pub fn find() -> Result<Source, String> {
        let archive = newest_archive().ok_or("the package linux-source is not installed")?;
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
    /// What the compiler complains of.
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

fn newest_archive() -> Option<PathBuf> {
    let entries = fs::read_dir("/usr/src").ok()?;
    let archives = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("linux-source-") && name.ends_with(".tar.xz")
    });
    archives.max_by_key(|path| version(path))
}

/// The numbers of a file's name.
fn version(path: &Path) -> Vec<u32> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(|letter: char| !letter.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn cache() -> PathBuf {
    let user = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    user.or_else(home).unwrap_or_else(env::temp_dir).join("ntrace")
}
