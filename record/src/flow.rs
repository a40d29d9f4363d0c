//! Where a thread went from each of its instructions, and the guess that it will go there again.

use std::collections::HashMap;

use crate::error::Problem;
use crate::format::MOST_SUCCESSORS;
use crate::item::Code;
use crate::memory::Memory;

/// Place of an instruction in [`Flow`].
pub(crate) type Id = u32;

struct Node {
    pc: u64,
    /// Where it went to, the latest first.
    successors: Vec<Id>,
    code: Code,
    /// Of the memory that `code` was taken from; `u64::MAX`: never.
    generation: u64,
}

/// The instructions that one thread executed.
#[derive(Default)]
pub(crate) struct Flow {
    nodes: Vec<Node>,
    by_pc: HashMap<u64, Id>,
}

impl Flow {
    /// The instruction at an address, new or not.
    pub(crate) fn at(&mut self, pc: u64) -> Result<Id, Problem> {
        let fresh = Id::try_from(self.nodes.len()).map_err(|_| Problem::LargeId(self.nodes.len() as u64))?;
        let id = *self.by_pc.entry(pc).or_insert(fresh);
        if id == fresh {
            self.nodes.push(Node { pc, successors: Vec::new(), code: Code::default(), generation: u64::MAX });
        }
        Ok(id)
    }

    pub(crate) fn pc(&self, id: Id) -> u64 {
        self.nodes[id as usize].pc
    }

    /// The bytes at an instruction.
    pub(crate) fn code(&mut self, id: Id, memory: &Memory) -> Code {
        let node = &mut self.nodes[id as usize];
        if node.generation != memory.generation {
            node.code = memory.window(node.pc);
            node.generation = memory.generation;
        }
        node.code
    }

    /// Where it went to, the latest first.
    pub(crate) fn successors(&self, id: Id) -> &[Id] {
        &self.nodes[id as usize].successors
    }

    /// Makes the successor of this rank the latest, and returns it.
    pub(crate) fn take(&mut self, id: Id, rank: usize) -> Option<Id> {
        let successors = &mut self.nodes[id as usize].successors;
        let next = *successors.get(rank)?;
        successors[..=rank].rotate_right(1);
        Some(next)
    }

    /// Makes `next` the latest successor.
    pub(crate) fn learn(&mut self, id: Id, next: Id) {
        let successors = &mut self.nodes[id as usize].successors;
        if let Some(rank) = successors.iter().position(|&known| known == next) {
            successors[..=rank].rotate_right(1);
            return;
        }
        successors.truncate(MOST_SUCCESSORS - 1);
        successors.insert(0, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_successor_stands_first_and_the_oldest_is_forgotten() {
        let mut flow = Flow::default();
        let from = flow.at(0x1000).unwrap();
        let ids: Vec<Id> = (0..70).map(|pc| flow.at(pc).unwrap()).collect();
        for &id in &ids {
            flow.learn(from, id);
        }
        assert_eq!(flow.successors(from).len(), MOST_SUCCESSORS);
        assert_eq!(flow.successors(from)[..2], [ids[69], ids[68]]);
        assert_eq!(flow.take(from, 2), Some(ids[67]));
        assert_eq!(flow.successors(from)[..3], [ids[67], ids[69], ids[68]]);
        assert_eq!(flow.take(from, 64), None);
    }
}
