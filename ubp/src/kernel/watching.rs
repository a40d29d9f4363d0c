//! The watchpoints of a process over the channel.

use crate::watch::{Piece, Watches};
use crate::{Address, EventKind};

/// The watchpoints of a process, and the numbers in the channel of the debug registers that they have.
#[derive(Clone, Debug, Default)]
pub(super) struct Watching {
    pub(super) watches: Watches,
    pub(super) armed: Vec<(Piece, u64)>,
}

impl Watching {
    /// After an exec there are none.
    pub(super) fn end(&mut self) {
        *self = Watching { watches: self.watches.of_new_program(), armed: Vec::new() };
    }

    /// The events of an access that the kernel tells of.
    pub(super) fn events(&self, number: u64) -> impl Iterator<Item = EventKind> {
        let piece = self.armed.iter().find(|(_, armed)| *armed == number).map(|(piece, _)| *piece);
        let of = |piece: Piece| {
            let kind = move |id| EventKind::Watched { id, address: Address(piece.address) };
            self.watches.watching(&piece).map(kind).collect::<Vec<_>>()
        };
        piece.map(of).unwrap_or_default().into_iter()
    }
}
