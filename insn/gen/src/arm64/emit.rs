//! Writes A64's tables.

use super::classes::Class;
use super::diagram::{Cube, UNDEFINED};
use super::forms::Cold;
use super::hot::{Hot, WAYS, flow_name};
use super::special::{KINDS, Specials};
use crate::write::{array, field, head};

pub(crate) fn hot(hot: &Hot) -> Result<String, String> {
    let mut out = head("encodings.txt");
    out.push_str(
        "use crate::Flow;\nuse crate::arm64::decode::{Hot, Rest, Set};\nuse crate::arm64::flow::{Way, Ways};\n\n",
    );
    if hot.classes.len() > CLASSES {
        return Err(format!("{} classes", hot.classes.len()));
    }
    // No word has these bits under that mask.
    let mut quick: Vec<Cube> =
        hot.classes.iter().map(|class| class.quick.first().copied().unwrap_or((0, 1, 0))).collect();
    // As many as a byte can name: no look into them can fail.
    quick.resize(CLASSES, (0, 1, 0));
    let mut flows: Vec<String> = hot.classes.iter().map(flow).collect();
    flows.resize(CLASSES, "None".to_owned());
    out.push_str("/// What most words need.\npub(crate) static HOT: Hot = Hot { ways: Ways::ALL,\n");
    field(&mut out, "first", &hot.first, 24, u8::to_string);
    field(&mut out, "flows", &flows, 4, String::clone);
    field(&mut out, "flow", &quick, 8, |(.., way)| format!("Flow::{}", flow_name(*way)));
    field(&mut out, "way", &quick, 8, |(.., way)| variant(*way));
    field(&mut out, "masks", &quick, 12, |(mask, ..)| format!("{mask:#x}"));
    field(&mut out, "values", &quick, 12, |(_, value, _)| format!("{value:#x}"));
    out.push_str("};\n\n");
    let mut others = Vec::new();
    let mut rests = Vec::new();
    for (class, start) in hot.classes.iter().zip(&hot.starts) {
        let first = others.len();
        others.extend(class.quick.get(1..).unwrap_or_default());
        rests.push(format!("Rest {{ start: {start}, first: {first}, end: {} }}", others.len()));
    }
    if others.len() > usize::from(u8::MAX) {
        return Err(format!("{} other sets of words", others.len()));
    }
    rests.resize(CLASSES, "Rest { start: 0, first: 0, end: 0 }".to_owned());
    array(
        &mut out,
        "Of each class: where its other sets are and its program begins.",
        "RESTS",
        "Rest",
        &rests,
        1,
        String::clone,
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

/// The flow of all words of a class that are allocated.
fn flow(class: &Class) -> String {
    // Of a class without an instruction nothing is told.
    let flow = flow_name(class.ways.first().copied().unwrap_or(UNDEFINED));
    let one = Some(flow).filter(|flow| class.ways.iter().all(|way| flow_name(*way) == *flow));
    one.map_or_else(|| "None".to_owned(), |flow| format!("Some(Flow::{flow})"))
}

pub(crate) fn forms(cold: &Cold) -> String {
    let mut out = head("encodings.txt");
    out.push_str("use crate::arm64::form::{Form, Meaning};\n\n");
    array(&mut out, "Where the forms of a top byte begin.", "STARTS", "u16", &cold.starts, 16, u16::to_string);
    array(
        &mut out,
        "Forms by top byte, in the order in which they are tried.",
        "LISTS",
        "u16",
        &cold.lists,
        16,
        u16::to_string,
    );
    array(&mut out, "Forms.", "FORMS", "Form", &cold.forms, 1, |(mask, value, meaning)| {
        format!("Form {{ mask: {mask:#x}, value: {value:#x}, meaning: {meaning} }}")
    });
    array(&mut out, "What forms mean.", "MEANINGS", "Meaning", &cold.meanings, 1, |m| {
        format!(
            "Meaning {{ operands: {:?}, memory: {:?}, flags: {:?}, set: {}, unpredictable: {:#x} }}",
            m.operands, m.memory, m.flags, m.set, m.unpredictable
        )
    });
    array(&mut out, "Operands (see `form`).", "OPERANDS", "u32", &cold.operands, 8, |o| format!("{o:#x}"));
    array(&mut out, "Implicit registers read and written.", "SETS", "(u128, u128)", &cold.sets, 1, |(r, w)| {
        format!("({r:#x}, {w:#x})")
    });
    out
}

pub(crate) fn special(table: &Specials) -> String {
    let mut out = head("encodings.txt");
    out.push_str("use crate::arm64::Kind;\nuse crate::arm64::special::{Form, Special};\n\n");
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
