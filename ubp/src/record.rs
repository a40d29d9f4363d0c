//! Records of hits.

use std::time::Duration;

use crate::{Address, Pid, Tid};

/// The number of integer arguments that a record has.
pub(crate) const ARGUMENTS: usize = 6;
/// The most bytes of text behind an argument.
pub(crate) const TEXT: usize = 64;

/// A hit of a breakpoint that records ([`Report::Record`](crate::Report::Record)), as the thread was at the site.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The process of the thread.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// The address of the breakpoint.
    pub address: Address,
    /// The time of the hit (`CLOCK_MONOTONIC`). The times of one thread never decrease.
    pub time: Duration,
    /// The first integer arguments by the calling convention, if the site is the first instruction of a function.
    pub arguments: [u64; ARGUMENTS],
    /// The return address, if the site is the first instruction of a function; `None` if the stack could not be read.
    pub return_address: Option<Address>,
    /// The memory at each argument, for [`Spec::with_text`](crate::Spec::with_text).
    pub(crate) text: Option<Box<[Text; ARGUMENTS]>>,
}

/// Memory at an argument, as far as it could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) bytes: [u8; TEXT],
    pub(crate) length: u8,
}

impl Text {
    pub(crate) const NONE: Text = Text { bytes: [0; TEXT], length: 0 };
}

impl Record {
    /// Up to 64 bytes of the memory to which an argument pointed at the hit. It is empty if that could not be read, if the argument is below
    /// 64 KiB, and without [`Spec::with_text`](crate::Spec::with_text).
    pub fn text(&self, argument: usize) -> &[u8] {
        let text = self.text.as_ref().and_then(|texts| texts.get(argument));
        text.and_then(|text| text.bytes.get(..text.length.into())).unwrap_or_default()
    }
}
