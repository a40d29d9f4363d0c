//! ELF files: headers, symbols, names, source lines, code and instructions.
//!
//! `headers.rs` and `file.rs` are the file itself. All other files compute something from it, and `image.rs` keeps the results.

mod blocks;
mod contents;
mod debug_files;
mod dynamic;
mod file;
mod frames;
mod go;
mod headers;
mod image;
mod instructions;
mod line_row;
mod lines;
mod names;
mod plt;
mod ranges;
mod reach;
mod segments;
mod shape;
mod sources;
mod spelling;
mod static_probes;
mod symbol;
mod table;
mod texts;
mod thread_local;
mod unit_map;
mod unwind_rules;

pub(crate) use self::contents::contents;
pub use self::dynamic::Needed;
pub use self::file::Elf;
pub use self::headers::{Arch, ElfError};
pub use self::image::Image;
pub use self::line_row::LineRow;
pub use self::lines::Lines;
pub use self::names::{Names, demangle};
pub use self::segments::Segment;
pub use self::shape::short_names;
pub use self::sources::LineSearch;
pub(crate) use self::spelling::{as_demangled, with_strings};
pub use self::static_probes::StaticProbe;
pub use self::symbol::{Kind, Symbol};
pub use self::table::SymbolTable;
pub use self::thread_local::ThreadLocal;
pub(crate) use self::unwind_rules::{Cfa, Rule};
