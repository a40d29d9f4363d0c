use insn::x86::{Mode, Reg};
use trampoline::x86::{
    Action, Clause, Memory, Place, Probe, Record, Refusal, Relation, Ring, Site, Source, Subject, ThreadKey, WhenFull,
};

use crate::{AT, COUNTER, assemble, count, hex, site};

#[track_caller]
fn refused(code: &str, probes: &[Probe<'_>], reason: Refusal) {
    assert_eq!(assemble(&site(&hex(code)), probes).map(|_| ()), Err(reason));
    assert_ne!(reason.to_string(), "");
}

#[test]
fn code_that_is_not_64_bit_is_refused() {
    let code = hex("9090909090");
    for mode in [Mode::INTEL_32, Mode::AMD_32] {
        let site = Site { mode, ..site(&code) };
        assert_eq!(assemble(&site, &[]).map(|_| ()), Err(Refusal::Not64Bit));
    }
}

#[test]
fn what_is_no_code_is_refused() {
    refused("90909090", &[], Refusal::TooShort);
    refused("909006909090", &[], Refusal::NotCode(2));
}

#[test]
fn instructions_that_store_their_own_address_are_refused() {
    // call far [rax]; enclu
    refused("90 ff18 909090", &[], Refusal::OwnAddress(1));
    refused("0f01d7 909090", &[], Refusal::OwnAddress(0));
}

#[test]
fn branches_with_16_bit_targets_are_refused() {
    // xbegin with 16 bits; on AMD also jcc with prefix 66
    refused("66c7f80000", &[], Refusal::NarrowBranch(0));
    let code = hex("66 7400 909090");
    let amd = Site { mode: Mode::AMD_64, ..site(&code) };
    assert_eq!(assemble(&amd, &[]).map(|_| ()), Err(Refusal::NarrowBranch(0)));
    assert!(assemble(&site(&code), &[]).is_ok());
}

#[test]
fn calls_are_refused_on_shadow_stacks() {
    let code = hex("e800000000");
    let site = Site { shadow_stack: true, ..site(&code) };
    assert_eq!(assemble(&site, &[]).map(|_| ()), Err(Refusal::ShadowStack(0)));
}

#[test]
fn calls_through_what_the_call_itself_changes_are_refused() {
    // call rsp; call [rsp - 8]; call [rsp + rax]
    refused("ffd4 909090", &[], Refusal::CallThroughStack(0));
    refused("ff5424f8 9090", &[], Refusal::CallThroughStack(0));
    refused("ff1404 909090", &[], Refusal::CallThroughStack(0));
    // call [rsp - 16]; call [rsp]
    assert!(assemble(&site(&hex("ff5424f0 9090")), &[]).is_ok());
    assert!(assemble(&site(&hex("ff1424 909090")), &[]).is_ok());
}

#[test]
fn what_is_out_of_reach_is_refused() {
    let far = Probe { arrivals: Some(AT + (1 << 33)), ..Probe::default() };
    refused("9090909090", &[far], Refusal::OutOfReach(AT + (1 << 33)));
}

#[test]
fn a_room_that_is_too_small_is_refused() {
    let code = hex("9090909090");
    let (mut few, mut places) = ([0; 32], [Place::EMPTY; 64]);
    assert_eq!(site(&code).assemble(&[count()], AT, &mut few, &mut places).map(|_| ()), Err(Refusal::NoRoom));
    let (mut room, mut few) = ([0; 256], [Place::EMPTY; 3]);
    assert_eq!(site(&code).assemble(&[count()], AT, &mut room, &mut few).map(|_| ()), Err(Refusal::NoRoom));
}

#[test]
fn a_probe_between_instructions_is_refused() {
    refused("4889e5 9090", &[Probe { offset: 1, ..count() }], Refusal::NotAtInstruction(1));
}

#[test]
fn registers_that_a_trampoline_cannot_read_are_refused() {
    for register in [Reg::FLAGS, Reg::gpr(16), Reg::vector(0)] {
        let clause = [Clause { subject: Subject::Register(register), relation: Relation::Equal, value: 0 }];
        let condition: [&[Clause]; 1] = [&clause];
        refused("9090909090", &[Probe { condition: &condition, ..count() }], Refusal::NoSuchRegister);
        let actions = [Action::Log2 { buckets: COUNTER, source: Source::Register(register) }];
        refused("9090909090", &[Probe { actions: &actions, ..Probe::default() }], Refusal::NoSuchRegister);
    }
}

#[test]
fn sizes_that_there_are_not_are_refused() {
    let memory = Memory { base: None, offset: 0, size: 3, window: COUNTER };
    let clause = [Clause { subject: Subject::Memory(memory), relation: Relation::Equal, value: 0 }];
    let condition: [&[Clause]; 1] = [&clause];
    refused("9090909090", &[Probe { condition: &condition, ..count() }], Refusal::NoSuchSize);
    let source = Source::Register(Reg::RDI);
    let ring = Ring { control: COUNTER, slots: COUNTER, count: 3, size: 5, full: WhenFull::Lose };
    let record = Record { ring, id: 0, key: ThreadKey::Word, rdtscp: false, fields: &[] };
    for action in [
        Action::Linear { buckets: COUNTER, low: 0, width: 0, count: 1, source },
        Action::Linear { buckets: COUNTER, low: 0, width: 1, count: 1 << 31, source },
        Action::Record(record),
    ] {
        refused("9090909090", &[Probe { actions: &[action], ..Probe::default() }], Refusal::NoSuchSize);
    }
}
