//! Lockstep against the hardware: a program runs once undisturbed and once through the plan of one of its instructions, and
//! every register, every byte of memory and the signal at the end must be the same. Where the kernel module is loaded, the program
//! runs a third time, with a breakpoint of the module's on that instruction.

mod case;
mod child;
mod compare;
mod generator;
mod image;
mod jumped;
mod lab;
mod probe;
mod program;
mod registers;
mod state;
mod sys;

pub use case::{Case, Check, Placement, Via, Way};
pub use generator::Generator;
pub use image::INT3_64 as IMAGE_INT3;
pub use jumped::{EndingOf, Jumped, Passage};
pub use lab::Lab;
pub use program::{CODE_SIZE, DATA_SIZE, LOW_SIZE, Layout, NOTES_SIZE, SITE, STACK_SIZE};
pub use state::State;

pub(crate) use compare::{Ending, POINTERS, Stop, differences, visible};
pub(crate) use registers::field;
pub(crate) use state::{RANDOM_COMPONENTS, component_element, component_range};
