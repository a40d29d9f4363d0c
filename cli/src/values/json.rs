//! Data as JSON.

use serde_json::{Map, Value, json};
use ubp_symbols::values::Data;

/// Numbers, truth values and text as JSON has them, addresses as hexadecimal text, structures as objects.
pub(super) fn of(data: &Data) -> Value {
    written(data, false)
}

/// As [`of`], of what lies behind a pointer: a pointer to text there is an object with the address and the text.
pub(super) fn behind(data: &Data) -> Value {
    written(data, true)
}

fn written(data: &Data, texts: bool) -> Value {
    let of = |data: &Data| written(data, texts);
    match data {
        Data::Signed(value) => json!(value),
        Data::Unsigned(value) => json!(value),
        Data::Wide(value) => json!(value.to_string()),
        Data::Single(bits) => number(f32::from_bits(*bits).into()),
        Data::Double(bits) => number(f64::from_bits(*bits)),
        Data::Boolean(value) => json!(value),
        Data::Character(value) => json!(value.to_string()),
        Data::Name(name) => json!(name),
        Data::Pointer { address, text: Some(text), .. } if texts => {
            json!({ "value": format!("{address:#x}"), "string": text })
        }
        Data::Pointer { address, .. } => json!(format!("{address:#x}")),
        Data::Text { text, cut } => json!(format!("{text}{}", if *cut { "…" } else { "" })),
        Data::List { elements, more: 0 } => elements.iter().map(of).collect(),
        Data::List { elements, more } => {
            json!({ "elements": elements.iter().map(of).collect::<Value>(), "more": more })
        }
        Data::Fields(fields) => {
            let key = |number: usize, name: &str| if name.is_empty() { number.to_string() } else { name.to_string() };
            let entry = |(number, (name, value)): (usize, &(String, Data))| (key(number, name), of(value));
            Value::Object(fields.iter().enumerate().map(entry).collect::<Map<_, _>>())
        }
        Data::Variant { name, data } => json!({ "variant": name, "data": of(data) }),
        Data::Elided => json!({ "unknown": "nested too deeply" }),
        Data::Unknown(reason) => json!({ "unknown": reason }),
        _ => Value::Null,
    }
}

/// JSON has no infinity and no NaN: these values become text.
fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string()) }
}
