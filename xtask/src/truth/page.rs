//! Writes docs/truth.md from figures, hours, deviations and mutants.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::figures::{Figures, Section};

/// Sections of the figures: name, title, and the meaning of the figures.
const SECTIONS: &[(&str, &str, &str)] = &[
    (
        "oracle",
        "Encodings against the processor",
        "The test puts each encoding before the end of a page and executes it; the processor's faults give its length and whether it is valid. \
         *wrong*: a different length, or executed but rejected. tests/oracle-ud.txt explains what `insn` accepts and this processor refuses (#UD).",
    ),
    (
        "semantics",
        "Plans against the processor",
        "Each encoding that executes runs bare and through its plan, from the same random state. The test compares registers, flags, vector and \
         x87 state, memory, fault and pc. *wrong*: any difference.",
    ),
    (
        "peers",
        "Every form against other decoders",
        "Every combination of encoding, map, prefix, opcode, modrm.reg and form of operand: iced-x86 and Zydis read it, and as Intel also \
         capstone and yaxpeax-x86. The test compares length, flow and target, or that there is no instruction. *unlisted*: classes of \
         disagreements that no row of fuzz/deviations.txt explains.",
    ),
    (
        "assembler",
        "One encoding of each kind against the newest assembler",
        "Every map, prefix, opcode and modrm.reg, with memory and with registers, and all other fields that select an instruction; for A64 all \
         values of bits 31 to 10, each with four values of the others. llvm-mc says whether the encoding is an instruction, and its length. \
         *unlisted*: kinds that no row of fuzz/deviations.txt and fuzz/deviations-a64.txt explains.",
    ),
    (
        "traced",
        "Whole programs, instruction by instruction",
        "A site on every instruction, libraries and loader included, of programs that do the same in each run. The hits of each address \
         must equal its executions in a hardware trace of another run. For eight threads in a storm of signals, forks and execs, and for \
         goroutines, the test compares the addresses of their work. *hits*: of all sites; *recorded*: executions in the trace.",
    ),
    (
        "traced-longest",
        "The longest program, instruction by instruction",
        "The same comparison with gdb's start, which takes an hour on two processors. Its clock stands still, and it runs without helper threads.",
    ),
    (
        "programs",
        "Whole programs",
        "A site on every instruction of the program, or of the part that is named; output and status must equal those of the undisturbed \
         run. *hits*: of all sites; *inserted*: sites that came and went.",
    ),
    (
        "longest",
        "The longest programs",
        "The same comparison with programs that take an hour each. The number is that of hits.",
    ),
    (
        "selftests",
        "The kernel's own tests",
        "The kernel's x86 selftests with a site on every instruction; each must report what it reports alone. The number is that of hits.",
    ),
    (
        "coverage",
        "Lines and branches run by tests",
        "Percent of a room's lines and branches that its tests, the oracle and lockstep run (`cargo xtask coverage`).",
    ),
    (
        "mutants",
        "Mutants",
        "Small changes of a room's code, and whether its tests notice them (`cargo xtask mutants`).",
    ),
];

/// The page.
pub(super) fn page(figures: &Figures, hours: &str, deviations: &str, mutants: &str) -> Result<String> {
    let mut text = String::from(
        "# What was tried\n\n`cargo xtask truth` writes this page from docs/figures.txt, fuzz/hours.txt, fuzz/deviations.txt and tests/mutants.txt. \
         All figures are as measured.\n",
    );
    for (name, title, meaning) in SECTIONS {
        let measured =
            figures.sections(name).map(|section| format!("\nMeasured {}:\n\n{}", section.when, table(section)));
        let measured: String = measured.collect();
        if !measured.is_empty() {
            text += &format!("\n## {title}\n\n{meaning}\n{measured}");
        }
    }
    text += &format!("\n## Fuzzing\n\n{}", fuzzing(hours)?);
    text += &format!("\n## Where peers deviate\n\n{}", peers(deviations)?);
    let alive = mutants.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    if alive > 0 {
        text += &format!("\n## Mutants that live\n\n{alive}, each with its reason, in tests/mutants.txt.\n");
    }
    Ok(text)
}

/// A table with a column for each name in `name=value` words, and one for values without a name.
fn table(section: &Section) -> String {
    let cells = |value: &str| -> Vec<(String, String)> {
        value
            .split(' ')
            .map(|word| word.split_once('=').unwrap_or(("", word)))
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect()
    };
    let mut columns: Vec<String> = Vec::new();
    for (_, value) in &section.rows {
        for (name, _) in cells(value) {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
    }
    let mut text = format!("| | {} |\n|---|{}\n", columns.join(" | "), "---:|".repeat(columns.len()));
    for (subject, value) in &section.rows {
        let values: BTreeMap<String, String> = cells(value).into_iter().collect();
        let row: Vec<&str> = columns.iter().map(|column| values.get(column).map_or("", String::as_str)).collect();
        text += &format!("| {subject} | {} |\n", row.join(" | "));
    }
    text
}

/// Hours, inputs and findings by claim.
fn fuzzing(hours: &str) -> Result<String> {
    let mut claims: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for line in hours.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, _, claim, numbers @ ..] = words.as_slice() else { anyhow::bail!("fuzz/hours.txt: `{line}`") };
        let sums = claims.entry(claim).or_default();
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum += number.parse::<u64>().with_context(|| format!("fuzz/hours.txt: `{number}` in `{line}`"))?;
        }
    }
    let mut text = String::from("| claim | processor hours | inputs | findings |\n|---|---:|---:|---:|\n");
    let mut all = [0; 3];
    for (claim, sums) in &claims {
        text += &row(&claim.replace('_', " "), *sums);
        for (sum, number) in all.iter_mut().zip(sums) {
            *sum += number;
        }
    }
    Ok(text + &row("all", all))
}

fn row(claim: &str, [seconds, inputs, findings]: [u64; 3]) -> String {
    format!("| {claim} | {:.2} | {inputs} | {findings} |\n", seconds as f64 / 3600.0)
}

/// Deviations by peer, with bytes, judge and reason.
fn peers(deviations: &str) -> Result<String> {
    let mut peers: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in deviations.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let parts = line.split_once(" : ").and_then(|(rule, rest)| Some((rule, rest.split_once('#')?)));
        let (rule, (judged, why)) = parts.with_context(|| format!("fuzz/deviations.txt: `{line}`"))?;
        let (names, kind) = rule.split_once(' ').with_context(|| format!("fuzz/deviations.txt: `{line}`"))?;
        let (judge, bytes) = judged.trim().split_once(' ').with_context(|| format!("fuzz/deviations.txt: `{line}`"))?;
        let difference = kind.split(' ').nth(1).unwrap_or_default();
        for name in names.split('|') {
            let row = format!("| `{}` | {difference} | {judge} | {} |\n", bytes.trim(), why.trim());
            peers.entry(name).or_default().push(row);
        }
    }
    let mut text = String::from(
        "The processor, the manual or a better decoder has settled each row. The rules are in fuzz/deviations.txt.\n",
    );
    for (peer, rows) in peers {
        text += &format!(
            "\n### {peer}: {}\n\n| bytes | differs in | judge | why |\n|---|---|---|---|\n{}",
            rows.len(),
            rows.concat()
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_values_become_columns() {
        let figures = Figures::parse("f", "[oracle] 2026-01-01 abc\n64-bit tried=9 wrong=0\n32-bit tried=8\n").unwrap();
        let text = table(figures.sections("oracle").next().unwrap());
        assert_eq!(text, "| | tried | wrong |\n|---|---:|---:|\n| 64-bit | 9 | 0 |\n| 32-bit | 8 |  |\n");
    }

    #[test]
    fn hours_of_a_claim_add_up() {
        let text = fuzzing("# head\n2026-01-01 abc a_claim 1800 5 1\n2026-01-02 abd a_claim 1800 6 0\n").unwrap();
        assert!(text.ends_with("| a claim | 1.00 | 11 | 1 |\n| all | 1.00 | 11 | 1 |\n"), "{text}");
        assert!(fuzzing("2026-01-01 abc a_claim x 5 1\n").is_err());
    }

    #[test]
    fn a_deviation_stands_with_each_peer_it_names() {
        let text = peers("a|b * length legacy 1 * aa : hardware 0faa      # longer here\n").unwrap();
        assert_eq!(text.matches("| `0faa` | length | hardware | longer here |").count(), 2, "{text}");
    }
}
