//! The modules of traced processes: their files, their names, and the stacks of their threads.

mod frame;
mod images;
mod mapped;
mod module;
mod modules;
mod place;
mod running;
mod stack_frame;

pub use self::frame::Frame;
pub use self::images::Images;
pub use self::module::Module;
pub use self::modules::Modules;
pub use self::place::Place;
pub use self::running::differing;
pub(crate) use self::stack_frame::Caller;
pub use self::stack_frame::StackFrame;
