//! Files of rules (TOML): what `ntrace trace --rules` reads.

mod action;
mod aggregate;
mod filter;
mod group;
mod rule;
mod value;

use std::path::Path;

use ubp::rules::{Group, Members, RuleSet};

use crate::failure::Result;
use crate::item::{self, Item, Wrong};
use crate::location::Location;

/// The rules of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleFile {
    pub(crate) set: RuleSet,
    /// The locations of breakpoints, whose texts are the names of their places.
    pub(crate) locations: Vec<Location>,
}

impl RuleFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or its text is not one of rules. The message names line and column.
    pub(crate) fn read(path: &Path) -> Result<RuleFile> {
        item::read(path, RuleFile::parse)
    }

    fn parse(text: &str) -> Result<RuleFile, Wrong> {
        let table = item::parse(text)?;
        let whole = table.span();
        let root = Item::of_table(&table);
        root.only(&["groups", "rules", "aggregates"])?;
        let mut file = RuleFile::default();
        for (name, item) in root.entries("groups")? {
            file.set.groups.push(group::read(name, &item)?);
        }
        if !file.set.groups.iter().any(|group| group.name == "all") {
            file.set.groups.push(Group { name: "all".into(), members: Members::All });
        }
        for (name, item) in root.entries("aggregates")? {
            file.set.aggregates.push(aggregate::read(name, &item)?);
        }
        let mut spans = Vec::new();
        for (number, item) in root.list("rules")?.into_iter().enumerate() {
            let (rule, location) = rule::read(number + 1, &item)?;
            spans.push((rule.name.clone(), item.span()));
            file.set.rules.push(rule);
            file.locations.extend(location);
        }
        file.set.check().map_err(|error| {
            let of = spans.iter().find(|(name, _)| *name == error.name);
            Wrong { span: of.map_or(whole, |(_, span)| span.clone()), message: error.to_string() }
        })?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[groups.ls]
executable = "ls"

[aggregates.sizes]
key = "thread"
value = "arg0"
histogram = "log2"

[[rules]]
name = "big"
event = "breakpoint"
at = "libc!malloc"
when = ["arg0 >= 0x1000", { not = { any = ["rdi == 5000", "[rsp+8]:4 == 1"] } }]
every = 10
do = [{ record = { arguments = 2 } }, { aggregate = "sizes" }]

[[rules]]
group = "ls"
event = "syscall_entered"
syscalls = ["openat", "read"]
do = ["record"]
"#;

    #[test]
    fn a_file_has_groups_rules_and_aggregates() {
        let is_arm64 = cfg!(target_arch = "aarch64");
        let text = if is_arm64 { TEXT.replace("rdi", "x0").replace("rsp", "sp") } else { TEXT.to_owned() };
        let file = RuleFile::parse(&text).unwrap_or_else(|wrong| panic!("{}", wrong.at(&text)));
        let RuleSet { groups, rules, aggregates } = &file.set;
        assert_eq!((groups.len(), rules.len(), aggregates.len(), file.locations.len()), (2, 2, 1, 1));
        assert_eq!((rules[0].name.as_str(), rules[0].group.as_str(), rules[0].limits.every), ("big", "all", 10));
        assert_eq!((rules[0].filter.constraints(), rules[0].actions.len()), (2, 2));
        assert_eq!((rules[1].name.as_str(), rules[1].group.as_str()), ("rule 2", "ls"));
    }

    #[test]
    fn what_is_wrong_is_named_with_line_and_column() {
        let wrong = |text: &str| match RuleFile::parse(text) {
            Ok(_) => String::new(),
            Err(wrong) => wrong.at(text),
        };
        for (text, expected) in [
            ("[[rules]]\nevent = \"nothing\"\n", "2:9: no such event: 'nothing'"),
            ("[[rules]]\nevent = 7\n", "2:9: a text is expected"),
            ("[[rules]]\nevent = \"exec\"\ncolour = 1\n", "3:1: 'colour' has no meaning here"),
            ("[[rules]]\nname = \"x\"\n", "1:1: 'event' is missing"),
            ("[[rules]]\nevent = \"exec\"\ndo = [\"fly\"]\n", "3:7: no such action: 'fly'"),
            ("[[rules]]\nevent = \"exec\"\nwhen = \"arg0 == 1\"\n", "1:1: rule 1: the event 'exec' has no "),
            ("[[rules]]\nevent = \"exited\"\nwhen = \"status = 1\"\n", "3:8: not a comparison: 'status = 1'"),
            ("[[rules]]\nevent = \"exited\"\ngroup = \"x\"\n", "1:1: rule 1: there is no group 'x'"),
            ("[[rules]\n", "1:"),
            ("[rule]\n", "1:2: 'rule' has no meaning here"),
        ] {
            assert!(wrong(text).starts_with(expected), "{text:?}: {:?} is not {expected:?}", wrong(text));
        }
    }
}
