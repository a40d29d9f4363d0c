//! Rules, and sets of rules.

use super::action::Action;
use super::filter::Filter;
use super::glob::Glob;
use super::group::Group;
use super::value::Value;
use super::vocabulary::Kind;
use crate::core::Buckets;
use crate::core::Limits;
use crate::{Address, Arch, Options, Syscalls};

/// What is done with events of threads of a group. It is data, whose evaluation is bounded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// The name, unique in a rule set.
    pub name: String,
    /// The name of the group.
    pub group: String,
    /// The event.
    pub on: On,
    /// Which occurrences the rule takes.
    pub filter: Filter,
    /// On which of these it acts.
    pub limits: Limits,
    /// What it does.
    pub actions: Vec<Action>,
    /// The first criterion of [`RuleSet`]'s order.
    pub priority: i32,
    /// Whether the next rule that takes the occurrence acts too.
    pub pass: bool,
    /// Whether its breakpoints are inserted from the begin on. Otherwise [`Action::Insert`] inserts them.
    pub armed: bool,
}

/// The event of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum On {
    /// Events of a kind. For breakpoints and system calls: those that other rules or the session's user ask for.
    Kind(Kind),
    /// A breakpoint, which the rule inserts in each process that may have threads of the group. As much of the filter as can be is the
    /// breakpoint's condition ([`Spec::when`](crate::Spec::when)): an arrival for which it is false makes no event.
    Breakpoint(Place),
    /// Entries of these system calls of an architecture, by its numbers. They are requested for processes alone that may have threads of
    /// the group.
    SyscallEntered(Arch, Syscalls),
    /// Returns of these system calls, as above.
    SyscallReturned(Arch, Syscalls),
}

/// The place of a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// An address in memory.
    Address(Address),
    /// An address in each file of this path or name, as symbols tell it. It is inserted when the file is mapped, before its code runs.
    File {
        /// The path or the name of the file.
        path: Glob,
        /// The address in the file.
        address: u64,
    },
    /// A place of this name: the session's user tells its addresses ([`Rules::found`](super::Rules::found)).
    Named(String),
}

/// An aggregate of a rule set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Summary {
    /// The name, unique in a rule set.
    pub name: String,
    /// The property of an occurrence by which the aggregate divides occurrences into rows.
    pub key: Key,
    /// The value that is added; `None`: occurrences are counted.
    pub value: Option<Value>,
    /// The histogram of each row.
    pub buckets: Option<Buckets>,
    /// The most rows, from 1 to 65,536.
    pub most: usize,
    /// Whether the most frequent keys are counted ([`Top`](super::Top)), in the place of all values of the first keys.
    pub top: bool,
}

/// A property of an occurrence; an aggregate has a row for each value of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Key {
    /// Nothing: there is one row.
    #[default]
    One,
    /// The process.
    Process,
    /// The thread.
    Thread,
    /// The thread's place in the program.
    Location,
    /// A value. Occurrences without the value have a row of the number 0.
    Value(Value),
}

/// Groups, rules and aggregates.
///
/// # Which rule acts
///
/// For each event the rules whose event it is, whose group has the thread, and whose filter holds are put in order, and the first one acts: the most
/// constrained one. If it has [`Rule::pass`], the next one acts too, and so on. A rule comes before another one
///
/// 1. if its [`Rule::priority`] is larger;
/// 2. else if its filter has more constraints ([`Filter::constraints`]);
/// 3. else if its group is more constrained ([`Members::constraints`](super::Members::constraints));
/// 4. else if it is about fewer events: about a breakpoint or chosen system calls, and not about all events of a kind;
/// 5. else if it stands before the other one in [`RuleSet::rules`].
///
/// A rule whose [`Limits`] leave an occurrence out has taken it all the same, and does nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RuleSet {
    /// The groups.
    pub groups: Vec<Group>,
    /// The rules.
    pub rules: Vec<Rule>,
    /// The aggregates.
    pub aggregates: Vec<Summary>,
}

impl Rule {
    /// A rule that takes all events of the kind, for threads of a group, and does nothing yet.
    pub fn new(name: impl Into<String>, group: impl Into<String>, on: On) -> Rule {
        Rule {
            name: name.into(),
            group: group.into(),
            on,
            filter: Filter::ALWAYS,
            limits: Limits::default(),
            actions: Vec::new(),
            priority: 0,
            pass: false,
            armed: true,
        }
    }

    /// The rule with a filter.
    pub fn when(self, filter: Filter) -> Rule {
        Rule { filter, ..self }
    }

    /// The rule with one more action.
    pub fn act(mut self, action: Action) -> Rule {
        self.actions.push(action);
        self
    }

    /// The rule with limits.
    pub fn within(self, limits: Limits) -> Rule {
        Rule { limits, ..self }
    }
}

impl On {
    /// The kind of the events.
    pub fn kind(&self) -> Kind {
        match self {
            On::Kind(kind) => *kind,
            On::Breakpoint(_) => Kind::Breakpoint,
            On::SyscallEntered(..) => Kind::SyscallEntered,
            On::SyscallReturned(..) => Kind::SyscallReturned,
        }
    }

    /// The system calls that the session has to report.
    pub(super) fn syscalls(&self) -> Option<&Syscalls> {
        match self {
            On::SyscallEntered(_, calls) | On::SyscallReturned(_, calls) => Some(calls),
            _ => None,
        }
    }
}

impl RuleSet {
    /// The options with which a session reports what the rules need: signals, threads. System calls are requested later, for each process.
    pub fn options(&self, options: Options) -> Options {
        let has = |wanted: &[Kind]| self.rules.iter().any(|rule| wanted.contains(&rule.on.kind()));
        let mut options = options;
        options.signals = has(&[Kind::SignalDelivered]);
        // A thread that was moved to a group leaves it when it ends.
        let moves = self.rules.iter().flat_map(|rule| &rule.actions).any(|action| matches!(action, Action::Move(_)));
        options.threads = moves || has(&[Kind::ThreadStarted, Kind::ThreadExited]);
        options
    }

    /// The numbers of the rules, the most constrained first.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.rules.len()).collect();
        let rank = |number: &usize| {
            let rule = self.rules.get(*number)?;
            let group = self.groups.iter().find(|group| group.name == rule.group)?;
            let all = matches!(rule.on, On::Kind(_));
            Some((rule.priority, rule.filter.constraints(), group.members.constraints(), !all))
        };
        // The sort keeps the order of equal rules.
        order.sort_by_key(|number| std::cmp::Reverse(rank(number)));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::MACHINES;
    use crate::rules::Members;
    use crate::{Pid, Tid};

    #[test]
    fn the_most_constrained_rule_comes_first() {
        let group = |name: &str, members| Group { name: name.into(), members };
        let groups = vec![group("all", Members::All), group("one", Members::Threads([Tid(1)].into()))];
        let rule = |name: &str, group: &str| Rule::new(name, group, On::Kind(Kind::SyscallEntered));
        let one = Filter::Process(Pid(1));
        let two = Filter::All(vec![one.clone(), Filter::Thread(Tid(1))]);
        let rules = vec![
            rule("plain", "all"),
            rule("equal", "all"),
            Rule { on: On::SyscallEntered(MACHINES[0].2, Syscalls::NONE.with(1)), ..rule("few events", "all") },
            rule("small group", "one"),
            rule("one test", "all").when(one),
            rule("two tests", "all").when(two),
            Rule { priority: 1, ..rule("priority", "all") },
        ];
        let set = RuleSet { groups, rules, aggregates: Vec::new() };
        let names: Vec<&str> = set.order().into_iter().map(|number| set.rules[number].name.as_str()).collect();
        let expected = ["priority", "two tests", "one test", "small group", "few events", "plain", "equal"];
        assert_eq!(names, expected);
    }
}
