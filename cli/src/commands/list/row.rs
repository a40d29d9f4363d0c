//! One line of the list.

use std::rc::Rc;

use serde::Serialize;
use survey::{Way, way_at};
use ubp_symbols::{Module, Site, StaticProbe, code, demangle};

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
    /// How a thread passes a breakpoint there.
    passed: &'static str,
    /// Why there can be no breakpoint.
    reason: Option<String>,
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
    let symbols = image.symbols().at(site.address);
    let mut names: Vec<String> =
        symbols.iter().map(|symbol| demangle(&symbol.name).unwrap_or_else(|| symbol.name.to_string())).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|other| Some(other) != description.symbol.as_ref());
    let way = way_at(image, image.arch().mode(code::vendor()), site.address);
    Row {
        arguments: probe.map(|probe| probe.arguments.clone()),
        semaphore: probe.and_then(|probe| probe.semaphore).map(|address| format!("{address:#x}")),
        description,
        in_file: format!("{:#x}", site.address),
        size: symbols.iter().map(|symbol| symbol.size).max().filter(|size| *size > 0),
        names,
        indirect: site.indirect,
        passed: way.as_ref().map_or("refused", Way::name),
        reason: match way {
            Some(Way::Refused(reason)) => Some(reason),
            Some(_) => None,
            None => Some("no instruction".into()),
        },
    }
}

/// Writes the rows as columns.
pub(super) fn write_text(rows: &[Row], out: &mut Output<'_>) -> Result<()> {
    let width = |text: fn(&Row) -> usize, least: usize| rows.iter().map(text).max().unwrap_or(0).max(least);
    let addresses = width(|row| row.description.address.len(), "address".len());
    let sizes = width(|row| row.size.map_or(0, |size| size.to_string().len()), "size".len());
    out.line(format_args!("{:>addresses$}  {:>sizes$}  passed    location", "address", "size"))?;
    for row in rows {
        let size = row.size.map_or_else(|| "-".into(), |size| size.to_string());
        let names = if row.names.is_empty() { String::new() } else { format!(" ({})", row.names.join(", ")) };
        let source = source(&row.description);
        let chooses = if row.indirect { ", chooses the function to use" } else { "" };
        let arguments = row.arguments.as_ref().filter(|arguments| !arguments.is_empty());
        let arguments = arguments.map(|arguments| format!("({arguments})")).unwrap_or_default();
        let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let (address, location) = (&row.description.address, &row.description.location);
        out.line(format_args!(
            "{address:>addresses$}  {size:>sizes$}  {:<8}  {location}{arguments}{names}{source}{chooses}{reason}",
            row.passed
        ))?;
    }
    Ok(())
}
