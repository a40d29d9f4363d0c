//! The modules to search, and the addresses of the locations in them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::getpgrp;
use ubp::{Options, Pid, Session};
use ubp_symbols::files::Fetch;
use ubp_symbols::types::Inlined;
use ubp_symbols::{Image, Images, Module, Modules, Search, Site, by_address};

use crate::debuginfod;
use crate::failure::{Failure, NOT_FOUND, Result};
use crate::location::Location;
use crate::output::{shown, tell};

/// What fetches debug files. A signal ends a request with the command.
fn fetch() -> Option<Fetch> {
    debuginfod::fetch(getpgrp().as_raw(), None)
}

/// Opens the files. Their code has the addresses of the files.
pub(super) fn of_files(files: &[PathBuf]) -> Result<Vec<Module>> {
    let fetch = fetch();
    let open = |path: &PathBuf| {
        let image = Image::open(path).map_err(|error| Failure::own(format!("{}: {error}", shown(path))))?;
        fetch.iter().cloned().for_each(|fetch| image.fetch_by(fetch));
        Ok(Module::new(Rc::new(image), 0, Vec::new()))
    };
    files.iter().map(open).collect()
}

/// Reads the modules of a running process, which is traced meanwhile. No signal but SIGKILL ends the command before the process is
/// detached.
pub(super) fn of_process(pid: Pid) -> Result<Vec<Module>> {
    let mask =
        SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(|e| Failure::own(format!("sigmask: {e}")))?;
    let modules = read_traced(pid);
    mask.thread_set_mask().map_err(|error| Failure::own(format!("sigmask: {error}")))?;
    modules
}

fn read_traced(pid: Pid) -> Result<Vec<Module>> {
    let mut options = Options::default();
    (options.signals, options.threads) = (false, false);
    let mut session = Session::with_options(options).map_err(Failure::trace)?;
    session.attach(pid).map_err(|error| match error {
        ubp::Error::NoSuchProcess(_) => Failure::new(NOT_FOUND, error.to_string()),
        error => Failure::trace(error),
    })?;
    let (mut images, mut modules) = (Images::default(), Modules::new(pid));
    fetch().into_iter().for_each(|fetch| images.fetch_by(fetch));
    let updated = modules.update(&session, &mut images);
    let detached = session.detach(pid);
    images.take_notes().iter().for_each(tell);
    updated.map_err(Failure::trace)?;
    detached.map_err(Failure::trace)?;
    Ok(modules.iter().cloned().collect())
}

/// The result of a search in all modules.
pub(super) struct Found<'a> {
    /// The sites, by module and address. A site has the names of all locations that mean it.
    pub(super) sites: Vec<(&'a Module, Site)>,
    /// The copies of the functions in others.
    pub(super) inlined: Vec<(&'a Module, Inlined)>,
    pub(super) notes: Vec<String>,
    /// The locations without a site.
    pub(super) missing: Vec<&'a Location>,
}

/// Searches all modules. `in_memory`: the modules belong to a process, and addresses are those in its memory.
pub(super) fn find<'a>(locations: &'a [Location], modules: &'a [Module], in_memory: bool) -> Found<'a> {
    let mut found: BTreeMap<(usize, u64), Site> = BTreeMap::new();
    let (mut notes, mut missing, mut inlined) = (Vec::new(), Vec::new(), Vec::new());
    for location in locations {
        let mut is_found = false;
        for (number, module) in modules.iter().enumerate() {
            let mut search = location.find(&module.image);
            if search.sites.is_empty() {
                search.sites.extend(location.address().and_then(|at| site_at(at, module, in_memory, number == 0)));
            }
            let Search { mut sites, note, .. } = search;
            let copies = location.inlined(&module.image);
            // A location may mean the copies alone.
            sites.retain(|site| copies.iter().all(|copy| copy.address != site.address));
            is_found |= !sites.is_empty() || !copies.is_empty();
            inlined.extend(copies.into_iter().map(|copy| (module, copy)));
            notes.extend(note);
            for site in sites {
                found.entry((number, site.address)).or_insert(site);
            }
        }
        if !is_found {
            missing.push(location);
        }
    }
    let sites = found.into_iter().filter_map(|((number, _), site)| Some((modules.get(number)?, site))).collect();
    Found { sites, inlined, notes, missing }
}

/// The site at an address without a module: in memory, or counted from the base of the program, which is the first module.
fn site_at(address: u64, module: &Module, in_memory: bool, is_first: bool) -> Option<Site> {
    if in_memory && module.contains(address) {
        return by_address(&module.image, module.in_file(address));
    }
    let counts = is_first && address < module.image.end();
    by_address(&module.image, address).filter(|_| counts || !in_memory)
}
