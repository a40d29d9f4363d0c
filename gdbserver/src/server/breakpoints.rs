//! `Z` and `z`: breakpoints and watchpoints.

use ubp::{Access, Address, Arch, BreakpointId, Condition, Patch, Pid, Spec};

use super::Server;
use super::answer::{Answer, EINVAL};
use super::inferior::Inserted;
use crate::agent::{Expression, lower};
use crate::arch;
use crate::protocol::hex;

/// A parsed packet: the type, the address, the length, the conditions and the commands.
struct Point {
    kind: u64,
    address: u64,
    length: u64,
    conditions: Vec<Expression>,
    commands: Vec<Expression>,
}

impl Point {
    /// Parses `TYPE,ADDRESS,LENGTH[;X…][;cmds:PERSIST,X…]`.
    fn parse(text: &[u8]) -> Option<Point> {
        let mut parts = text.split(|&byte| byte == b';');
        let (kind, place) = hex::split(parts.next()?, b',')?;
        let (address, length) = hex::pair(place, b',')?;
        let (mut conditions, mut commands) = (Vec::new(), Vec::new());
        for part in parts {
            match part.strip_prefix(b"cmds:") {
                Some(rest) => commands.extend(expressions(hex::split(rest, b',')?.1)?),
                None => conditions.extend(expressions(part)?),
            }
        }
        Some(Point { kind: hex::number(kind)?, address, length, conditions, commands })
    }
}

/// Expressions one behind the other: `XLENGTH,BYTES`.
fn expressions(mut text: &[u8]) -> Option<Vec<Expression>> {
    let mut all = Vec::new();
    while let Some(rest) = text.strip_prefix(b"X") {
        let (length, rest) = hex::split(rest, b',')?;
        let digits = usize::try_from(hex::number(length)?).ok()?.checked_mul(2)?;
        all.push(Expression::parse(&hex::decode(rest.get(..digits)?)?)?);
        text = rest.get(digits..)?;
    }
    text.is_empty().then_some(all)
}

impl Server {
    pub(super) fn insert(&mut self, text: &[u8]) -> Answer {
        let Some(point) = Point::parse(text) else { return Answer::Error(EINVAL) };
        let Some((pid, _)) = self.selected else { return Answer::Error(EINVAL) };
        match point.kind {
            0 => self.insert_breakpoint(pid, point),
            1..=4 => self.insert_watchpoint(pid, &point),
            _ => Answer::Unknown,
        }
    }

    pub(super) fn remove(&mut self, text: &[u8]) -> Answer {
        let Some(Point { kind, address, .. }) = Point::parse(text) else { return Answer::Error(EINVAL) };
        let Some((pid, _)) = self.selected else { return Answer::Error(EINVAL) };
        let Some(inferior) = self.inferiors.get_mut(&pid) else { return Answer::Error(EINVAL) };
        match kind {
            0 => match inferior.breakpoints.remove(&address) {
                Some(inserted) => Answer::of(self.session.remove(pid, inserted.id.as_slice())),
                None => Answer::Ok,
            },
            1..=4 => match inferior.watchpoints.remove(&(kind, address)) {
                Some(id) => Answer::of(self.session.unwatch(pid, id)),
                None => Answer::Ok,
            },
            _ => Answer::Unknown,
        }
    }

    /// Inserts a breakpoint, in place of the one that is there: the client inserts it again when its conditions change.
    fn insert_breakpoint(&mut self, pid: Pid, point: Point) -> Answer {
        let Point { address, conditions, commands, .. } = point;
        let Some(arch) = self.session.process(pid).map(|process| process.arch()) else { return Answer::Error(EINVAL) };
        let lowered = lowered(&conditions, arch);
        let own = lowered.and_then(|condition| {
            let spec = Spec::event(Address(address)).when(condition).patch(Patch::Auto);
            self.insert_one(pid, &spec).ok()
        });
        let (id, conditions) = match own {
            Some(id) => (Some(id), Vec::new()),
            None => match self.insert_one(pid, &Spec::event(Address(address))) {
                Ok(id) => (Some(id), conditions),
                Err(_) if self.is_data(pid, address) => (None, Vec::new()),
                Err(why) => return Answer::Wrong(why),
            },
        };
        let Some(inferior) = self.inferiors.get_mut(&pid) else { return Answer::Error(EINVAL) };
        match inferior.breakpoints.insert(address, Inserted { id, conditions, commands }) {
            Some(last) => Answer::of(self.session.remove(pid, last.id.as_slice())),
            None => Answer::Ok,
        }
    }

    /// Whether memory is mapped at an address, and is not executable.
    fn is_data(&self, pid: Pid, address: u64) -> bool {
        let maps = self.session.process(pid).and_then(|process| process.maps().ok()).unwrap_or_default();
        maps.iter().any(|map| map.contains(Address(address)) && !map.execute)
    }

    fn insert_one(&mut self, pid: Pid, spec: &Spec) -> Result<BreakpointId, String> {
        let inserted = self.session.insert(pid, std::slice::from_ref(spec)).map_err(|error| error.to_string())?;
        match inserted.into_iter().next() {
            Some(Ok(id)) => Ok(id),
            Some(Err(error)) => Err(error.to_string()),
            None => Err(format!("there is no breakpoint at {}", spec.address)),
        }
    }

    fn insert_watchpoint(&mut self, pid: Pid, point: &Point) -> Answer {
        let (access, length) = match point.kind {
            1 => (Access::Execute, if cfg!(target_arch = "aarch64") { 4 } else { 1 }),
            2 => (Access::Write, point.length),
            _ => (Access::ReadWrite, point.length),
        };
        let Some(inferior) = self.inferiors.get_mut(&pid) else { return Answer::Error(EINVAL) };
        let key = (point.kind, point.address);
        if inferior.watchpoints.contains_key(&key) {
            return Answer::Ok;
        }
        match self.session.watch(pid, Address(point.address), length, access) {
            Ok(id) => {
                inferior.watchpoints.insert(key, id);
                Answer::Ok
            }
            Err(error) => Answer::Wrong(error.to_string()),
        }
    }
}

/// One condition for all of them, of which one must hold; `None` if there is none, or if one of them says more than a condition can.
fn lowered(conditions: &[Expression], arch: Arch) -> Option<Condition> {
    let register = |number| arch::agent_register(arch, number);
    let all: Option<Vec<Condition>> = conditions.iter().map(|condition| lower(condition, &register)).collect();
    all?.into_iter().reduce(Condition::or)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_and_commands_stand_behind_the_address() {
        let point = Point::parse(b"0,401000,1;X2,2201X3,220027;cmds:1,X1,27").unwrap();
        assert_eq!((point.kind, point.address, point.length), (0, 0x401000, 1));
        assert_eq!((point.conditions.len(), point.commands.len()), (2, 1));
        assert!(Point::parse(b"0,401000,1;X9,22").is_none() && Point::parse(b"0,zz,1").is_none());
        assert!(Point::parse(b"2,10,8").is_some_and(|point| point.conditions.is_empty() && point.length == 8));
    }
}
