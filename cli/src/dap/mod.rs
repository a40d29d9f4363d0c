//! Serves an editor's debugger by the Debug Adapter Protocol.
//!
//! `link.rs` is the connection, `serve.rs` the conversation. `requests.rs` says which function answers a request; each function decides, and
//! gives a body or a `Refusal`. `events.rs` says what an event of the session means. All threads stop together: what happens while the client
//! looks at a stopped program waits in `Adapter::pending`.
//!
//! Messages are JSON values, and the fields that are needed of a request are declared beside the function that answers it: the crates with
//! the protocol's types refuse requests that editors send (a negative offset of `disassemble`, a command that they do not know).

mod adapter;
mod breakpoints;
mod data_breakpoints;
mod events;
mod exception_breakpoints;
mod exceptions;
mod lines;
mod link;
mod memory;
mod output;
mod path;
mod pipe;
mod program;
mod refusal;
mod requests;
mod resume;
mod serve;
mod set_variable;
mod shown;
mod stack;
mod start;
mod start_options;
mod step;
mod steps;
mod stop;
mod template;
mod threads;
mod variables;
mod watches;

pub(crate) use self::adapter::Adapter;
