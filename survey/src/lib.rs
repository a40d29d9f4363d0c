//! How a thread passes a breakpoint on each instruction of a file, and where a jump or a uprobe of the kernel can stand.
//!
//! [`Code`] is the code of an [`Image`](ubp_symbols::Image): the functions that the file describes, or its code sections. [`Survey`] counts its
//! instructions by the way in which threads pass a breakpoint there, and lists those that are refused. [`Uprobes`] tells what the kernel's uprobes
//! do with them. [`way_at`] and [`no_jump_at`] ask about one instruction. [`sweep()`] decodes x86 code.
//!
//! # Example
//!
//! ```
//! use survey::{Code, Survey};
//! use ubp_symbols::{Image, code};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let image = Image::open("/bin/true".as_ref())?;
//! let code = Code::of(&image, image.arch().mode(code::vendor()));
//! let survey = Survey::of(&code, |_, _| {});
//! assert_eq!(survey.refusals.len() as u64, survey.counts.refused);
//! assert!(survey.counts.boosted > survey.counts.stepped);
//! # Ok(())
//! # }
//! ```

mod arm64;
mod code;
mod counts;
mod parts;
mod survey;
mod sweep;
mod uprobes;
mod way;
mod words;
mod x86;

pub use crate::code::{Code, Ranges};
pub use crate::counts::Counts;
pub use crate::survey::{Refused, Survey, Undecodable};
pub use crate::sweep::{Found, sweep};
pub use crate::uprobes::{Uprobe, Uprobes};
pub use crate::way::{Way, no_jump_at, slot_address, way_at};
