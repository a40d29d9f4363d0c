//! Searches in a file: functions by name or pattern, code by line, and the names of modules.

mod find;
mod inlined;
mod module_name;
mod pattern;
mod static_probes;

pub use self::find::{Search, Site, by_address, by_line, by_name};
pub use self::inlined::by_inlined;
pub use self::module_name::ModuleName;
pub use self::pattern::Pattern;
pub use self::static_probes::by_probe;
