use insn::x86::Reg;
use trampoline::x86::{Action, Probe, Refusal, Site, Source};

use crate::{AT, COUNTER, PC, assemble, count, hex, site};

/// Fails unless the trampoline of `code` with a counter begins with the bytes `expected`.
#[track_caller]
fn begins(code: &str, expected: &str) {
    let code = hex(code);
    let (_, bytes, _) = assemble(&site(&code), &[count()]).unwrap();
    let expected = hex(expected);
    assert_eq!(bytes.get(..expected.len()), Some(&*expected), "{bytes:02x?}");
}

#[test]
fn a_count_is_one_instruction_where_flags_are_dead() {
    // cmp eax, eax; nop dword [rax]: lock inc [COUNTER]; cmp; nop; jmp
    begins("39c0 0f1f00 c3", "f048ff05f80f0000 39c0 0f1f00 e9");
}

#[test]
fn flags_are_kept_in_rax_where_it_is_dead() {
    // mov eax, 1; ret: lahf; seto al; lock inc; add al, 0x7f; sahf
    begins("b801000000 c3", "9f 0f90c0 f048ff05f40f0000 047f 9e b801000000 e9");
}

#[test]
fn registers_and_flags_are_kept_below_the_red_zone_where_they_are_alive() {
    // five nops: lea rsp, [rsp - 128]; push rax; lahf; seto al; push rax; lock inc; pop rax; add al, 0x7f; sahf; pop rax; lea rsp, [rsp + 128]
    begins("9090909090 c3", "488d642480 50 9f 0f90c0 50 f048ff05ed0f0000 58 047f 9e 58 488da42480000000 9090909090 e9");
}

#[test]
fn what_is_dead_is_kept_on_request() {
    let code = hex("39c0 0f1f00 c3");
    let (_, bytes, _) = assemble(&Site { keep_dead: true, ..site(&code) }, &[count()]).unwrap();
    assert_eq!(bytes[..5], hex("488d642480"));
}

#[test]
fn a_call_pushes_the_programs_return_address() {
    let code = hex("e8fb0f0000 90");
    let (_, bytes, _) = assemble(&site(&code), &[]).unwrap();
    // push [rip + 0xa]; jmp 0x401000; int3 …; 0x400005
    assert_eq!(bytes[..2], hex("ff35"));
    assert_eq!(bytes[6], 0xe9);
    let constant = 6 + u32::from_le_bytes(bytes[2..6].try_into().unwrap()) as usize;
    assert_eq!(constant % 8, 0);
    assert_eq!(bytes[constant..constant + 8], (PC + 5).to_le_bytes());
    let distance = i32::from_le_bytes(bytes[7..11].try_into().unwrap());
    assert_eq!((AT + 11).wrapping_add_signed(distance.into()), PC + 0x1000);
}

#[test]
fn a_branch_to_a_covered_instruction_stays_in_the_trampoline() {
    // jmp +1; nop; nop; nop
    let code = hex("eb01 90 90 90");
    let (trampoline, bytes, _) = assemble(&site(&code), &[]).unwrap();
    let distance = i32::from_le_bytes(bytes[1..5].try_into().unwrap());
    assert_eq!(Some((AT + 5).wrapping_add_signed(distance.into())), trampoline.entry(3));
}

#[test]
fn a_branch_to_the_site_goes_there_so_that_it_counts() {
    // nop; nop; nop; jmp -5
    let code = hex("909090 ebfb");
    let (trampoline, bytes, _) = assemble(&site(&code), &[count()]).unwrap();
    let jump = (trampoline.entry(3).unwrap() - AT) as usize;
    let distance = i32::from_le_bytes(bytes[jump + 1..jump + 5].try_into().unwrap());
    assert_eq!((AT + jump as u64 + 5).wrapping_add_signed(distance.into()), PC);
}

#[test]
fn two_sites_in_one_run_have_their_own_counters() {
    let code = hex("55 4889e5 31c0 c3");
    let second = Probe { offset: 4, arrivals: Some(COUNTER + 8), ..Probe::default() };
    let (trampoline, ..) = assemble(&site(&code), &[count(), second]).unwrap();
    assert_eq!(trampoline.boundaries().collect::<Vec<_>>(), [1, 4]);
    assert_eq!(trampoline.entry(1), trampoline.copy(1));
    assert_ne!(trampoline.entry(4), trampoline.copy(4));
    assert_eq!(trampoline.entry(2), None);
}

#[test]
fn a_run_ends_behind_no_instruction_that_delays_a_trap() {
    // nop; nop; nop; mov ss, eax; nop
    let code = hex("909090 8ed0 90 c3");
    assert_eq!(assemble(&site(&code), &[]).unwrap().0.run_len(), 6);
}

#[test]
fn a_register_that_a_later_probe_of_the_run_reads_is_alive() {
    // nop; mov ecx, 1; ret: rcx is dead at the nop
    let code = hex("90 b901000000 c3");
    let log2 = [Action::Log2 { buckets: COUNTER, source: Source::Register(Reg::RCX) }];
    let first =
        Probe { actions: &[Action::Log2 { buckets: COUNTER, source: Source::Register(Reg::RDI) }], ..Probe::default() };
    let second = Probe { offset: 1, actions: &log2, ..Probe::default() };
    let pushes = |bytes: &[u8]| bytes.contains(&0x51);
    let (trampoline, bytes, _) = assemble(&site(&code), &[first, second]).unwrap();
    let end = (trampoline.copy(0).unwrap() - AT) as usize;
    assert!(pushes(&bytes[..end]), "{bytes:02x?}");
    let (trampoline, bytes, _) = assemble(&site(&code), &[first]).unwrap();
    assert!(!pushes(&bytes[..(trampoline.copy(0).unwrap() - AT) as usize]), "{bytes:02x?}");
}

/// push; mov; xor; inc x 6; cmp; jne -17; ret: the block goes on for 22 bytes behind the jump.
const BLOCK: &str = "55 4889e5 31c0 48ffc0 48ffc0 48ffc0 48ffc0 48ffc0 48ffc0 4839f8 75ef c3";

#[test]
fn the_run_goes_on_to_the_last_probe() {
    let code = hex(BLOCK);
    assert_eq!(assemble(&site(&code), &[count()]).unwrap().0.run_len(), 6);
    for offset in [6, 9, 24, 27] {
        let last = Probe { offset, arrivals: Some(COUNTER + 8), ..Probe::default() };
        let (trampoline, ..) = assemble(&site(&code), &[count(), last]).unwrap();
        let len = if offset == 27 { 2 } else { 3 };
        assert_eq!(trampoline.run_len(), usize::from(offset) + len);
        assert_ne!(trampoline.entry(offset), trampoline.copy(offset));
        assert_eq!(trampoline.boundaries().collect::<Vec<_>>(), [1, 4]);
    }
}

#[test]
fn a_probe_behind_the_eleventh_instruction_is_refused() {
    let code = [0x90; 32];
    let probe = |offset| Probe { offset, arrivals: Some(COUNTER), ..Probe::default() };
    assert!(assemble(&site(&code), &[probe(10)]).is_ok());
    assert_eq!(assemble(&site(&code), &[probe(11)]).map(drop), Err(Refusal::NotAtInstruction(11)));
}

#[test]
fn a_branch_to_an_instruction_behind_the_jump_stays_in_a_run_that_has_it() {
    let code = hex(BLOCK);
    let last = Probe { offset: 27, arrivals: Some(COUNTER + 8), ..Probe::default() };
    let (trampoline, bytes, _) = assemble(&site(&code), &[count(), last]).unwrap();
    // jne to the third `inc`
    let jne = (trampoline.copy(27).unwrap() - AT) as usize;
    assert_eq!(bytes[jne..jne + 2], [0x0f, 0x85]);
    let distance = i32::from_le_bytes(bytes[jne + 2..jne + 6].try_into().unwrap());
    assert_eq!(Some((AT + jne as u64 + 6).wrapping_add_signed(distance.into())), trampoline.entry(12));
}
