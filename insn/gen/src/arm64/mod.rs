//! A64: encodings.txt and operands.txt.

mod classes;
#[path = "../../../src/arm64/codes.rs"]
mod codes;
mod diagram;
mod effects;
mod emit;
mod forms;
mod hot;
mod names;
mod operand;
mod operand_list;
mod parse;
mod program;
mod special;
mod tree;

/// The tables that the text of encodings.txt gives.
pub(crate) fn tables(text: &str) -> Result<crate::Files, String> {
    let forms = parse::parse(text)?;
    let hot = hot::build(&forms)?;
    let cold = forms::build(&forms)?;
    let effects = effects::build(&forms)?;
    let specials = special::build(&forms)?;
    Ok(vec![
        ("hot.rs", emit::hot(&hot)?),
        ("forms.rs", emit::forms(&cold)),
        ("effects.rs", emit::effects(&effects)),
        ("special.rs", emit::special(&specials)),
        ("names.rs", names::table(&forms)?),
    ])
}

/// The table that the text of operands.txt gives.
pub(crate) fn operand_tables(text: &str) -> Result<crate::Files, String> {
    Ok(vec![("operand_list.rs", operand_list::table(text)?)])
}
