//! Static probes that the program reaches only while a tracer asks for them.

use super::told::Told;
use crate::process::Space;

/// Raises the semaphore of the static probe at an address, if one is wanted there that has one. A refusal is a message.
pub(super) fn raise_semaphore(space: &mut Space, address: u64, told: &mut Told) {
    let Some((module, probe)) = space.static_probe(address) else { return };
    let (Some(semaphore), label) = (probe.semaphore, probe.label()) else { return };
    let (module, pid) = (module.clone(), space.pid);
    if let Err(error) = space.semaphores.raise(pid, &module, module.in_memory(semaphore)) {
        let what = "the program will not reach it, since its semaphore cannot be raised";
        told.tell_once(format!("semaphore {label}"), format_args!("'{label}': {what}: {error}"));
    }
}
