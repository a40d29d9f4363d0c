//! Debug files that this machine does not have yet.

use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

type Bring = dyn Fn(&[u8], &Path) -> Option<PathBuf>;

/// Brings debug files from elsewhere. It is asked last, when no file on this machine has the debug information that is needed.
///
/// The function gets a build ID and the path of the file that needs debug information, for messages. It returns the path of a file of this
/// machine, which is used only if it has the build ID.
#[derive(Clone)]
pub struct Fetch(Rc<Bring>);

impl Fetch {
    /// Asks a function.
    pub fn new(bring: impl Fn(&[u8], &Path) -> Option<PathBuf> + 'static) -> Fetch {
        Fetch(Rc::new(bring))
    }

    pub(crate) fn bring(&self, build_id: &[u8], path: &Path) -> Option<PathBuf> {
        (self.0)(build_id, path)
    }
}

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fetch")
    }
}
