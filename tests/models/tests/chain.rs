//! The chains of traced address spaces.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicPtr;
use loom::thread;
use models::lockfree::{Chain, Linked};

struct Node {
    next: AtomicPtr<Node>,
    number: UnsafeCell<u32>,
}

// SAFETY: `number` is written before the node is shared, which is what these tests check.
unsafe impl Sync for Node {}

impl Linked for Node {
    fn next(&self) -> &AtomicPtr<Node> {
        &self.next
    }
}

impl Node {
    /// A node that is never freed, as it would be while there are readers.
    fn new(number: u32) -> &'static Node {
        let node: &'static Node =
            Box::leak(Box::new(Node { next: AtomicPtr::new(std::ptr::null_mut()), number: UnsafeCell::new(0) }));
        // SAFETY: nobody else knows the node.
        node.number.with_mut(|place| unsafe { *place = number });
        node
    }

    fn is(&self, number: u32) -> bool {
        // SAFETY: the number does not change once the node is shared. Loom reports a read that is not ordered behind the write.
        self.number.with(|place| unsafe { *place == number })
    }
}

fn finds(chain: &Chain<Node>, number: u32) -> bool {
    // SAFETY: nodes are never freed.
    unsafe { chain.find(|node| node.is(number)) }.is_some()
}

fn enter(chain: &Chain<Node>, node: &Node) {
    // SAFETY: nodes are never freed.
    unsafe { chain.enter(std::ptr::from_ref(node).cast_mut()) };
}

// Loom looks for orders at the last access of another thread to the same number, so the reader is the thread that begins later.

#[test]
fn a_value_that_is_found_is_initialised() {
    loom::model(|| {
        let chain = Arc::new(Chain::new());
        let reader = thread::spawn({
            let chain = chain.clone();
            move || finds(&chain, 1)
        });
        enter(&chain, Node::new(1));
        reader.join().unwrap();
        assert!(finds(&chain, 1));
    });
}

#[test]
fn a_value_that_stays_is_found_while_others_come_and_go() {
    loom::model(|| {
        let chain = Arc::new(Chain::new());
        enter(&chain, Node::new(1));
        let reader = thread::spawn({
            let chain = chain.clone();
            move || finds(&chain, 1)
        });
        let middle = Node::new(2);
        enter(&chain, middle);
        enter(&chain, Node::new(3));
        // SAFETY: nodes are never freed.
        unsafe { chain.leave(middle) };
        assert!(reader.join().unwrap());
        assert!(finds(&chain, 1) && finds(&chain, 3) && !finds(&chain, 2));
    });
}

#[test]
fn a_value_behind_one_that_leaves_is_initialised_for_who_finds_it_first() {
    loom::model(|| {
        let chain = Arc::new(Chain::new());
        let reader = thread::spawn({
            let chain = chain.clone();
            move || finds(&chain, 1)
        });
        let first = Node::new(2);
        enter(&chain, Node::new(1));
        enter(&chain, first);
        // SAFETY: nodes are never freed.
        unsafe { chain.leave(first) };
        reader.join().unwrap();
        assert!(finds(&chain, 1) && !finds(&chain, 2));
    });
}
