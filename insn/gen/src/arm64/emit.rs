//! Writes A64's tables.

use std::fmt::Write;

use super::classes::Class;
use super::diagram::Cube;
use super::effects::Effects;
use super::forms::Cold;
use super::hot::{FAULTING, Hot, WAYS, flow_name};
use super::special::{KINDS, Specials};
use crate::write::{array, field, head};

pub(crate) fn hot(hot: &Hot) -> Result<String, String> {
    let mut out = head("encodings.txt");
    out.push_str(
        "use crate::Flow;\nuse crate::arm64::tables::{Hot, Known, Set};\nuse crate::arm64::way::{Way, Ways};\n\n",
    );
    if hot.classes.len() > CLASSES {
        return Err(format!("{} classes", hot.classes.len()));
    }
    // No word has these bits under that mask.
    let mut quick: Vec<Cube> =
        hot.classes.iter().map(|class| class.quick.first().copied().unwrap_or((0, 1, 0))).collect();
    // 256 entries, so that no byte is out of range.
    quick.resize(CLASSES, (0, 1, 0));
    let known: Vec<_> = hot.first.iter().map(|class| known(&hot.classes[usize::from(*class)])).collect();
    out.push_str("/// What most words need.\npub(crate) static HOT: Hot = Hot { ways: Ways::ALL,\n");
    field(&mut out, "first", &hot.first, 24, u8::to_string);
    field(&mut out, "way", &quick, 8, |(.., way)| variant(*way));
    field(&mut out, "masks", &quick, 12, |(mask, ..)| format!("{mask:#x}"));
    field(&mut out, "values", &quick, 12, |(_, value, _)| format!("{value:#x}"));
    out.push_str("};\n\n");
    let mut names = known.clone();
    names.sort_unstable();
    names.dedup();
    for (name, value) in names {
        let _ = writeln!(out, "const {name}: Known = Known::{value};");
    }
    out.push('\n');
    array(&mut out, "By bits 31 to 21.", "KNOWN", "Known", &known, 12, |(name, _)| name.clone());
    let mut others = Vec::new();
    let mut firsts = Vec::new();
    for class in &hot.classes {
        firsts.push(others.len());
        others.extend(class.quick.get(1..).unwrap_or_default());
    }
    if others.len() > usize::from(u8::MAX) {
        return Err(format!("{} other sets of words", others.len()));
    }
    firsts.resize(CLASSES + 1, others.len());
    let mut starts = hot.starts.clone();
    starts.resize(CLASSES, 0);
    array(&mut out, "Of each class: where its program begins.", "STARTS", "u16", &starts, 16, u16::to_string);
    array(
        &mut out,
        "Of each class: the first of its other sets, which go to the next class's first.",
        "FIRSTS",
        "u8",
        &firsts,
        24,
        usize::to_string,
    );
    let set =
        |(mask, value, way): &Cube| format!("Set {{ mask: {mask:#x}, value: {value:#x}, way: {} }}", variant(*way));
    array(&mut out, "Other sets of words.", "OTHERS", "Set", &others, 1, set);
    array(&mut out, "The program (see `decode`).", "PROGRAM", "u8", &hot.program, 24, u8::to_string);
    Ok(out)
}

/// How many classes a byte can name.
const CLASSES: usize = 256;

fn variant(way: u16) -> String {
    format!("Way::{}", WAYS[usize::from(way)].1)
}

/// What is known of all allocated words of a class: a short name, and the expression that it stands for.
fn known(class: &Class) -> (String, String) {
    // For a class without instructions the answer does not matter.
    let first = class.ways.first().copied().unwrap_or(FAULTING);
    let flow = flow_name(first);
    if class.ways.iter().any(|way| flow_name(*way) != flow) {
        ("NOTHING".to_owned(), "NOTHING".to_owned())
    } else if class.ways.iter().any(|way| *way != first) {
        (flow.to_uppercase(), format!("flow(Flow::{flow})"))
    } else {
        (WAYS[usize::from(first)].0.to_uppercase(), format!("way({})", variant(first)))
    }
}

pub(crate) fn forms(cold: &Cold) -> String {
    let mut out = head("encodings.txt");
    out.push_str("use crate::arm64::tables::Form;\n\n");
    array(
        &mut out,
        "Where the forms of words begin, by bits 31 to 21.",
        "STARTS",
        "u16",
        &cold.starts,
        16,
        u16::to_string,
    );
    array(
        &mut out,
        "Forms by these bits, in the order in which they are tried.",
        "LISTS",
        "u16",
        &cold.lists,
        16,
        u16::to_string,
    );
    array(&mut out, "Forms.", "FORMS", "Form", &cold.forms, 1, |(mask, value, unless)| {
        format!("Form {{ mask: {mask:#x}, value: {value:#x}, unless: {unless:#x} }}")
    });
    out
}

pub(crate) fn effects(effects: &Effects) -> String {
    let mut out = head("encodings.txt");
    let Effects { tree, records, operands, sets } = effects;
    array(&mut out, "The first node, by bits 31 to 21.", "STARTS", "u16", &tree.starts, 16, u16::to_string);
    array(&mut out, "Nodes: fields that choose, and starts of items.", "NODES", "u32", &tree.nodes, 12, |n| {
        format!("{n:#x}")
    });
    array(&mut out, "Items: numbers of records and nodes.", "ITEMS", "u16", &tree.lists, 16, |n| format!("{n:#x}"));
    array(&mut out, "What words read and write.", "RECORDS", "[u32; 3]", records, 4, |[uses, rest, memory]| {
        format!("[{uses:#x}, {rest:#x}, {memory:#x}]")
    });
    array(&mut out, "Operands that records do not tell.", "OPERANDS", "u32", operands, 8, |o| format!("{o:#x}"));
    array(
        &mut out,
        "Registers read and written that no field names.",
        "SETS",
        "[u64; 4]",
        sets,
        1,
        |(read, written)| {
            let [read_high, written_high] = [read, written].map(|set| set >> 64);
            let [read, written] = [read, written].map(|set| *set as u64);
            format!("[{read:#x}, {read_high:#x}, {written:#x}, {written_high:#x}]")
        },
    );
    out
}

pub(crate) fn special(table: &Specials) -> String {
    let mut out = head("encodings.txt");
    out.push_str("use crate::arm64::Kind;\nuse crate::arm64::tables::{Special, SpecialForm as Form};\n\n");
    array(&mut out, "Where the forms of a top byte begin.", "STARTS", "u8", &table.starts, 24, u8::to_string);
    array(
        &mut out,
        "Forms by top byte, in the order in which they are tried.",
        "LISTS",
        "u8",
        &table.lists,
        24,
        u8::to_string,
    );
    array(&mut out, "Forms.", "FORMS", "Form", &table.forms, 1, |(mask, value, special)| {
        format!(
            "Form {{ mask: {mask:#x}, value: {value:#x}, special: Special {{ kind: Kind::{}, condition: {}, literal: {} }} }}",
            KINDS[special.kind].1, special.condition, special.literal
        )
    });
    out
}
