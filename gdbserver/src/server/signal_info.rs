//! `siginfo_t` in the kernel's layout (asm-generic/siginfo.h).

use ubp::{Origin, SignalInfo};

/// The 128 bytes of a signal's information.
pub(super) fn bytes(info: &SignalInfo) -> [u8; 128] {
    let mut out = [0; 128];
    let mut put = |at: usize, bytes: &[u8]| {
        if let Some(place) = out.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    };
    put(0, &info.signal.0.to_le_bytes());
    put(8, &info.code.to_le_bytes());
    match info.origin {
        Origin::Process { pid, uid, value } => {
            put(16, &pid.0.to_le_bytes());
            put(20, &uid.to_le_bytes());
            put(24, &value.unwrap_or(0).to_le_bytes());
        }
        Origin::Timer { id, overrun, value } => {
            put(16, &id.to_le_bytes());
            put(20, &overrun.to_le_bytes());
            put(24, &value.to_le_bytes());
        }
        Origin::Fault { address } => put(16, &address.0.to_le_bytes()),
        Origin::Child { pid, uid, status } => {
            put(16, &pid.0.to_le_bytes());
            put(20, &uid.to_le_bytes());
            put(24, &status.to_le_bytes());
        }
        Origin::Descriptor { descriptor, band } => {
            put(16, &band.to_le_bytes());
            put(24, &descriptor.to_le_bytes());
        }
        Origin::Seccomp { address, number, arch } => {
            put(16, &address.0.to_le_bytes());
            put(24, &number.to_le_bytes());
            put(28, &arch.to_le_bytes());
        }
        _ => {}
    }
    out
}
