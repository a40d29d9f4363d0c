//! Requests about watchpoints.

use serde::Deserialize;
use serde_json::{Value, json};
use ubp::{Access, Address, Pid};

use super::adapter::Adapter;
use super::lines::number_of;
use super::refusal::Answered;

/// What `dataBreakpointInfo` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InfoFields {
    name: String,
    variables_reference: Option<usize>,
    #[serde(default)]
    as_address: bool,
    bytes: Option<u64>,
}

/// What `setDataBreakpoints` has.
#[derive(Debug, Deserialize)]
pub(super) struct DataFields {
    breakpoints: Vec<OneFields>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OneFields {
    data_id: String,
    access_type: Option<String>,
}

impl Adapter {
    /// Says by which name memory is watched: its process, address and length.
    pub(super) fn data_breakpoint_info(&mut self, fields: &InfoFields) -> Answered {
        let place = match fields.as_address {
            true => Some((self.memory_of()?, number_of(&fields.name)?, fields.bytes.unwrap_or(1))),
            false => fields.variables_reference.and_then(|reference| self.place_of(reference, &fields.name)),
        };
        Ok(match place {
            Some((pid, address, length)) if (1..=32).contains(&length) => json!({
                "dataId": format!("{} {address:#x} {length} {}", pid.0, fields.name),
                "description": format!("{} ({length} bytes at {address:#x})", fields.name),
                "accessTypes": ["write", "readWrite"],
            }),
            Some((_, _, length)) => {
                json!({ "dataId": null, "description": format!("the processor can watch at most 32 bytes, not {length}") })
            }
            None => json!({ "dataId": null, "description": format!("'{}' does not lie in memory", fields.name) }),
        })
    }

    pub(super) fn set_data_breakpoints(&mut self, fields: DataFields) -> Answered {
        for (pid, id) in std::mem::take(&mut self.watches.0).into_keys() {
            // An error: the process has ended.
            let _ = self.session.unwatch(pid, id);
        }
        let mut set: Vec<Value> = Vec::new();
        for one in &fields.breakpoints {
            set.push(match self.watch(one) {
                Ok(()) => json!({ "verified": true }),
                Err(text) => json!({ "verified": false, "message": text, "reason": "failed" }),
            });
        }
        Ok(json!({ "breakpoints": set }))
    }

    fn watch(&mut self, one: &OneFields) -> Result<(), String> {
        let mut words = one.data_id.splitn(4, ' ');
        let mut word = || words.next().ok_or_else(|| format!("'{}' is no name of memory", one.data_id));
        let pid = word()?.parse().map(Pid).map_err(|error| error.to_string())?;
        let address = number_of(word()?).map_err(|refusal| refusal.text().to_owned())?;
        let length = word()?.parse().map_err(|error: std::num::ParseIntError| error.to_string())?;
        let name = word()?.to_owned();
        let access = match one.access_type.as_deref() {
            None | Some("write") => Access::Write,
            Some("readWrite") => Access::ReadWrite,
            Some(other) => return Err(format!("the processor cannot watch accesses of the kind '{other}'")),
        };
        let id = self.session.watch(pid, Address(address), length, access).map_err(|error| error.to_string())?;
        let what = if access == Access::Write { "written" } else { "accessed" };
        self.watches.0.insert((pid, id), format!("{name} was {what}"));
        Ok(())
    }
}
