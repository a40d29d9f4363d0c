//! `ntrace survey --kprobes`: what the kernel's kprobes do at each instruction of a kernel or a module.

mod arm64;
mod file;
mod report;
mod x86;

use object::Architecture;

use self::file::KernelFile;
use self::report::{Kprobes, write_text};
use crate::args::SurveyArgs;
use crate::failure::{Failure, Result};
use crate::output::{Output, shown, tell};

/// Surveys a kernel or a module, and writes the result.
pub(super) fn run(args: &SurveyArgs, out: &mut Output<'_>) -> Result<()> {
    let fail = |what: String| Failure::own(format!("{}: {what}", shown(&args.file)));
    let file = KernelFile::read(&args.file).map_err(fail)?;
    if file.code.is_empty() {
        return Err(fail("the file has no code".into()));
    }
    let note = |what: &str| tell(format_args!("{}: {what}", shown(&args.file)));
    if file.functions.is_empty() {
        note("no symbols: instructions are judged alone, not by their places");
    } else if !file.missing.is_empty() {
        note(&format!("no table {}: what they name is judged as other code is", file.missing.join(", ")));
    }
    type Survey = fn(&KernelFile, &mut Kprobes);
    let (arch, survey): (_, Survey) = match file.arch {
        Architecture::X86_64 => ("x86_64", x86::survey),
        Architecture::Aarch64 => ("arm64", arm64::survey),
        other => return Err(fail(format!("{other:?}; kernels of x86-64 and arm64 are supported"))),
    };
    let mut found = Kprobes::of(shown(&args.file), arch);
    survey(&file, &mut found);
    if args.json { out.pretty_json(&found) } else { write_text(&found, out) }
}
