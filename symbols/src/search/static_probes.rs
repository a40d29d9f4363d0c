//! Finds the static probes of a file.

use std::collections::BTreeMap;

use super::find::{Search, Site};
use super::pattern::Pattern;
use crate::elf::Image;

/// Searches the static probes of a file by their providers and names. A site has their labels ([`StaticProbe::label`]) as names.
///
/// [`StaticProbe::label`]: crate::StaticProbe::label
pub fn by_probe(image: &Image, provider: &Pattern, name: &Pattern) -> Search {
    let mut sites: BTreeMap<u64, Site> = BTreeMap::new();
    let is_meant = |probe: &&crate::elf::StaticProbe| provider.matches(&probe.provider) && name.matches(&probe.name);
    for probe in image.static_probes().iter().filter(is_meant) {
        let address = probe.address;
        let new = || Site { address, names: Vec::new(), indirect: false, by_number: false };
        sites.entry(address).or_insert_with(new).names.push(probe.label());
    }
    Search { sites: sites.into_values().collect(), ..Search::default() }
}
