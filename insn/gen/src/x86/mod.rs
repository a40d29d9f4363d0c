//! x86: opcodes.txt.

mod by_rule;
#[path = "../../../src/x86/codes.rs"]
mod codes;
mod common;
mod emit;
mod hot;
mod names;
mod operand_list;
mod operands;
mod parse;
mod rules;
mod selection;
mod semantics;
mod validity;

/// The tables that the text of opcodes.txt gives.
pub(crate) fn tables(text: &str) -> Result<crate::Files, String> {
    let forms = parse::parse(text)?;
    let slots = parse::slots(&forms);
    let hot = hot::build(&forms, &slots);
    let validity = validity::build(&forms, &slots);
    let mut semantics = semantics::build(&forms, &slots)?;
    let common = common::build(&forms, &slots, &mut semantics)?;
    semantics.pad_flags()?;
    let by_rule = by_rule::forms_of_rules(&forms, &slots);
    Ok(vec![
        ("hot.rs", emit::hot(&hot)),
        ("validity.rs", emit::validity(&validity)),
        ("semantics.rs", emit::semantics(&semantics)),
        ("common.rs", emit::common(&common)),
        ("names.rs", names::tables(&forms, &by_rule)?),
        ("operand_list.rs", operand_list::tables(&forms, &by_rule)?),
    ])
}
