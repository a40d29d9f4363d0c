//! Puts breakpoints into programs: at once, and into modules that are loaded later.

use serde_json::{Value, json};
use ubp::{Address, BreakpointId, Patch, Pid, Spec};
use ubp_symbols::{Module, Pattern, by_line, by_name};

use super::wanted::{One, Site};
use crate::dap::adapter::Adapter;
use crate::dap::lines::past_prologue;
use crate::dap::program::Placed;
use crate::dap::threads;

impl Adapter {
    /// Reads the modules of a process anew, and puts the breakpoints into those that are new.
    pub(in crate::dap) fn find_modules(&mut self, pid: Pid) {
        let Adapter { programs, session, images, .. } = self;
        let Some(program) = programs.get_mut(&pid) else { return };
        // An error: the process has ended, and its end is reported.
        let new = program.space.update(session, images).unwrap_or_default();
        let gone = program.space.modules.take_gone();
        program.placed.retain(|_, placed| !gone.iter().any(|module| module.contains(placed.address)));
        for (module, reason) in new.iter().map(|one| (one, "new")).chain(gone.iter().map(|one| (one, "removed"))) {
            let module = threads::described(pid, module);
            self.tell("module", json!({ "reason": reason, "module": module }));
        }
        let numbers: Vec<u64> = self.wanted.all.keys().copied().collect();
        for number in numbers {
            let before = self.described(number);
            self.place(number, pid, &new);
            let after = self.described(number);
            if before != after {
                self.tell("breakpoint", json!({ "reason": "changed", "breakpoint": after }));
            }
        }
    }

    /// Puts breakpoints into all modules of all programs in which they are not yet.
    pub(super) fn place_everywhere(&mut self, numbers: &[u64]) {
        for number in numbers {
            let missing = |(pid, program): (&Pid, &crate::dap::program::Program)| {
                let is_missing = !program.is_leaving && program.addresses(*number).is_empty();
                is_missing.then(|| (*pid, program.space.modules.iter().cloned().collect::<Vec<Module>>()))
            };
            let programs: Vec<(Pid, Vec<Module>)> = self.programs.iter().filter_map(missing).collect();
            for (pid, modules) in programs {
                self.place(*number, pid, &modules);
            }
        }
    }

    /// Puts a breakpoint into modules of a process.
    fn place(&mut self, number: u64, pid: Pid, modules: &[Module]) {
        if self.is_run_alone() {
            return;
        }
        let Adapter { wanted, programs, session, .. } = self;
        let (Some(one), Some(program)) = (wanted.all.get_mut(&number), programs.get_mut(&pid)) else { return };
        if one.wrong.is_some() {
            return;
        }
        let known = program.addresses(number);
        let mut addresses: Vec<u64> = modules.iter().flat_map(|module| sites(&one.site, module)).collect();
        addresses.sort_unstable();
        addresses.dedup();
        for address in addresses.into_iter().filter(|address| !known.contains(address)) {
            let (bound, condition, never) = match &one.condition {
                None => (None, None, false),
                Some(filter) => match filter.at(&program.space, address) {
                    Ok((bound, decision)) => ((!decision.whole).then_some(bound), decision.condition, decision.never),
                    Err(problem) => {
                        one.refused = Some(problem.to_string());
                        continue;
                    }
                },
            };
            if never {
                one.refused = Some("the condition never holds there".into());
                continue;
            }
            let mut spec = spec(one, bound.is_none(), address);
            if let Some(condition) = condition {
                spec = spec.when(condition).patch(Patch::Auto);
            }
            match insert(session, pid, spec) {
                Ok(id) => {
                    program.placed.insert(id, Placed { number, address, bound });
                }
                Err(reason) => one.refused = Some(reason),
            }
        }
    }

    /// Takes a breakpoint out of all programs.
    pub(super) fn remove(&mut self, number: u64) {
        self.wanted.all.remove(&number);
        for (pid, program) in &mut self.programs {
            let own: Vec<BreakpointId> =
                program.placed.iter().filter(|(_, placed)| placed.number == number).map(|(id, _)| *id).collect();
            program.placed.retain(|id, _| !own.contains(id));
            // An error: the process has ended, and its end is reported.
            let _ = self.session.remove(*pid, &own);
        }
    }

    /// A breakpoint in the words of the protocol.
    pub(super) fn described(&self, number: u64) -> Value {
        let Some(one) = self.wanted.all.get(&number) else { return Value::Null };
        let seen = self.programs.values().filter(|program| !program.is_leaving);
        let found =
            seen.filter_map(|program| program.addresses(number).first().map(|address| (program, *address))).next();
        let mut body = json!({ "id": number, "verified": found.is_some() });
        match found {
            Some((program, address)) => {
                body["instructionReference"] = json!(format!("{address:#x}"));
                let place = program.space.modules.describe(address);
                if let (Some((path, line)), false) = (place.line, matches!(one.site, Site::Address(_))) {
                    body["line"] = json!(line);
                    let path = if let Site::Line { path, .. } = &one.site { path.clone() } else { path };
                    body["source"] = crate::dap::lines::source(&path);
                }
            }
            None => {
                let nowhere = match &one.site {
                    Site::Line { line, .. } => format!("no code of this line or a later one is loaded ({line})"),
                    Site::Function(name) => format!("no function '{name}' is loaded"),
                    Site::Address(address) => format!("no code is at {address:#x}"),
                    Site::Thrower(name, _) => format!("'{name}' is not loaded"),
                };
                let text = one.wrong.clone().or_else(|| one.refused.clone()).unwrap_or(nowhere);
                let reason = if one.wrong.is_some() || one.refused.is_some() { "failed" } else { "pending" };
                body["message"] = json!(text);
                body["reason"] = json!(reason);
            }
        }
        body
    }
}

/// The addresses in memory that a site means in a module.
fn sites(site: &Site, module: &Module) -> Vec<u64> {
    let found = |search: ubp_symbols::Search| search.sites.into_iter().filter(|site| !site.indirect);
    let address = |site: ubp_symbols::Site| module.in_memory(site.address);
    match site {
        Site::Line { path, line } => found(by_line(&module.image, path, *line)).map(address).collect(),
        Site::Function(name) => {
            let search = by_name(&module.image, &Pattern::new(name), 0);
            found(search).map(|site| past_prologue(module, module.in_memory(site.address))).collect()
        }
        Site::Thrower(name, _) => found(by_name(&module.image, &Pattern::new(name), 0)).map(address).collect(),
        Site::Address(address) if module.contains(*address) => vec![*address],
        Site::Address(_) => Vec::new(),
    }
}

/// What is inserted: `is_decided` says that no condition is left for the adapter.
fn spec(one: &One, is_decided: bool, address: u64) -> Spec {
    match one.is_plain_log() && is_decided {
        true => Spec::record(Address(address)).patch(Patch::Auto),
        false => Spec::event(Address(address)),
    }
}

fn insert(session: &mut ubp::Session, pid: Pid, spec: Spec) -> Result<BreakpointId, String> {
    let inserted = session.insert(pid, &[spec]).map_err(|error| error.to_string())?;
    match inserted.into_iter().next() {
        Some(Ok(id)) => Ok(id),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("the process has ended".into()),
    }
}
