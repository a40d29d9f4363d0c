//! Whom `--follow` names.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// What a process must be that executes a program, as text `CONDITION,…`. All conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Following {
    text: String,
    /// A pattern for the path of the program.
    pub(crate) program: Option<String>,
    pub(crate) user: Option<User>,
    /// The folder of a control group.
    pub(crate) group: Option<PathBuf>,
    /// A process whose PID namespace is meant.
    pub(crate) namespace: Option<i32>,
    /// The text is `children`: the processes that traced ones make. They are traced by default.
    pub(crate) children: bool,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// The user of ntrace.
    Own,
    /// A name or a number.
    Named(String),
}

impl fmt::Display for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Following {
    type Err = String;

    fn from_str(text: &str) -> Result<Following, String> {
        let mut all = Following { text: text.into(), ..Following::default() };
        for condition in text.split(',') {
            let (kind, value) =
                condition.split_once(':').map_or((condition, None), |(kind, value)| (kind, Some(value)));
            let is_new = match (kind, value) {
                ("exec", Some(glob)) if !glob.is_empty() => all.program.replace(glob.into()).is_none(),
                ("user", None) => all.user.replace(User::Own).is_none(),
                ("user", Some(name)) if !name.is_empty() => all.user.replace(User::Named(name.into())).is_none(),
                ("cgroup", Some(path)) if !path.is_empty() => all.group.replace(path.into()).is_none(),
                ("pidns", Some(pid)) => {
                    let number = pid.parse().ok().filter(|pid| *pid > 0);
                    let number = number.ok_or_else(|| format!("'{pid}' is no process number, as pidns:PID needs"))?;
                    all.namespace.replace(number).is_none()
                }
                ("children", None) => !std::mem::replace(&mut all.children, true),
                _ => {
                    let forms = "exec:GLOB, user, user:NAME, cgroup:PATH, pidns:PID and children";
                    return Err(format!("'{condition}' is none of {forms}"));
                }
            };
            if !is_new {
                return Err(format!("{kind} stands there twice: give --follow twice for processes that fulfil either"));
            }
        }
        if all.children && text != "children" {
            return Err("children stands alone: the children of what is traced are traced whatever they execute".into());
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_joined_by_commas() {
        let all: Following = "exec:/usr/bin/*,user:alice,cgroup:/system.slice,pidns:17".parse().unwrap();
        assert_eq!(all.program.as_deref(), Some("/usr/bin/*"));
        assert_eq!(all.user, Some(User::Named("alice".into())));
        assert_eq!(all.group, Some("/system.slice".into()));
        assert_eq!((all.namespace, all.children), (Some(17), false));
        assert_eq!("user".parse::<Following>().unwrap().user, Some(User::Own));
        assert!("children".parse::<Following>().unwrap().children);
    }

    #[test]
    fn what_names_nobody_is_refused_by_its_place() {
        for (text, expected) in [
            ("", "'' is none of exec:GLOB"),
            ("exec", "'exec' is none of"),
            ("exec:", "'exec:' is none of"),
            ("git", "'git' is none of"),
            ("exec:git,", "'' is none of"),
            ("pidns:0", "'0' is no process number"),
            ("pidns:x", "'x' is no process number"),
            ("exec:a,exec:b", "exec stands there twice"),
            ("exec:a,children", "children stands alone"),
        ] {
            let refused = text.parse::<Following>().unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
