//! Puts breakpoints into programs: at once, and into modules that are loaded later.

use serde_json::{Value, json};
use ubp::{Address, BreakpointId, Patch, Pid, Session, Spec};
use ubp_symbols::{Module, Pattern, by_line, by_name, code};

use super::wanted::{One, Site};
use crate::dap::adapter::Adapter;
use crate::dap::lines::past_prologue;
use crate::dap::program::Placed;
use crate::dap::threads;
use crate::filter::Bound;
use crate::process::{Space, inside_instruction, replaced};

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
        let mut addresses: Vec<u64> = Vec::new();
        for module in modules {
            match sites(&one.site, module, session, pid) {
                Ok(found) => addresses.extend(found),
                Err(reason) => one.refused = Some(reason),
            }
        }
        addresses.sort_unstable();
        addresses.dedup();
        let mut chosen = Vec::new();
        for address in addresses.into_iter().filter(|address| !known.contains(address)) {
            match spec(one, &program.space, address) {
                Ok(spec) => chosen.push(spec),
                Err(reason) => one.refused = Some(reason),
            }
        }
        let specs: Vec<Spec> = chosen.iter().map(|(spec, _)| spec.clone()).collect();
        // An error: the process has ended, and its end is reported.
        let inserted = session.insert(pid, &specs).unwrap_or_default();
        for ((spec, bound), inserted) in chosen.into_iter().zip(inserted) {
            match inserted {
                Ok(id) => {
                    program.placed.insert(id, Placed { number, address: spec.address.0, bound });
                }
                Err(error) => one.refused = Some(error.to_string()),
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
                    Site::Thrower(thrower) => format!("'{}' is not loaded", thrower.function),
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
///
/// # Errors
/// No breakpoint is right there: memory does not hold the code of the file, or the address is inside of an instruction.
fn sites(site: &Site, module: &Module, session: &Session, pid: Pid) -> Result<Vec<u64>, String> {
    let image = &module.image;
    let found = |search: ubp_symbols::Search| -> Vec<u64> {
        search.sites.into_iter().filter(|site| !site.indirect).map(|site| site.address).collect()
    };
    let in_file = match site {
        Site::Line { path, line } => found(by_line(image, path, *line)),
        Site::Function(name) => found(by_name(image, &Pattern::new(name), 0)),
        Site::Thrower(thrower) => found(by_name(image, &Pattern::new(thrower.function), 0)),
        Site::Address(address) if module.contains(*address) => vec![module.in_file(*address)],
        Site::Address(_) => Vec::new(),
    };
    // An error: the process has ended, and its end is reported.
    let replaced = replaced(session, pid, module, in_file.iter().copied()).unwrap_or_default();
    if let Some(address) = replaced.first() {
        let address = module.in_memory(*address);
        return Err(format!("memory does not hold the code of {} at {address:#x}", image.path().display()));
    }
    if let (Site::Address(address), Some(at)) = (site, in_file.first()) {
        if let Some(start) = inside_instruction(image, *at, |image| image.arch().mode(code::vendor())) {
            return Err(format!("{address:#x} is inside the instruction at {:#x}", module.in_memory(start)));
        }
    }
    let in_memory = in_file.into_iter().map(|address| module.in_memory(address));
    Ok(match site {
        Site::Function(_) => in_memory.map(|address| past_prologue(module, address)).collect(),
        _ => in_memory.collect(),
    })
}

/// The breakpoint to insert at an address, and the condition that the adapter evaluates at each hit.
///
/// # Errors
/// The condition makes no sense there, or never holds.
fn spec(one: &One, space: &Space, address: u64) -> Result<(Spec, Option<Bound>), String> {
    let (bound, condition) = match &one.condition {
        None => (None, None),
        Some(filter) => match filter.at(space, address).map_err(|problem| problem.to_string())? {
            (_, decision) if decision.never => return Err("the condition never holds there".into()),
            (bound, decision) => ((!decision.whole).then_some(bound), decision.condition),
        },
    };
    let mut spec = match one.is_plain_log() && bound.is_none() {
        true => Spec::record(Address(address)).patch(Patch::Auto),
        false => Spec::event(Address(address)),
    };
    if let Some(condition) = condition {
        spec = spec.when(condition).patch(Patch::Auto);
    }
    Ok((spec, bound))
}
