//! The manual page and the shell completions come from the declarations of the command line.

mod common;

use std::path::Path;
use std::process::Command;

use common::{run, scratch, stdout};

/// Prints the completions of a shell into a file.
fn completions(shell: &str) -> std::path::PathBuf {
    let output = run(&["completions", shell]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let file = scratch(shell);
    std::fs::write(&file, &output.stdout).unwrap();
    file
}

#[test]
fn the_manual_page_in_docs_is_that_of_the_command_line() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ntrace.1");
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(stdout(&run(&["man"])) == page, "{} is out of date; `cargo xtask gen` writes it", file.display());
}

#[test]
fn the_manual_page_has_every_command_and_option_and_no_error_of_roff() {
    let page = stdout(&run(&["man"]));
    for part in
        ["NTRACE TRACE", "NTRACE COUNT", "NTRACE RECORD", "NTRACE EXPLAIN", "NTRACE SURVEY", "LOCATIONS", "EXIT STATUS"]
    {
        assert!(page.contains(&format!(".SH \"{part}\"")) || page.contains(&format!(".SH {part}\n")), "{part}");
    }
    for option in [r"\-\-every\-instruction", r"\-\-follow\-forks", r"\-\-lenient", r"\-\-vendor", "FILES", "SEE ALSO"]
    {
        assert!(page.contains(option), "{option}");
    }
    let file = scratch("page");
    std::fs::write(&file, &page).unwrap();
    match Command::new("groff").args(["-man", "-ww", "-z"]).arg(&file).output() {
        Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{output:?}"),
        Err(error) => crossing::skip("the manual page, with groff", error),
    }
}

#[test]
fn bash_completes_commands_and_options() {
    let script = completions("bash");
    let complete = |words: &str, number: usize| {
        let run = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={number}; \
             _ntrace ntrace \"${{COMP_WORDS[{number}]}}\" \"${{COMP_WORDS[{number} - 1]}}\"; echo \"${{COMPREPLY[*]}}\"",
            script.display()
        );
        let output = Command::new("bash").args(["-c", &run]).output().unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        stdout(&output).trim().to_string()
    };
    assert_eq!(complete("ntrace tr", 1), "trace");
    assert_eq!(complete("ntrace count --every", 2), "--every-instruction");
    assert_eq!(complete("ntrace trace --time", 2), "--time");
    assert_eq!(complete("ntrace trace --backend ''", 3), "auto kernel ptrace");
}

#[test]
fn zsh_and_fish_read_their_scripts() {
    for shell in ["zsh", "fish"] {
        let script = completions(shell);
        match Command::new(shell).arg("-n").arg(&script).output() {
            Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{output:?}"),
            Err(error) => crossing::skip(&format!("completions, by {shell}"), error),
        }
    }
}
