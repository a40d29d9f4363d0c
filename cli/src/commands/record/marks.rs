//! The locations at which a recording begins and ends.

use std::cell::RefCell;
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use record::{Mapping, Part};
use ubp_symbols::files::Root;
use ubp_symbols::{ElfError, Image};

use crate::args::RecordArgs;
use crate::failure::{Failure, Result};
use crate::location::{self, Location};
use crate::output::{shown, tell};

/// The locations of `--after` and `--until`, with their addresses in each process.
pub(super) struct Marks {
    after: Mark,
    until: Mark,
    /// The files that were searched.
    images: Vec<Rc<Image>>,
}

/// The locations of one option.
struct Mark {
    option: &'static str,
    locations: Vec<Location>,
    /// Whether each was found.
    found: Vec<bool>,
    /// Their processes and addresses in memory.
    places: HashSet<(u32, u64)>,
}

/// Marks that the recorder and its user have.
pub(super) struct Shared(pub(super) Rc<RefCell<Marks>>);

impl Marks {
    /// Reads the locations.
    ///
    /// # Errors
    /// A text is no location, or one that only a running program has.
    pub(super) fn new(args: &RecordArgs) -> Result<Marks> {
        let (after, until) = (Mark::new("--after", &args.after)?, Mark::new("--until", &args.until)?);
        Ok(Marks { after, until, images: Vec::new() })
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.after.locations.is_empty() && self.until.locations.is_empty()
    }

    /// Looks for the locations in a file that a process maps.
    fn find(&mut self, mapping: &Mapping) {
        self.forget(|(pid, at)| pid == mapping.pid && (mapping.start..mapping.end).contains(&at));
        let Some(image) = self.image(mapping) else { return };
        // The first byte of the file lies at the base, with the headers of the file.
        let Some(first) = image.segments().first() else { return };
        let bias = mapping.base.wrapping_sub(first.address.wrapping_sub(first.file.start) & !0xfff);
        for mark in [&mut self.after, &mut self.until] {
            for (location, found) in mark.locations.iter().zip(&mut mark.found) {
                let search = location.find(&image);
                search.note.iter().filter(|_| !*found).for_each(tell);
                for site in search.sites.iter().filter(|site| !site.indirect) {
                    let at = site.address.wrapping_add(bias);
                    if (mapping.start..mapping.end).contains(&at) {
                        mark.places.insert((mapping.pid, at));
                        *found = true;
                    }
                }
            }
        }
    }

    /// The file of a mapping; `None` if it has none that can be read.
    fn image(&mut self, mapping: &Mapping) -> Option<Rc<Image>> {
        let path = Path::new(std::ffi::OsStr::from_bytes(&mapping.path));
        if !path.is_absolute() {
            return None;
        }
        let root = Root::of(mapping.pid).map_err(ElfError::Open);
        let image = match root.and_then(|root| Image::open_below(&root, path)) {
            Ok(image) => Rc::new(image),
            Err(error) => {
                tell(format_args!("{}: {error}: no location in it can be found", shown(path)));
                return None;
            }
        };
        if self.images.iter().all(|known| known.name() != image.name()) {
            self.images.push(Rc::clone(&image));
        }
        Some(image)
    }

    fn forget(&mut self, is_gone: impl Fn((u32, u64)) -> bool) {
        for mark in [&mut self.after, &mut self.until] {
            mark.places.retain(|place| !is_gone(*place));
        }
    }

    /// Explains each location that was never found or reached. The failure: nothing was recorded.
    pub(super) fn finish(&self, has_begun: bool) -> Result<()> {
        for mark in [&self.after, &self.until] {
            let missing = mark.locations.iter().zip(&mark.found).filter(|(_, found)| !**found);
            for (location, _) in missing {
                tell(format_args!("{}: {}", mark.option, location::explain(location, &self.images)));
            }
        }
        if has_begun {
            return Ok(());
        }
        if !self.after.found.contains(&true) {
            return Err(Failure::own("--after: the location was not found, so that nothing was recorded"));
        }
        tell("--after: no thread reached the location, so that nothing was recorded");
        Ok(())
    }
}

impl Mark {
    fn new(option: &'static str, texts: &[String]) -> Result<Mark> {
        let locations = location::in_files(option, texts)?;
        let found = vec![false; locations.len()];
        Ok(Mark { option, locations, found, places: HashSet::new() })
    }
}

impl Part for Shared {
    fn mapped(&mut self, mapping: &Mapping) {
        self.0.borrow_mut().find(mapping);
    }

    fn executed(&mut self, pid: u32) {
        self.0.borrow_mut().forget(|(other, _)| other == pid);
    }

    fn begins(&mut self, pid: u32, pc: u64) -> bool {
        self.0.borrow().after.places.contains(&(pid, pc))
    }

    fn ends(&mut self, pid: u32, pc: u64) -> bool {
        self.0.borrow().until.places.contains(&(pid, pc))
    }
}
