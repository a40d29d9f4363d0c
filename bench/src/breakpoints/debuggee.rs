//! The measured program: this one again, started with [`ARGUMENT`].
//!
//! It prints the addresses of its sites, then for each line that it reads (`SITE COUNT`) goes `COUNT` times through that site and
//! prints the nanoseconds that took.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// The argument that makes the program the debuggee.
pub(super) const ARGUMENT: &str = "--as-debuggee";
/// Instructions of the field, of [`FIELD_STEP`] bytes each.
pub(super) const FIELD: usize = 100_000;
/// Bytes of one instruction of the field: `add rax, 1`.
pub(super) const FIELD_STEP: u64 = 4;
/// The names of what the sites measure, in their order.
pub(super) const SITES: [&str; 3] = ["add rax, 1", "mov rax, [rip+…]", "call"];

core::arch::global_asm!(
    ".globl bench_add_loop, bench_add_site, bench_load_loop, bench_load_site, bench_call_loop, bench_call_site, bench_done",
    "bench_add_loop:",
    "bench_add_site: add rax, 1",
    "dec rdi",
    "jnz bench_add_loop",
    "ret",
    "bench_load_loop:",
    "bench_load_site: mov rax, [rip + bench_add_loop]",
    "dec rdi",
    "jnz bench_load_loop",
    "ret",
    "bench_call_loop:",
    "bench_call_site: call 2f",
    "dec rdi",
    "jnz bench_call_loop",
    "2: ret",
    "bench_done: nop",
    "ret",
);

unsafe extern "C" {
    safe fn bench_add_loop(count: u64);
    safe fn bench_add_site();
    safe fn bench_load_loop(count: u64);
    safe fn bench_load_site();
    safe fn bench_call_loop(count: u64);
    safe fn bench_call_site();
    safe fn bench_done();
}

/// The debuggee's work.
pub(super) fn main() -> Result<()> {
    let field = field()?;
    let sites = [
        bench_add_site as *const () as usize,
        bench_load_site as *const () as usize,
        bench_call_site as *const () as usize,
    ];
    println!("{} {} {} {field} {}", sites[0], sites[1], sites[2], bench_done as *const () as usize);
    for line in std::io::stdin().lines() {
        let line = line?;
        let (site, count) = line.split_once(' ').context("SITE COUNT")?;
        let walk = match site.parse::<usize>()? {
            0 => bench_add_loop,
            1 => bench_load_loop,
            _ => bench_call_loop,
        };
        let start = Instant::now();
        walk(count.parse()?);
        let time = start.elapsed().as_nanos();
        bench_done();
        println!("{time}");
    }
    Ok(())
}

/// Executable memory full of instructions, for breakpoints by the hundred thousand.
fn field() -> Result<usize> {
    let size = FIELD * FIELD_STEP as usize;
    // SAFETY: a new private mapping at an address of the kernel's choice.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        bail!("cannot map {size} bytes");
    }
    // SAFETY: the mapping is of that size, writable, and nobody else's.
    let bytes = unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), size) };
    for instruction in bytes.chunks_exact_mut(FIELD_STEP as usize) {
        instruction.copy_from_slice(&[0x48, 0x83, 0xc0, 0x01]);
    }
    // SAFETY: the mapping is ours and `bytes` is not used any more.
    if unsafe { libc::mprotect(memory, size, libc::PROT_READ | libc::PROT_EXEC) } != 0 {
        bail!("cannot make the field executable");
    }
    Ok(memory as usize)
}

/// A running debuggee.
pub(super) struct Debuggee {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// Addresses of [`SITES`].
    pub(super) sites: [u64; 3],
    /// Address of the field.
    pub(super) field: u64,
    /// Address of an instruction that is executed once behind each walk, and is not measured.
    pub(super) done: u64,
}

impl Debuggee {
    pub(super) fn start() -> Result<Debuggee> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg(ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().context("a pipe")?;
        let mut stdout = BufReader::new(child.stdout.take().context("a pipe")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let numbers: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [add, load, call, field, done] = *numbers else { bail!("the debuggee said {line:?}") };
        Ok(Debuggee { child, stdin, stdout, sites: [add, load, call], field, done })
    }

    pub(super) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Asks for `count` hits of a site.
    pub(super) fn ask(&mut self, site: usize, count: u64) -> Result<()> {
        writeln!(self.stdin, "{site} {count}").context("the debuggee is gone")
    }

    /// Nanoseconds of the last request.
    pub(super) fn answer(&mut self) -> Result<u64> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        line.trim().parse().with_context(|| format!("the debuggee said {line:?}"))
    }
}

impl Drop for Debuggee {
    fn drop(&mut self) {
        // Failures mean that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
