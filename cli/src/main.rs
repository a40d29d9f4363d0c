//! The `ntrace` command.

/// Called before the run-time of Rust begins.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE_HERITAGE: extern "C" fn() = ntrace::note_heritage;

fn main() -> std::process::ExitCode {
    ntrace::run()
}
