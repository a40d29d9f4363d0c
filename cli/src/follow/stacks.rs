//! Records of hits that have the stack.

use ubp::Buffer;

use crate::output::tell;

/// The most records with a stack for which there is room, and bytes of the stack: such a record takes 32 KiB.
const MOST: u32 = 1 << 10;
const BYTES: u16 = (1 << 15) - 648;

/// The buffer, with room for the stack in each record.
pub(crate) fn with_stacks(buffer: Buffer) -> Buffer {
    Buffer { records: buffer.records.min(MOST), stack: BYTES, ..buffer }
}

/// Tells the number of hits whose outermost callers are missing, if there are some.
pub(crate) fn tell_cut(hits: u64) {
    if hits > 0 {
        tell(format_args!(
            "{hits} hits had more than {BYTES} bytes of stack: their outermost callers are missing (--method trap finds them)"
        ));
    }
}
