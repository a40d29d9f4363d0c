//! Jobs: a script that the machine runs, with folders of the host, and how it ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use super::kernel::Kernel;
use super::machine::{Boot, Machine, Share};
use super::{compile, root};
use crate::{deadline, run};

/// The path in the machine of the job's own folder, which host and machine both write.
pub(crate) const HERE: &str = "/job";

/// The most seconds that a job without a terminal may take from boot to stop, unless it says otherwise.
const MOST_SECONDS: u32 = 3600;
/// A file in the job's folder that says that the machine's first process has begun.
const BEGUN: &str = "begun";
/// The most boots of a job. QEMU may run an old translation of code that the kernel changes while it starts: the kernel then stops with
/// an unknown `int3` before its first process begins.
const MOST_BOOTS: u32 = 3;
/// The status of `timeout` when it killed a program.
const LATE: i32 = 124;

/// A script for the machine.
pub(crate) struct Job {
    machine: Machine,
    folder: PathBuf,
    /// Folders of the host that the machine has at the same paths, read-only.
    shared: Vec<PathBuf>,
    /// The most seconds that the job may take.
    seconds: u32,
    boot: Boot,
    /// Folders that are empty and writable in the machine, and are discarded with it.
    scratch: Vec<PathBuf>,
}

impl Job {
    /// A job with a folder of its own, and with the checkout to read.
    pub(crate) fn new(machine: Machine) -> Result<Job> {
        let folder = run::root().join(format!("target/vm/{}.{}", machine.arch.facts().name, std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Job {
            machine,
            folder,
            shared: vec![run::root()],
            seconds: MOST_SECONDS,
            boot: Boot::default(),
            scratch: Vec::new(),
        })
    }

    /// The folder that the machine knows as [`HERE`].
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Lets the machine read a folder, unless it can already.
    pub(crate) fn share(&mut self, folder: &Path) {
        if !self.shared.iter().any(|shared| folder.starts_with(shared)) {
            self.shared.push(folder.to_path_buf());
        }
    }

    /// Puts an empty folder in the place of an existing one.
    pub(crate) fn scratch(&mut self, folder: PathBuf) {
        self.scratch.push(folder);
    }

    /// Boots the machine as `boot` says.
    pub(crate) fn boot_as(&mut self, boot: Boot) {
        self.boot = boot;
    }

    /// Lets the job take `seconds` longer.
    pub(crate) fn extend(&mut self, seconds: u32) {
        self.seconds += seconds;
    }

    /// Runs the script, its output on standard output; returns its exit status.
    pub(crate) fn run(&self, script: &str) -> Result<i32> {
        self.boot(script, |qemu| limited(qemu, deadline::limit(self.seconds)))?;
        let path = self.folder.join("status");
        let text = fs::read_to_string(&path).context("the virtual machine stopped before its job ended")?;
        text.trim().parse().with_context(|| format!("{}: no status: {text:?}", path.display()))
    }

    /// Runs the script at the terminal.
    pub(crate) fn interact(&self, script: &str) -> Result<()> {
        fs::write(self.folder.join("interactive"), "")?;
        self.boot(script, |qemu| qemu)
    }

    fn boot(&self, script: &str, prepare: impl Fn(Command) -> Command) -> Result<()> {
        let kernel = Kernel::of(self.machine)?;
        kernel.build()?;
        let root = root::folder(self.machine.arch)?;
        let tags: Vec<String> = (0..self.shared.len()).map(|number| format!("share{number}")).collect();
        let mut shares = vec![
            Share { tag: "job", folder: &self.folder, writable: true },
            Share { tag: "root", folder: &root, writable: false },
        ];
        let mut listed = String::from("root ro /root.ro\n");
        for (tag, folder) in tags.iter().zip(&self.shared) {
            shares.push(Share { tag, folder, writable: false });
            listed += &format!("{tag} ro {}\n", folder.display());
        }
        let scratch: String = self.scratch.iter().map(|folder| format!("{}\n", folder.display())).collect();
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("the clock")?.as_secs().to_string();
        for (name, text) in [("time", &*time), ("shares", &listed), ("scratch", &scratch), ("script", script)] {
            fs::write(self.folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
        }
        let initramfs = self.initramfs(&kernel, &root)?;
        compile::prepare(&self.folder)?;
        let begun = self.folder.join(BEGUN);
        // A job that runs again has the file of its last run.
        let _ = fs::remove_file(&begun);
        for _ in 0..MOST_BOOTS {
            let qemu = self.machine.qemu(&kernel.image(), &initramfs, &shares, self.boot);
            let status = self.serve(prepare(qemu)).context("cannot start QEMU; `cargo xtask setup` installs it")?;
            match status.code() {
                Some(0) if begun.exists() => return Ok(()),
                Some(0) => eprintln!("vm: the kernel stopped before its first process began"),
                Some(LATE) => bail!("the virtual machine did not stop within {} s", deadline::limit(self.seconds)),
                _ => bail!("QEMU failed: {status}"),
            }
        }
        bail!("the kernel stopped {MOST_BOOTS} times before its first process began")
    }

    /// Runs QEMU, and compiles what the machine asks for until QEMU ends.
    fn serve(&self, mut qemu: Command) -> std::io::Result<ExitStatus> {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| compile::serve(&self.folder, self.machine.arch, &is_over));
            let status = qemu.status();
            is_over.store(true, Ordering::Relaxed);
            status
        })
    }

    /// Packs the first file system by the kernel's own tool.
    fn initramfs(&self, kernel: &Kernel, root: &Path) -> Result<PathBuf> {
        let source = run::root().join("tests/vm");
        let path = |path: PathBuf| path.display().to_string();
        let list = fs::read_to_string(source.join("initramfs"))?
            .replace("@BUSYBOX@", &path(root::busybox(root)))
            .replace("@INIT@", &path(source.join("init")))
            .replace("@GCC@", &path(source.join("gcc")));
        let modules = kernel.modules().into_iter().enumerate();
        // The first process loads the modules in the order of their names.
        let modules = modules.map(|(number, module)| format!("file /modules/{number}.ko {} 644 0 0\n", path(module)));
        let list = list + &modules.collect::<String>();
        let description = self.folder.join("initramfs.list");
        fs::write(&description, list)?;
        let packed = run::bytes(Command::new(kernel.packer()).arg(&description))?;
        let file = self.folder.join("initramfs.cpio");
        fs::write(&file, packed)?;
        Ok(file)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // If this fails, the folder stays under target/.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The command without input, and with a time limit, because a kernel that hangs never ends the job.
fn limited(command: Command, seconds: u32) -> Command {
    let mut limited = Command::new("timeout");
    limited.arg("--foreground").arg(seconds.to_string()).arg(command.get_program()).args(command.get_args());
    limited.stdin(Stdio::null());
    limited
}
