//! Registers as gdb numbers and describes them (GDB manual, "Target Descriptions").

#[cfg(target_arch = "aarch64")]
mod arm64;
mod contents;
mod description;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
mod x87;

#[cfg(target_arch = "aarch64")]
pub(crate) use self::arm64::{LLDB_NAME, agent_register, description};
pub(crate) use self::contents::Contents;
pub(crate) use self::description::{Description, Feature, Place, Register};
#[cfg(target_arch = "x86_64")]
pub(crate) use self::x86::{LLDB_NAME, agent_register, description};
