//! The stacks of functions that were seen, as a tree.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use crate::commands::flame;
use crate::process::Description;

/// The largest number of stacks that are told apart, so that a program cannot fill ntrace's memory.
const MOST: usize = 1 << 20;

/// A stack: the place of its last function in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stack(usize);

/// All stacks.
#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    known: HashMap<(Option<Stack>, Option<u64>, u64), Stack>,
}

struct Node {
    function: Rc<Description>,
    caller: Option<Stack>,
    /// The time in the function with this stack, without functions that it called.
    own: Duration,
}

impl Tree {
    /// The stack of a function that `caller` called. When there are [`MOST`] stacks, a new one is taken for its caller's.
    pub(super) fn stack(&mut self, caller: Option<Stack>, function: Rc<Description>) -> Stack {
        let next = Stack(self.nodes.len());
        if let (true, Some(caller)) = (self.nodes.len() >= MOST, caller) {
            let known = self.known.get(&(Some(caller), function.image, function.in_file));
            return known.copied().unwrap_or(caller);
        }
        let stack = *self.known.entry((caller, function.image, function.in_file)).or_insert(next);
        if stack == next {
            self.nodes.push(Node { function, caller, own: Duration::ZERO });
        }
        stack
    }

    /// The last function of a stack.
    pub(super) fn function(&self, stack: Stack) -> &Rc<Description> {
        &self.nodes[stack.0].function
    }

    pub(super) fn add(&mut self, stack: Stack, own: Duration) {
        self.nodes[stack.0].own += own;
    }

    /// Each stack in which time was spent, as the locations of its functions with a semicolon between, and the nanoseconds.
    pub(super) fn folded(&self) -> Vec<(String, u128)> {
        let spent = self.nodes.iter().enumerate().filter(|(_, node)| !node.own.is_zero());
        let mut lines: Vec<(String, u128)> =
            spent.map(|(number, node)| (self.path(Stack(number)), node.own.as_nanos())).collect();
        lines.sort_unstable();
        lines
    }

    fn path(&self, stack: Stack) -> String {
        let mut names = Vec::new();
        let mut next = Some(stack);
        while let Some(Stack(number)) = next {
            names.push(flame::name(&self.nodes[number].function.location));
            next = self.nodes[number].caller;
        }
        names.reverse();
        names.join(";")
    }
}
