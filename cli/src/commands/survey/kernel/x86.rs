use insn::x86::{Insn, Mode};
use stepping::x86::{
    KprobeDeviation, KprobeRefusal, NotOptimized, Obstacle, kprobe, kprobe_address, kprobe_at, obstacles,
    optimized_despite,
};
use stepping::{Kprobe, KprobeKernel};
use survey::{Found, sweep};

use super::file::{Code, Function, KernelFile, holding};
use super::report::{Answer, Kprobes, kernel};
use crate::disassembly::Disassembler;
use crate::hex;

const MODE: Mode = Mode::INTEL_64;

/// Adds all instructions of the file.
pub(super) fn survey(file: &KernelFile, found: &mut Kprobes) {
    let kernel = kernel(&file.tables);
    let mut disassembler = Disassembler::new();
    let mut add = |pc, place, insn: &Insn, way, is_boosted, jump| {
        let text = || disassembler.text(insn.bytes(), pc, MODE);
        found.add(pc, place, answer(way, is_boosted, jump), || hex::plain(insn.bytes()), text);
    };
    for Function { name, range } in &file.functions {
        let Some(code) = holding(&file.code, range.start) else { continue };
        let code = code.get(..(range.end - range.start) as usize).unwrap_or(code);
        let obstacles = Obstacles::of(code, range.start, &kernel);
        for (pc, insn) in insns(code, range.start) {
            // The kernel moves a kprobe at the function's landing pad. The instructions before are known to be such.
            let at = if pc == range.start { kprobe_address(code, pc) } else { pc };
            let rest = code.get((at - range.start) as usize..).unwrap_or_default();
            let way = kprobe_at(rest, at, at, MODE, &kernel);
            let is_probed = matches!(way, Kprobe::Emulated | Kprobe::Stepped);
            let jump = is_probed.then(|| {
                optimized_despite(obstacles.near(at), code, range.start, at, MODE, &kernel).map(|_| ()).map_err(reason)
            });
            // Whether a fault may continue elsewhere is all that the address adds.
            let is_boosted = is_probed && is_boosted(&insn) && file.tables.fixups.binary_search(&pc).is_err();
            add(pc, Some((name.as_str(), pc - range.start)), &insn, way, is_boosted, jump);
        }
    }
    // Without symbols no place of an instruction is known.
    for Code { start, bytes } in file.code.iter().filter(|_| file.functions.is_empty()) {
        for (pc, insn) in insns(bytes, *start) {
            add(pc, None, &insn, kprobe(&insn, &kernel), is_boosted(&insn), None);
        }
    }
}

/// The obstacles of a function: jumps by their targets, and the first one that counts everywhere.
struct Obstacles {
    jumps: Vec<(u64, u64)>,
    everywhere: Option<Obstacle>,
}

impl Obstacles {
    fn of(code: &[u8], start: u64, kernel: &KprobeKernel<'_>) -> Obstacles {
        let mut found = Obstacles { jumps: Vec::new(), everywhere: None };
        for obstacle in obstacles(code, start, MODE, kernel) {
            match obstacle {
                Obstacle::Jump { at, to } => found.jumps.push((to, at)),
                Obstacle::Everywhere(_) => {
                    found.everywhere = Some(obstacle);
                    break;
                }
            }
        }
        found.jumps.sort_unstable();
        found
    }

    /// Those that matter for an address, by their own addresses.
    fn near(&self, pc: u64) -> impl Iterator<Item = Obstacle> {
        /// The bytes behind an address to which no jump may lead.
        const NEAR: u64 = 16;
        let first = self.jumps.partition_point(|(to, _)| *to <= pc);
        let jumps = self.jumps.get(first..).unwrap_or_default().iter().take_while(move |(to, _)| to - pc < NEAR);
        let mut near: Vec<(u64, u64)> = jumps.map(|(to, at)| (*at, *to)).collect();
        near.sort_unstable();
        near.into_iter().map(|(at, to)| Obstacle::Jump { at, to }).chain(self.everywhere)
    }
}

/// The instructions of code.
fn insns(code: &[u8], start: u64) -> impl Iterator<Item = (u64, Insn)> {
    sweep(code, start, MODE).filter_map(|(pc, found)| match found {
        Found::Insn(insn) => Some((pc, insn)),
        Found::Undecodable(..) => None,
    })
}

/// Whether a kernel that is not preemptible boosts the copy of the instruction.
fn is_boosted(insn: &Insn) -> bool {
    kprobe(insn, &KprobeKernel::default()) == Kprobe::Boosted
}

/// The answer for one instruction.
fn answer(
    way: Kprobe<KprobeRefusal, KprobeDeviation>,
    is_boosted: bool,
    jump: Option<Result<(), &'static str>>,
) -> Answer {
    use KprobeRefusal::{Blacklisted, Bug, Exception, Patched, Undecodable};
    // These are many, and no surprise.
    let is_listed = match way {
        Kprobe::Refused(reason) => !matches!(reason, Blacklisted | Bug | Exception | Patched),
        _ => true,
    };
    let words = |reason| match reason {
        Undecodable(_) => "behind bytes that are no instruction".to_owned(),
        other => other.to_string(),
    };
    Answer { kprobe: way.map(words, |deviation| deviation.to_string()), is_listed, is_boosted, jump }
}

/// A reason in words, without its address.
fn reason(why: NotOptimized) -> &'static str {
    match why {
        NotOptimized::FunctionEnds => "the function ends within the jump",
        NotOptimized::Fixup(_) => "an instruction of the function may fault and continue within the jump",
        NotOptimized::Undecodable(_) => "bytes of the function are no instruction",
        NotOptimized::JumpsInto(_) => "an instruction of the function jumps into the jump",
        NotOptimized::IndirectJump(_) => "an instruction of the function may jump anywhere",
        NotOptimized::NotCopied(_) => "an instruction in the jump cannot be copied",
        NotOptimized::NotBoosted(_) => "the copy of an instruction in the jump cannot jump back",
        NotOptimized::Traced(_) => "ftrace rewrites an instruction in the jump",
        NotOptimized::Patched(_) => "a jump label or static call rewrites an instruction in the jump",
        _ => "another reason",
    }
}
