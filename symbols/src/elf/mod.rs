//! ELF files: headers, symbols, names, source lines, code and instructions.
//!
//! [`headers`] and [`elf`] are the file itself. All other files compute something from it, and [`image`] keeps the results.

mod contents;
mod debug_files;
mod dynamic;
mod elf;
mod frames;
mod go;
mod headers;
mod image;
mod instructions;
mod lines;
mod names;
mod plt;
mod ranges;
mod reach;
mod segments;
mod shape;
mod sources;
mod spelling;
mod symbol;
mod table;

pub(crate) use contents::contents;
pub(crate) use headers::{Arch, ElfError, Parsed};
pub(crate) use image::Image;
pub(crate) use names::{Names, demangle};
pub(crate) use ranges::text_sections;
pub(crate) use shape::short_names;
pub(crate) use spelling::as_demangled;
pub(crate) use symbol::{Kind, Symbol};
