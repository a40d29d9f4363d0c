//! One line of the list.

use std::rc::Rc;

use serde::Serialize;
use survey::{Way, no_jump_at, way_at};
use ubp_symbols::types::Inlined;
use ubp_symbols::{Module, Site, StaticProbe, by_address, code, demangle};

use crate::failure::Result;
use crate::output::Output;
use crate::process::{Description, describe, source};

/// One address. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    description: Description,
    /// The address in the file.
    in_file: String,
    /// Bytes of the function, if the file states them.
    size: Option<u64>,
    /// Other names of the function.
    names: Vec<String>,
    /// Whether the function only chooses the one to use (`STT_GNU_IFUNC`).
    indirect: bool,
    /// Whether a jump can take the place of the breakpoint instruction, over ptrace.
    jump: bool,
    /// Why no jump can.
    no_jump: Option<String>,
    /// How a thread passes a breakpoint there.
    passed: &'static str,
    /// Why there can be no breakpoint.
    reason: Option<String>,
    /// The function of which a copy begins there.
    #[serde(skip_serializing_if = "Option::is_none")]
    inlined: Option<String>,
    /// Where the arguments of a static probe lie, as the assembler wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
    /// The address in the file of a static probe's semaphore.
    #[serde(skip_serializing_if = "Option::is_none")]
    semaphore: Option<String>,
}

/// Describes a site.
pub(super) fn row(module: &Module, site: &Site) -> Row {
    let image = &module.image;
    let address = module.in_memory(site.address);
    let asked = site.names.iter().any(|name| name.starts_with("usdt:")).then(|| Rc::from(site.names.clone()));
    let description = describe(Some(module), asked, address, address);
    let is_probe = |probe: &&StaticProbe| probe.address == site.address && description.probe == Some(probe.label());
    let probe = image.static_probes().iter().find(is_probe);
    let symbols: Vec<_> = image.symbols().at(site.address).collect();
    let mut names: Vec<String> =
        symbols.iter().map(|symbol| demangle(symbol.name).unwrap_or_else(|| symbol.name.to_string())).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|other| Some(other) != description.symbol.as_ref());
    let mode = image.arch().mode(code::vendor());
    let way = way_at(image, mode, site.address);
    let is_possible = matches!(way, Some(ref way) if !matches!(way, Way::Refused(_)));
    let no_jump =
        if is_possible { no_jump_at(image, mode, site.address) } else { Some("no breakpoint is possible".into()) };
    Row {
        inlined: None,
        arguments: probe.map(|probe| probe.arguments.clone()),
        semaphore: probe.and_then(|probe| probe.semaphore).map(|address| format!("{address:#x}")),
        description,
        in_file: format!("{:#x}", site.address),
        size: symbols.iter().map(|symbol| symbol.size).max().filter(|size| *size > 0),
        names,
        indirect: site.indirect,
        jump: no_jump.is_none(),
        no_jump,
        passed: way.as_ref().map_or("refused", Way::name),
        reason: match way {
            Some(Way::Refused(reason)) => Some(reason),
            Some(_) => None,
            None => Some("no instruction".into()),
        },
    }
}

/// Describes a copy of a function in another one.
pub(super) fn inlined_row(module: &Module, copy: &Inlined) -> Option<Row> {
    let mut row = row(module, &by_address(&module.image, copy.address)?);
    row.inlined = Some(demangle(&copy.name).unwrap_or_else(|| copy.name.to_string()));
    row.size = None;
    Some(row)
}

/// Writes the rows as columns.
pub(super) fn write_text(rows: &[Row], out: &mut Output<'_>) -> Result<()> {
    let width = |text: fn(&Row) -> usize, least: usize| rows.iter().map(text).max().unwrap_or(0).max(least);
    let addresses = width(|row| row.description.address.len(), "address".len());
    let sizes = width(|row| row.size.map_or(0, |size| size.to_string().len()), "size".len());
    out.line(format_args!("{:>addresses$}  {:>sizes$}  method  passed    location", "address", "size"))?;
    for row in rows {
        let size = row.size.map_or_else(|| "-".into(), |size| size.to_string());
        let names = if row.names.is_empty() { String::new() } else { format!(" ({})", row.names.join(", ")) };
        let source = source(&row.description);
        let inlined = row.inlined.as_ref().map(|name| format!(", a copy of {name}")).unwrap_or_default();
        let chooses = if row.indirect { ", chooses the function to use" } else { "" };
        let arguments = row.arguments.as_ref().filter(|arguments| !arguments.is_empty());
        let arguments = arguments.map(|arguments| format!("({arguments})")).unwrap_or_default();
        let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let method = match row.jump {
            true => "jump",
            false if row.reason.is_some() => "-",
            false => "trap",
        };
        let (address, location) = (&row.description.address, &row.description.location);
        out.line(format_args!(
            "{address:>addresses$}  {size:>sizes$}  {method:<6}  {:<8}  {location}{arguments}{names}{source}{inlined}{chooses}{reason}",
            row.passed
        ))?;
    }
    Ok(())
}
