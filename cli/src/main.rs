//! The `ntrace` command.

fn main() -> std::process::ExitCode {
    ntrace::run()
}
