//! The semaphores of static probes: numbers in the memory of a process that say how many tracers want a probe. Where the number is 0, the
//! program does not compute the probe's arguments, and does not reach the probe.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

use ubp::Pid;
use ubp_symbols::Module;

/// The semaphores that ntrace raised in the memory of one process.
#[derive(Debug, Default)]
pub(crate) struct Semaphores {
    /// The memory. The file stays that of the memory when the process executes another program or ends; nothing is written to another one.
    memory: Option<File>,
    /// The image and the bias of the module of each, by address in memory.
    raised: BTreeMap<u64, (u64, u64)>,
}

impl Semaphores {
    /// Raises the semaphore at an address of a module's memory, unless it is raised already.
    ///
    /// # Errors
    /// The memory cannot be written.
    pub(crate) fn raise(&mut self, pid: Pid, module: &Module, address: u64) -> std::io::Result<()> {
        if self.raised.contains_key(&address) {
            return Ok(());
        }
        let memory = match self.memory.take() {
            Some(memory) => memory,
            None => open(pid)?,
        };
        add(self.memory.insert(memory), address, 1)?;
        self.raised.insert(address, (module.image.number(), module.bias));
        Ok(())
    }

    /// Lowers all semaphores that are still mapped.
    pub(crate) fn lower(&mut self) {
        let raised = std::mem::take(&mut self.raised);
        if let Some(memory) = &self.memory {
            for address in raised.into_keys() {
                // The process may have ended.
                let _ = add(memory, address, -1);
            }
        }
    }

    /// Forgets the semaphores of modules that are gone.
    pub(crate) fn forget_gone(&mut self, gone: &[Module]) {
        let is_gone = |of: &(u64, u64)| gone.iter().any(|module| (module.image.number(), module.bias) == *of);
        self.raised.retain(|_, of| !is_gone(of));
    }

    /// The same semaphores in the copy of the memory that a forked child has.
    pub(crate) fn fork(&self, child: Pid) -> Semaphores {
        let memory = if self.raised.is_empty() { None } else { open(child).ok() };
        Semaphores { memory, raised: self.raised.clone() }
    }
}

/// However tracing ends, the program does not compute arguments for a tracer that is gone.
impl Drop for Semaphores {
    fn drop(&mut self) {
        self.lower();
    }
}

fn open(pid: Pid) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"))
}

/// Adds to the number at an address.
fn add(memory: &File, address: u64, difference: i16) -> std::io::Result<()> {
    let mut bytes = [0; 2];
    memory.read_exact_at(&mut bytes, address)?;
    let value = u16::from_le_bytes(bytes).wrapping_add_signed(difference);
    memory.write_all_at(&value.to_le_bytes(), address)
}
