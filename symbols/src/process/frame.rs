use ubp::Address;

use super::Place;

/// One frame of a thread's stack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// The address at which the frame's function continues: the pc in the innermost frame, return addresses in the others.
    pub address: Address,
    /// What is there. In a caller the call instruction before the return address decides.
    pub place: Place,
}
