//! Known code in a process' memory.

use std::collections::HashMap;

use insn::x86::MAX_LEN;

use crate::item::Code;

/// Bytes of one line.
const LINE: usize = 64;

/// Known bytes of 64 aligned addresses.
struct Line {
    bytes: [u8; LINE],
    known: u64,
}

/// Code by address.
#[derive(Default)]
pub(crate) struct Memory {
    lines: HashMap<u64, Line>,
    /// Changes with every change of the bytes.
    pub(crate) generation: u64,
}

impl Memory {
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) {
        self.generation += 1;
        for (distance, &byte) in (0..).zip(bytes) {
            let address: u64 = address.wrapping_add(distance);
            let line = self.lines.entry(address / LINE as u64).or_insert(Line { bytes: [0; LINE], known: 0 });
            let at = address as usize % LINE;
            line.bytes[at] = byte;
            line.known |= 1 << at;
        }
    }

    /// The known bytes from an address on, to the first that is not known.
    pub(crate) fn window(&self, address: u64) -> Code {
        let mut bytes = [0; MAX_LEN];
        let mut len = 0;
        let mut line = self.lines.get(&(address / LINE as u64));
        for (distance, byte) in (0..).zip(&mut bytes) {
            let address: u64 = address.wrapping_add(distance);
            let at = address as usize % LINE;
            if at == 0 && distance > 0 {
                line = self.lines.get(&(address / LINE as u64));
            }
            let Some(known) = line.filter(|line| line.known >> at & 1 != 0) else { break };
            *byte = known.bytes[at];
            len += 1;
        }
        Code::new(&bytes[..len])
    }

    /// Whether one of these addresses is known to hold another byte.
    pub(crate) fn contradicts(&self, address: u64, bytes: &[u8]) -> bool {
        (0..).zip(bytes).any(|(distance, &byte)| {
            let address: u64 = address.wrapping_add(distance);
            let at = address as usize % LINE;
            let line = self.lines.get(&(address / LINE as u64));
            line.is_some_and(|line| line.known >> at & 1 != 0 && line.bytes[at] != byte)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_at_the_first_byte_that_is_not_known() {
        let mut memory = Memory::default();
        memory.write(0x103e, &[1, 2, 3, 4]);
        assert_eq!(memory.window(0x103e).bytes(), [1, 2, 3, 4]);
        assert_eq!(memory.window(0x1041).bytes(), [4]);
        assert_eq!(memory.window(0x1042).bytes(), [0; 0]);
        memory.write(0x1042, &[5; 40]);
        assert_eq!(memory.window(0x1040).bytes(), [3, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5]);
    }

    #[test]
    fn only_other_bytes_contradict() {
        let mut memory = Memory::default();
        memory.write(u64::MAX, &[1, 2]);
        assert_eq!(memory.window(0).bytes(), [2]);
        assert!(!memory.contradicts(u64::MAX, &[1, 2, 3]));
        assert!(memory.contradicts(u64::MAX, &[1, 3]));
    }
}
