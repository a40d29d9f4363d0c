//! The machines of the two architectures, and all that differs between them.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::run;

/// An architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Arch {
    #[value(name = "arm64")]
    Arm64,
    #[value(name = "x86_64")]
    X86_64,
}

/// A machine with its kernel.
#[derive(Args, Clone, Copy)]
pub(crate) struct Machine {
    /// The architecture
    #[arg(long, value_enum, default_value_t = Arch::Arm64)]
    pub(crate) arch: Arch,
    /// The kernel
    #[arg(long, value_enum, default_value_t = Kind::Debian)]
    pub(crate) kernel: Kind,
}

/// Which kernel a machine has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// Debian's newest for its stable release, as distributed
    Debian,
    /// The oldest that the module supports, built here
    Oldest,
    /// The oldest, built to watch memory (KASAN, kmemleak) and locks (lockdep)
    Debug,
}

/// What one boot of a machine is like.
#[derive(Args, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Boot {
    /// The processors take turns, for tests that write code which other threads run. QEMU before 8.1 may go on with the old code
    #[arg(long)]
    pub(crate) in_turn: bool,
    /// The machine has one processor, on which each instruction takes a nanosecond, so that measurements can be repeated.
    #[arg(skip)]
    pub(crate) counted: bool,
}

/// An architecture's names in other projects, and its machine in QEMU.
pub(crate) struct Facts {
    /// The kernel's name for the architecture, and the name of its configuration file.
    pub(crate) name: &'static str,
    pub(crate) debian: &'static str,
    pub(crate) rust: &'static str,
    pub(crate) gcc: &'static str,
    /// The prefix of the tools' names in the kernel's build.
    pub(crate) cross_compile: &'static str,
    /// The target of the kernel's build, and the file that it makes.
    pub(crate) image: &'static str,
    pub(crate) image_file: &'static str,
    qemu: &'static str,
    /// QEMU signs pointers with its own algorithm: with the architecture's, signing takes most of a kernel's time. It emulates `rep movsb` byte by
    /// byte. A processor without ERMS (CPUID) makes the kernel and the C library copy by words.
    cpu: &'static str,
    machine: &'static [&'static str],
    /// The kernel's arguments for a debug kernel.
    debug_machine: &'static [&'static str],
    /// The device that shares a folder of the host with a kernel that is built here.
    share: &'static str,
    console: &'static str,
}

const ARM64: Facts = Facts {
    name: "arm64",
    debian: "arm64",
    rust: "aarch64-unknown-linux-gnu",
    gcc: "aarch64-linux-gnu-gcc",
    cross_compile: "aarch64-linux-gnu-",
    image: "Image",
    image_file: "arch/arm64/boot/Image",
    qemu: "qemu-system-aarch64",
    cpu: "max,pauth-impdef=on",
    machine: &["-M", "virt,mte=on"],
    debug_machine: &["-M", "virt,mte=on"],
    share: "virtio-9p-device",
    console: "ttyAMA0",
};

const X86_64: Facts = Facts {
    name: "x86_64",
    debian: "amd64",
    rust: "x86_64-unknown-linux-gnu",
    gcc: "gcc",
    cross_compile: "",
    image: "bzImage",
    image_file: "arch/x86/boot/bzImage",
    qemu: "qemu-system-x86_64",
    cpu: "max,erms=off",
    machine: &["-M", "pc"],
    // ACPI describes the interrupts of `pc` by a program that takes a debug kernel longer than it waits (AE_AML_LOOP_TIMEOUT).
    debug_machine: &["-M", "q35"],
    share: "virtio-9p-pci",
    console: "ttyS0",
};

/// A fault in the kernel's core ends the machine. On a busy host, processors stall and timers are late.
const ARGUMENTS: &str = "panic=-1 rcupdate.rcu_cpu_stall_suppress=1 no_timer_check nokaslr";
/// An ordinary kernel prints only errors, and any fault in it ends the machine.
const ORDINARY: &str = "loglevel=4 oops=panic";
/// A debug kernel runs on after a fault, so that its log has all findings.
const DEBUG: &str = "loglevel=5";

/// The device that shares a folder with Debian's kernel, which has the drivers for PCI built in.
const SHARE: &str = "virtio-9p-pci";

/// A folder of the host in the machine.
pub(crate) struct Share<'a> {
    pub(crate) tag: &'a str,
    pub(crate) folder: &'a Path,
    pub(crate) writable: bool,
}

impl Kind {
    /// The option's value that asks for this kernel.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Debian => "debian",
            Kind::Oldest => "oldest",
            Kind::Debug => "debug",
        }
    }
}

impl Arch {
    pub(crate) fn facts(self) -> &'static Facts {
        match self {
            Arch::Arm64 => &ARM64,
            Arch::X86_64 => &X86_64,
        }
    }

    /// The kernel's name for the architecture.
    pub(crate) fn name(self) -> &'static str {
        self.facts().name
    }

    /// The architecture's machine with a kernel.
    pub(crate) fn machine(self, kernel: Kind) -> Machine {
        Machine { arch: self, kernel }
    }
}

impl Machine {
    /// What QEMU says of its version.
    pub(crate) fn emulator(self) -> Result<String> {
        run::output(Command::new(self.arch.facts().qemu).arg("--version"))
    }

    /// QEMU with kernel and first file system, its console on standard input and output. It ends when the machine
    /// stops or starts again.
    pub(crate) fn qemu(self, kernel: &Path, initramfs: &Path, shares: &[Share], boot: Boot) -> Command {
        let facts = self.arch.facts();
        let mut command = Command::new(facts.qemu);
        let is_debug = self.kernel == Kind::Debug;
        let model = if is_debug { facts.debug_machine } else { facts.machine };
        command.args(model).args(["-cpu", facts.cpu, "-m", "2G"]).args(match (boot.counted, boot.in_turn) {
            (true, _) => &["-accel", "tcg,thread=single", "-smp", "1", "-icount", "shift=0,sleep=off"][..],
            (false, true) => &["-accel", "tcg,thread=single", "-smp", "2"],
            (false, false) => &["-accel", "tcg,thread=multi", "-smp", "2"],
        });
        command.args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]);
        command.args(["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]);
        let log = if is_debug { DEBUG } else { ORDINARY };
        command.arg("-kernel").arg(kernel).arg("-initrd").arg(initramfs);
        command.arg("-append").arg(format!("console={} {ARGUMENTS} {log}", facts.console));
        let device = if self.kernel == Kind::Debian { SHARE } else { facts.share };
        for Share { tag, folder, writable } in shares {
            // QEMU wants a comma in a path doubled.
            let path = folder.display().to_string().replace(',', ",,");
            let mode = if *writable { "off" } else { "on" };
            let share = format!("local,id={tag},path={path},security_model=none,multidevs=remap,readonly={mode}");
            command.arg("-fsdev").arg(share);
            command.arg("-device").arg(format!("{device},fsdev={tag},mount_tag={tag}"));
        }
        command
    }
}

/// Why QEMU cannot make such a machine here.
pub(crate) fn obstacle(arch: Arch) -> Option<String> {
    let program = arch.facts().qemu;
    (!run::is_installed(program)).then(|| format!("no {program}; `cargo xtask setup` installs it"))
}
