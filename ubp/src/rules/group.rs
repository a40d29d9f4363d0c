//! Groups of threads.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::glob::Glob;
use crate::{Pid, Tid};

/// A group of threads. A thread may be in several groups. The group has those that it is declared for, and those that rules move to it, without
/// those that rules move away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// The name, unique in a rule set.
    pub name: String,
    /// The threads that it is declared for.
    pub members: Members,
}

/// The threads that a group is declared for. All are threads of the session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Members {
    /// All threads.
    All,
    /// All threads of all processes that execute a program of this path or name, from the exec on.
    Executable(Glob),
    /// All threads of these processes.
    Processes(BTreeSet<Pid>),
    /// All threads of these processes, of the processes that they make, and so on.
    Families(BTreeSet<Pid>),
    /// These threads.
    Threads(BTreeSet<Tid>),
    /// No thread until a rule moves one to the group.
    Nobody,
}

impl Members {
    /// How constrained the group is: single threads most, then processes, families, programs, and all threads least.
    pub fn constraints(&self) -> usize {
        match self {
            Members::All => 0,
            Members::Executable(_) => 1,
            Members::Families(_) => 2,
            Members::Processes(_) => 3,
            Members::Threads(_) | Members::Nobody => 4,
        }
    }

    /// Whether a process may have threads in the group.
    fn has(&self, pid: Pid, executable: &[u8], family: &dyn Fn(&BTreeSet<Pid>) -> bool) -> bool {
        match self {
            Members::All | Members::Threads(_) => true,
            Members::Executable(glob) => glob.matches(executable),
            Members::Processes(pids) => pids.contains(&pid),
            Members::Families(pids) => family(pids),
            Members::Nobody => false,
        }
    }
}

/// The threads that rules moved, and the ancestry of processes.
#[derive(Clone, Debug, Default)]
pub(super) struct Membership {
    /// By group: the threads that were moved to it.
    joined: HashMap<usize, HashSet<(Pid, Tid)>>,
    /// By group: the threads that were moved away from it.
    left: HashMap<usize, HashSet<(Pid, Tid)>>,
    /// The process that made a process.
    parents: HashMap<Pid, Pid>,
}

impl Membership {
    /// Whether a thread is in a group.
    pub(super) fn contains(&self, number: usize, members: &Members, pid: Pid, tid: Tid, executable: &[u8]) -> bool {
        let is_in = |sets: &HashMap<usize, HashSet<(Pid, Tid)>>| {
            sets.get(&number).is_some_and(|threads| threads.contains(&(pid, tid)))
        };
        if is_in(&self.joined) {
            return true;
        }
        let is_declared = match members {
            Members::Threads(tids) => tids.contains(&tid),
            members => members.has(pid, executable, &|pids| self.is_of_family(pid, pids)),
        };
        is_declared && !is_in(&self.left)
    }

    /// Whether a process may have a thread in a group, of which the process has the threads `threads`.
    pub(super) fn may_contain(
        &self,
        number: usize,
        members: &Members,
        pid: Pid,
        executable: &[u8],
        threads: impl Iterator<Item = Tid>,
    ) -> bool {
        let mut threads = threads;
        let joined = self.joined.get(&number).is_some_and(|joined| joined.iter().any(|(process, _)| *process == pid));
        joined
            || match members {
                Members::Threads(tids) => threads.any(|tid| tids.contains(&tid)),
                members => members.has(pid, executable, &|pids| self.is_of_family(pid, pids)),
            }
    }

    fn is_of_family(&self, pid: Pid, pids: &BTreeSet<Pid>) -> bool {
        let mut next = Some(pid);
        // Ended processes are forgotten, so that their numbers come again, but never in a circle of this length.
        for _ in 0..=self.parents.len() {
            match next {
                Some(pid) if pids.contains(&pid) => return true,
                Some(pid) => next = self.parents.get(&pid).copied(),
                None => return false,
            }
        }
        false
    }

    pub(super) fn move_thread(&mut self, from: usize, to: usize, pid: Pid, tid: Tid) {
        self.joined.entry(from).or_default().remove(&(pid, tid));
        self.left.entry(from).or_default().insert((pid, tid));
        self.left.entry(to).or_default().remove(&(pid, tid));
        self.joined.entry(to).or_default().insert((pid, tid));
    }

    pub(super) fn forked(&mut self, parent: Pid, child: Pid) {
        self.parents.insert(child, parent);
    }

    pub(super) fn forget_thread(&mut self, pid: Pid, tid: Tid) {
        for threads in self.joined.values_mut().chain(self.left.values_mut()) {
            threads.remove(&(pid, tid));
        }
    }

    pub(super) fn forget_process(&mut self, pid: Pid) {
        let sets = self.joined.values_mut().chain(self.left.values_mut());
        sets.for_each(|threads| threads.retain(|(process, _)| *process != pid));
        // The children of the process stay in its families: they get its parent for a parent.
        let parent = self.parents.remove(&pid);
        for own in self.parents.values_mut().filter(|own| **own == pid) {
            *own = parent.unwrap_or(*own);
        }
    }

    /// Forgets all moves, as the groups are other ones.
    pub(super) fn forget_moves(&mut self) {
        self.joined.clear();
        self.left.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXECUTABLE: &[u8] = b"/usr/bin/ls";

    fn contains(membership: &Membership, members: &Members, pid: i32) -> bool {
        membership.contains(0, members, Pid(pid), Tid(pid), EXECUTABLE)
    }

    #[test]
    fn groups_have_what_they_are_declared_for() {
        let membership = Membership::default();
        let of = |members: Members| contains(&membership, &members, 7);
        assert!(of(Members::All) && of(Members::Processes([Pid(7)].into())) && of(Members::Threads([Tid(7)].into())));
        assert!(of(Members::Executable(Glob::new("ls"))) && of(Members::Families([Pid(7)].into())));
        assert!(!of(Members::Nobody) && !of(Members::Processes([Pid(8)].into())));
        assert!(!of(Members::Executable(Glob::new("cat"))) && !of(Members::Threads([Tid(8)].into())));
    }

    #[test]
    fn a_family_has_the_children_of_children_also_when_a_process_between_has_ended() {
        let mut membership = Membership::default();
        let family = Members::Families([Pid(1)].into());
        membership.forked(Pid(1), Pid(2));
        membership.forked(Pid(2), Pid(3));
        assert!(contains(&membership, &family, 3) && !contains(&membership, &family, 4));
        membership.forget_process(Pid(2));
        assert!(contains(&membership, &family, 3));
        membership.forget_process(Pid(1));
        assert!(contains(&membership, &family, 3), "the family outlives its first process");
    }

    #[test]
    fn a_moved_thread_is_in_one_group_and_no_longer_in_the_other() {
        let mut membership = Membership::default();
        let (pid, tid) = (Pid(7), Tid(7));
        let is_in = |membership: &Membership, group, members| membership.contains(group, members, pid, tid, EXECUTABLE);
        membership.move_thread(0, 1, pid, tid);
        assert!(!is_in(&membership, 0, &Members::All) && is_in(&membership, 1, &Members::Nobody));
        membership.move_thread(1, 0, pid, tid);
        assert!(is_in(&membership, 0, &Members::All) && !is_in(&membership, 1, &Members::Nobody));
        membership.move_thread(0, 1, pid, tid);
        membership.forget_thread(pid, tid);
        assert!(is_in(&membership, 0, &Members::All) && !is_in(&membership, 1, &Members::Nobody));
    }
}
