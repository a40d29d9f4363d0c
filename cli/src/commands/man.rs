//! `ntrace man`: the manual page, made from the declarations of the command line.

use std::io;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args::{Cli, LOCATIONS, STATUS};
use crate::failure::{Failure, Result};
use crate::output::Output;

/// The title line. It has neither a date nor a version, so that the page changes only with the command line.
const TITLE: &str = ".TH NTRACE 1 \"\" \"ntrace\" \"User Commands\"\n";

/// The column of the descriptions in [`LOCATIONS`].
const COLUMN: usize = 25;

const DESCRIPTION: &[&str] = &[
    "ntrace sets breakpoints in a running program and reports each time that a thread reaches one (trace), or only counts (count). A thread \
     passes a breakpoint without its removal, so that no thread misses a hit and none waits for another. Breakpoints can be set on any \
     instruction, on hundreds of thousands of them at once.",
    "ntrace can also record every instruction that a program executes (record), explain one instruction (explain), and report for a whole file \
     how a thread would pass a breakpoint on each of its instructions (survey).",
    "ntrace uses ptrace(2), or the kernel module ntrace if that is loaded. It runs on x86-64, where it also traces 32-bit programs, and on \
     arm64.",
    "Results of trace and count are written to standard error, or to the file of -o. All names that the traced program chooses are printed \
     with control characters escaped, as \\n or \\x1b. Messages of ntrace itself begin with \"ntrace:\".",
];

const FILES: &[(&str, &str)] = &[
    (
        "/dev/ntrace",
        "The device of the kernel module (see ntrace(4)). Backend auto uses the module if this file can be opened.",
    ),
    ("/usr/lib/debug", "Debug files by build id or by path, which add symbols and source lines."),
    ("~/.cache/debuginfod_client", "Debug files that debuginfod's client has fetched."),
    ("/proc/sys/kernel/yama/ptrace_scope", "Who may trace which process, see ptrace(2)."),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("PATH", "The folders in which ntrace looks for PROG, and for a program that names a module in a location."),
    (
        "DEBUGINFOD_URLS",
        "The servers from which debug files are fetched, with spaces between them. If it is empty or not set, nothing is fetched.",
    ),
    ("DEBUGINFOD_TIMEOUT", "The seconds without a byte after which a server is left, 90 by default; 0 is no limit."),
    (
        "DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME, HOME",
        "Where the cache of debuginfod's client is, see debuginfod_find_debuginfo(3).",
    ),
    ("TERM", "On a terminal of the kind \"dumb\", count and record show no running total."),
];

const SEE_ALSO: &str = "gdb(1), ltrace(1), perf(1), strace(1), ptrace(2), debuginfod_find_debuginfo(3), ntrace(4)";

/// Prints the manual page.
pub(super) fn run() -> Result<ExitCode> {
    let page = page().map_err(|error| Failure::own(format!("the manual page: {error}")))?;
    let mut out = Output::stdout();
    out.trusted(page.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn page() -> io::Result<String> {
    let mut command = Cli::command();
    command.build();
    let commands: Vec<&Command> = command.get_subcommands().filter(|command| command.get_name() != "help").collect();
    let mut page = Roff::new().render();
    page.push_str(TITLE);
    page.push_str(&body(rendered(|out| Man::new(command.clone()).render_name_section(out))?));
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    page.push_str(&roff.to_roff());
    for command in &commands {
        page.push_str(&synopsis(command)?);
    }
    let mut roff = Roff::new();
    paragraphs(&mut roff, "DESCRIPTION", DESCRIPTION);
    page.push_str(&roff.to_roff());
    for command in &commands {
        page.push_str(&section(command)?);
    }
    let mut roff = Roff::new();
    locations(&mut roff);
    paragraphs(&mut roff, "EXIT STATUS", &[STATUS.trim_start_matches("Exit status: ")]);
    roff.text([roman("These are the statuses of trace, count and record. The other commands list theirs above.")]);
    list(&mut roff, "FILES", FILES);
    list(&mut roff, "ENVIRONMENT", ENVIRONMENT);
    paragraphs(&mut roff, "SEE ALSO", &[SEE_ALSO]);
    page.push_str(&roff.to_roff());
    Ok(page)
}

/// Returns the section of one subcommand.
fn section(command: &Command) -> io::Result<String> {
    let mut roff = Roff::new();
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    roff.control("SH", [name.to_uppercase().as_str()]);
    roff.text([roman(format!("{about}."))]);
    let mut section = roff.to_roff();
    let options = body(rendered(|out| Man::new(command.clone()).render_options_section(out))?);
    section.push_str(options.trim_start_matches(".SH OPTIONS\n"));
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let help = help.replace(LOCATIONS, "").replace(STATUS, "");
    let mut roff = Roff::new();
    for paragraph in help.split("\n\n").map(|paragraph| paragraph.trim_matches('\n')).filter(|text| !text.is_empty()) {
        match paragraph.split_once(":\n") {
            Some((title, lines)) if !title.contains('\n') => example(&mut roff, title, lines),
            _ => {
                roff.control("PP", []);
                roff.text([roman(paragraph)]);
            }
        }
    }
    section.push_str(&roff.to_roff());
    Ok(section)
}

/// Returns the synopsis of one subcommand.
fn synopsis(command: &Command) -> io::Result<String> {
    let text = body(rendered(|out| Man::new(command.clone()).render_synopsis_section(out))?);
    Ok(format!(".PP\n{}", text.trim_start_matches(".SH SYNOPSIS\n")))
}

/// Adds a subsection whose lines are printed as they are.
fn example(roff: &mut Roff, title: &str, lines: &str) {
    roff.control("SS", [title]);
    roff.control("nf", []);
    for line in lines.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

/// Adds the forms of locations as a list.
fn locations(roff: &mut Roff) {
    roff.control("SH", ["LOCATIONS"]);
    for line in LOCATIONS.lines().skip(1) {
        let (form, text) = line.split_at(COLUMN.min(line.len()));
        if !form.trim().is_empty() {
            roff.control("TP", []);
            roff.text([bold(form.trim())]);
        }
        roff.text([roman(text.trim())]);
    }
}

fn list(roff: &mut Roff, title: &str, items: &[(&str, &str)]) {
    roff.control("SH", [title]);
    for (name, text) in items {
        roff.control("TP", []);
        roff.text([bold(*name)]);
        roff.text([roman(*text)]);
    }
}

fn paragraphs(roff: &mut Roff, title: &str, texts: &[&str]) {
    roff.control("SH", [title]);
    for (number, text) in texts.iter().enumerate() {
        if number > 0 {
            roff.control("PP", []);
        }
        roff.text([roman(*text)]);
    }
}

fn rendered(render: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<String> {
    let mut out = Vec::new();
    render(&mut out)?;
    String::from_utf8(out).map_err(io::Error::other)
}

/// Returns a rendered part without the definition of an apostrophe, which the page already has.
fn body(part: String) -> String {
    let is_definition = |line: &&str| line.starts_with(".ie ") || line.starts_with(".el ");
    part.lines().skip_while(is_definition).map(|line| format!("{line}\n")).collect()
}
