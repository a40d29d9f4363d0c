use insn::Flow;
use insn::x86::{Branch, Mode, branches, decode, starts, starts_without_vectors};

/// The bytes to which code is repeated: more than batches look at in a round, so that their decoders start anywhere in it, and than vectors do twice.
const SIZE: usize = 5_000;

/// A batch finds what single instructions tell, of any bytes.
pub fn batch(data: &[u8]) {
    let code = data.repeat(1 + SIZE / data.len().max(1));
    for mode in [Mode::INTEL_64, Mode::AMD_64.lenient(), Mode::INTEL_32] {
        let (mut expected, mut expected_branches, mut at) = (Vec::new(), Vec::new(), 0);
        while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
            let insn = decode(rest, mode).ok();
            if let Some(insn) = insn {
                expected.push(at as u32);
                if matches!(insn.flow(), Flow::Jump | Flow::ConditionalJump | Flow::Call | Flow::Return) {
                    expected_branches.push((at as u32, insn.len(), insn.flow(), insn.target()));
                }
            }
            at += insn.map_or(1, |insn| insn.len());
        }
        for starts in [starts, starts_without_vectors] {
            let mut found = vec![0; code.len()];
            let swept = starts(&code, mode, &mut found);
            assert_eq!(found.get(..swept.found), Some(&*expected), "{mode:?} {data:02x?}");
            assert_eq!(swept.end, code.len());
        }
        let mut found = vec![Branch::EMPTY; code.len()];
        let swept = branches(&code, mode, &mut found);
        let told = found.iter().take(swept.found);
        let told: Vec<_> = told.map(|b| (b.start, usize::from(b.len), b.flow, b.target)).collect();
        assert_eq!(told, expected_branches, "{mode:?} {data:02x?}");
    }
}
