//! Values: `arg0`, `rdi`, `[rsp+8]:4`, `status`.

use ubp::rules::{Field, Value};

use crate::native;

/// The value of a text; `None` if there is none.
pub(super) fn value(text: &str) -> Option<Value> {
    if let Some(field) = Field::from_name(text) {
        return Some(Value::Field(field));
    }
    if let Some(number) = text.strip_prefix("arg").and_then(|digits| digits.parse().ok()) {
        return (number < 6).then_some(Value::Argument(number));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, size) = rest.split_once(']')?;
        let size = if size.is_empty() { 8 } else { size.strip_prefix(':')?.parse().ok()? };
        if let Some(address) = number(inside) {
            return Some(Value::Memory { base: None, offset: address as i64, size });
        }
        let at = inside.find(['+', '-']).unwrap_or(inside.len());
        let (name, offset) = inside.split_at(at);
        let offset = match offset.split_at_checked(1) {
            Some(("+", digits)) => number(digits)? as i64,
            Some(("-", digits)) => (number(digits)? as i64).wrapping_neg(),
            _ => 0,
        };
        return Some(Value::Memory { base: Some(native::register(name)?), offset, size });
    }
    native::register(text).map(Value::Register)
}

/// A number: decimal, hexadecimal with 0x, or negative.
pub(super) fn number(text: &str) -> Option<u64> {
    match (text.strip_prefix("0x"), text.strip_prefix('-')) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => digits.parse::<i64>().ok().map(|number| number.wrapping_neg() as u64),
        _ => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_registers_memory_and_numbers_of_events_are_values() {
        assert_eq!(value("arg5"), Some(Value::Argument(5)));
        assert_eq!(value("status"), Some(Value::Field(Field::Status)));
        let register = native::REGISTERS[3];
        assert_eq!(value(&register.to_string()), Some(Value::Register(register)));
        let memory = |base, offset, size| Some(Value::Memory { base, offset, size });
        assert_eq!(value(&format!("[{register}-0x10]:4")), memory(Some(register), -16, 4));
        assert_eq!(value(&format!("[{register}]")), memory(Some(register), 0, 8));
        assert_eq!(value("[0x404000]:1"), memory(None, 0x404000, 1));
        assert!(["arg6", "", "[", "[x]", "nothing", "[0x]"].iter().all(|text| value(text).is_none()));
        assert_eq!((number("-1"), number("0xff"), number("7")), (Some(u64::MAX), Some(255), Some(7)));
    }
}
