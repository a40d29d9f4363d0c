//! Running an agent expression on a held thread.

use super::op::{Expression, Op, extend};
use super::print;

/// What an expression reads and writes.
pub(crate) trait World {
    /// A register by the description's number.
    fn register(&mut self, number: u16) -> Option<u64>;
    /// Fills `bytes` from memory; `false` if not all can be read.
    fn memory(&mut self, address: u64, bytes: &mut [u8]) -> bool;
    /// Shows text to the user.
    fn print(&mut self, text: &str);
}

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Memory at this address cannot be read.
    Memory(u64),
    /// The thread has no such register.
    Register(u16),
    DivisionByZero,
    /// The stack has too few or too many values, or a jump leads between instructions.
    Malformed,
    /// The expression ran more instructions than it may.
    Endless,
}

const MOST_VALUES: usize = 256;
const MOST_STEPS: usize = 100_000;

/// The value of an expression: the last one of its stack, 0 where it has none.
pub(crate) fn evaluate(expression: &Expression, world: &mut impl World) -> Result<u64, Problem> {
    let mut stack: Vec<u64> = Vec::new();
    let mut place = expression.start();
    for _ in 0..MOST_STEPS {
        let op = expression.op(place);
        place += 1;
        if stack.len() > MOST_VALUES {
            return Err(Problem::Malformed);
        }
        let mut pop = || stack.pop().ok_or(Problem::Malformed);
        let jump = |offset: u16| expression.place(offset).ok_or(Problem::Malformed);
        let value = match op {
            Op::End => return Ok(stack.last().copied().unwrap_or(0)),
            Op::Binary(binary) => {
                let (b, a) = (pop()?, pop()?);
                binary.apply(a, b).ok_or(Problem::DivisionByZero)?
            }
            Op::LogicalNot => u64::from(pop()? == 0),
            Op::BitwiseNot => !pop()?,
            Op::Extend(bits) => extend(pop()?, *bits, true),
            Op::ZeroExtend(bits) => extend(pop()?, *bits, false),
            Op::Read(size) => {
                let address = pop()?;
                let mut bytes = [0; 8];
                let wanted = bytes.get_mut(..usize::from(*size)).ok_or(Problem::Malformed)?;
                if !world.memory(address, wanted) {
                    return Err(Problem::Memory(address));
                }
                u64::from_le_bytes(bytes)
            }
            Op::Constant(value) => *value,
            Op::Register(number) => world.register(*number).ok_or(Problem::Register(*number))?,
            Op::Duplicate => stack.last().copied().ok_or(Problem::Malformed)?,
            Op::Pick(depth) => {
                let at = stack.len().checked_sub(usize::from(*depth) + 1);
                at.and_then(|at| stack.get(at).copied()).ok_or(Problem::Malformed)?
            }
            Op::GotoIf(offset) => {
                if pop()? != 0 {
                    place = jump(*offset)?;
                }
                continue;
            }
            Op::Goto(offset) => {
                place = jump(*offset)?;
                continue;
            }
            Op::Pop => {
                pop()?;
                continue;
            }
            Op::Swap => {
                let (b, a) = (pop()?, pop()?);
                stack.extend([b, a]);
                continue;
            }
            Op::Rotate => {
                // a b c becomes c a b.
                let (c, b, a) = (pop()?, pop()?, pop()?);
                stack.extend([c, a, b]);
                continue;
            }
            Op::Print { arguments, format } => {
                // The client pushes the arguments in reverse order, then a channel and a function, which are 0.
                pop()?;
                pop()?;
                let mut values = Vec::new();
                for _ in 0..*arguments {
                    values.push(pop()?);
                }
                let text = print::format(format, &values, &mut |address, bytes| world.memory(address, bytes));
                world.print(&text);
                continue;
            }
        };
        stack.push(value);
    }
    Err(Problem::Endless)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Fake {
        printed: String,
    }

    /// Register n has the value 100 + n, the byte of memory at an address below 256 is that address.
    impl World for Fake {
        fn register(&mut self, number: u16) -> Option<u64> {
            (number < 10).then(|| 100 + u64::from(number))
        }
        fn memory(&mut self, address: u64, bytes: &mut [u8]) -> bool {
            for (offset, byte) in bytes.iter_mut().enumerate() {
                *byte = match u8::try_from(address + offset as u64) {
                    Ok(value) => value,
                    Err(_) => return false,
                };
            }
            true
        }
        fn print(&mut self, text: &str) {
            self.printed.push_str(text);
        }
    }

    fn value(code: &[u8]) -> Result<u64, Problem> {
        evaluate(&Expression::parse(code).unwrap(), &mut Fake::default())
    }

    #[test]
    fn arithmetic_is_that_of_the_manual() {
        assert_eq!(value(&[0x22, 7, 0x22, 2, 0x03, 0x27]), Ok(5));
        assert_eq!(value(&[0x22, 0xff, 0x16, 8, 0x27]), Ok(u64::MAX));
        assert_eq!(value(&[0x24, 0xff, 0xff, 0xff, 0xff, 0x2a, 16, 0x27]), Ok(0xffff));
        assert_eq!(value(&[0x22, 1, 0x22, 0, 0x05, 0x27]), Err(Problem::DivisionByZero));
        assert_eq!(value(&[0x26, 0, 3, 0x22, 103, 0x13, 0x27]), Ok(1));
        assert_eq!(value(&[0x22, 0x10, 0x18, 0x27]), Ok(0x1110));
        assert_eq!(value(&[0x23, 1, 0, 0x17, 0x27]), Err(Problem::Memory(256)));
        assert_eq!(value(&[0x26, 0, 99, 0x27]), Err(Problem::Register(99)));
        assert_eq!(value(&[0x22, 1, 0x22, 2, 0x22, 3, 0x33, 0x29, 0x27]), Ok(1));
    }

    #[test]
    fn jumps_lead_to_instructions_and_end() {
        // 1; if_goto 8; const 5; end; (8:) const 9; end
        assert_eq!(value(&[0x22, 1, 0x20, 0, 8, 0x22, 5, 0x27, 0x22, 9, 0x27]), Ok(9));
        assert_eq!(value(&[0x22, 0, 0x20, 0, 8, 0x22, 5, 0x27, 0x22, 9, 0x27]), Ok(5));
        assert_eq!(value(&[0x21, 0, 0]), Err(Problem::Endless));
        assert_eq!(value(&[0x21, 0, 1]), Err(Problem::Malformed));
        assert_eq!(value(&[0x02]), Err(Problem::Malformed));
        assert_eq!(value(&[0x28, 0x21, 0, 0]), Err(Problem::Malformed));
    }

    #[test]
    fn what_cannot_be_run_is_not_accepted() {
        for code in [&[0x01][..], &[0x1b], &[0x22], &[0x34, 0, 0, 9, b'x'], &[0xff]] {
            assert_eq!(Expression::parse(code), None, "{code:x?}");
        }
    }

    #[test]
    fn texts_are_printed_with_their_arguments() {
        let mut code = vec![0x22, 42, 0x22, 0, 0x22, 0, 0x34, 1, 0, 6];
        code.extend(b"i=%d\n\0\x27");
        let mut fake = Fake::default();
        evaluate(&Expression::parse(&code).unwrap(), &mut fake).unwrap();
        assert_eq!(fake.printed, "i=42\n");
    }
}
