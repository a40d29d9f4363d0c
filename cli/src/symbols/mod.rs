//! ELF files: functions, stubs, lines, code.

mod contents;
mod debug_files;
mod dynamic;
mod frames;
mod go;
mod image;
mod lines;
mod names;
mod plt;
mod ranges;
mod reach;
mod segments;
mod shape;
mod sources;
mod spelling;
mod table;

pub(crate) use contents::contents;
pub(crate) use image::{Arch, Image, ImageError, Parsed};
pub(crate) use names::{Names, demangle};
pub(crate) use ranges::text_sections;
pub(crate) use shape::short_names;
pub(crate) use spelling::as_demangled;
pub(crate) use table::{Kind, Symbol};
