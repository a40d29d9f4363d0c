//! `ntrace list`.

mod modules;
mod row;

use std::process::ExitCode;
use std::rc::Rc;

use ubp_symbols::Image;

use self::modules::{Found, find, of_files, of_process};
use self::row::{inlined_row, row, write_text};
use crate::args::{Format, ListArgs};
use crate::failure::{Failure, Result};
use crate::location::{Location, explain};
use crate::output::{Output, tell};

/// The exit status if a location matches nothing.
const NO_MATCH: u8 = 1;

/// Runs the command.
pub(crate) fn run(args: &ListArgs) -> Result<ExitCode> {
    let locations: Vec<Location> =
        args.locations.iter().map(|text| Location::parse(text).map_err(Failure::usage)).collect::<Result<_>>()?;
    let modules = match args.pid {
        Some(pid) => of_process(ubp::Pid(pid))?,
        None => of_files(&args.files)?,
    };
    let Found { sites, inlined, notes, missing } = find(&locations, &modules, args.pid.is_some());
    notes.iter().for_each(tell);
    let own = sites.iter().map(|(module, site)| row(module, site));
    let rows: Vec<_> = own.chain(inlined.iter().filter_map(|(module, copy)| inlined_row(module, copy))).collect();
    let mut out = Output::stdout();
    match args.format {
        Format::Text if rows.is_empty() => {}
        Format::Text => write_text(&rows, &mut out)?,
        Format::Json => rows.iter().try_for_each(|row| out.json(row))?,
    }
    out.flush()?;
    let images: Vec<Rc<Image>> = modules.iter().map(|module| Rc::clone(&module.image)).collect();
    missing.iter().for_each(|location| tell(explain(location, &images)));
    Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(NO_MATCH) })
}
