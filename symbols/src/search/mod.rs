//! Searches in a file: functions by name or pattern, code by line, and the names of modules.

mod find;
mod module_name;
mod pattern;

pub use self::find::{Search, Site, by_address, by_line, by_name};
pub use self::module_name::ModuleName;
pub use self::pattern::Pattern;
