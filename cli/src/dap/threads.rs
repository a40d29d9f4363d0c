//! Threads and modules.

use serde_json::{Value, json};
use ubp::Pid;

use super::adapter::Adapter;
use super::refusal::Answered;

impl Adapter {
    pub(super) fn threads(&mut self) -> Answered {
        let mut all: Vec<Value> = Vec::new();
        for (&pid, _) in self.programs.iter().filter(|(_, program)| !program.is_leaving) {
            // A process that has ended has no threads.
            for thread in self.session.threads(pid).unwrap_or_default() {
                all.push(json!({ "id": thread.tid.0, "name": thread.name.to_string_lossy() }));
            }
        }
        Ok(json!({ "threads": all }))
    }

    pub(super) fn modules(&mut self) -> Answered {
        let programs = self.programs.iter().filter(|(_, program)| !program.is_leaving);
        let all: Vec<Value> = programs
            .flat_map(|(pid, program)| program.space.modules.iter().map(|module| described(*pid, module)))
            .collect();
        Ok(json!({ "totalModules": all.len(), "modules": all }))
    }
}

/// A module in the words of the protocol.
pub(super) fn described(pid: Pid, module: &ubp_symbols::Module) -> Value {
    let start = module.code.first().map_or(0, |code| code.start);
    let end = module.code.last().map_or(0, |code| code.end);
    let status = match (module.image.lines(), module.image.symbols().iter().next()) {
        (Some(_), _) => "source lines",
        (None, Some(_)) => "symbols",
        (None, None) => "no symbols",
    };
    json!({
        "id": format!("{pid}:{:#x}", module.bias),
        "name": module.image.name(),
        "path": module.image.path().display().to_string(),
        "addressRange": format!("{start:#x}-{end:#x}"),
        "symbolStatus": status,
    })
}
