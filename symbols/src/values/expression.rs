//! Evaluates location expressions of debug information.

use gimli::{EvaluationResult, Piece, Value};

use super::thread::Thread;
use crate::elf::Arch;
use crate::reader::Reader;
use crate::types::Location;

/// The largest number of operations of one expression.
const MOST_OPERATIONS: u32 = 1000;
/// The deepest nesting of expressions.
const DEEPEST: u32 = 4;
/// The largest number of bytes of a value.
const MOST: u64 = 4096;

/// What an expression needs to know of the thread at the first instruction of a function.
pub(super) struct Entry<'a, T> {
    pub(super) thread: &'a mut T,
    pub(super) arch: Arch,
    /// The difference between addresses in memory and in the file.
    pub(super) bias: u64,
}

/// The number of the first vector register, and of the stack pointer, in debug information.
fn numbers(arch: Arch) -> (u16, u16) {
    match arch {
        Arch::Arm64 => (64, 31),
        _ => (17, 7),
    }
}

impl<T: Thread> Entry<'_, T> {
    /// The bytes of a value of a size. `None`: a part of it does not exist, or the expression cannot be evaluated.
    pub(super) fn bytes(&mut self, location: &Location, size: u64) -> Option<Vec<u8>> {
        if size > MOST {
            return None;
        }
        let pieces = self.evaluate(location, DEEPEST)?;
        let mut bytes = Vec::new();
        let is_single = pieces.len() == 1;
        for piece in pieces {
            let wanted = match piece.size_in_bits {
                Some(bits) if bits % 8 == 0 && piece.bit_offset.unwrap_or(0) == 0 => bits / 8,
                None if is_single => size,
                _ => return None,
            };
            if wanted.checked_add(bytes.len() as u64)? > MOST {
                return None;
            }
            bytes.extend(self.piece(piece, usize::try_from(wanted).ok()?)?);
        }
        // Zeros are left out at the end of a value.
        bytes.resize(usize::try_from(size).ok()?.max(bytes.len()), 0);
        bytes.truncate(usize::try_from(size).ok()?);
        Some(bytes)
    }

    fn piece(&mut self, piece: Piece<Reader>, size: usize) -> Option<Vec<u8>> {
        let whole = match piece.location {
            gimli::Location::Register { register } => self.register(register.0)?,
            gimli::Location::Address { address } => {
                let mut bytes = vec![0; size];
                let read = self.thread.read(address, &mut bytes);
                return (read == size).then_some(bytes);
            }
            gimli::Location::Value { value } => match value {
                Value::F32(value) => value.to_le_bytes().to_vec(),
                Value::F64(value) => value.to_le_bytes().to_vec(),
                value => value.to_u64(u64::MAX).ok()?.to_le_bytes().to_vec(),
            },
            gimli::Location::Bytes { value } => value.bytes().to_vec(),
            _ => return None,
        };
        whole.get(..size).map(<[u8]>::to_vec)
    }

    fn register(&mut self, number: u16) -> Option<Vec<u8>> {
        let (vectors, _) = numbers(self.arch);
        match number.checked_sub(vectors).filter(|vector| *vector < 32) {
            Some(vector) => self.thread.vector(vector),
            None => self.thread.general(number).map(|value| value.to_le_bytes().to_vec()),
        }
    }

    fn evaluate(&mut self, location: &Location, depth: u32) -> Option<Vec<Piece<Reader>>> {
        let depth = depth.checked_sub(1)?;
        let mut evaluation = location.expression.clone().evaluation(location.encoding);
        evaluation.set_max_iterations(MOST_OPERATIONS);
        let mut state = evaluation.evaluate().ok()?;
        // Each request belongs to an operation, so that the limit of operations ends this too.
        loop {
            state = match state {
                EvaluationResult::Complete => return Some(evaluation.result()),
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.thread.general(register.0)?;
                    evaluation.resume_with_register(Value::Generic(value)).ok()?
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let mut bytes = [0; 8];
                    let wanted = bytes.get_mut(..usize::from(size))?;
                    if self.thread.read(address, wanted) != usize::from(size) {
                        return None;
                    }
                    evaluation.resume_with_memory(Value::Generic(u64::from_le_bytes(bytes))).ok()?
                }
                // The address behind the return address, where the frame of the caller ends.
                EvaluationResult::RequiresFrameBase => {
                    let cfa = self.cfa()?;
                    evaluation.resume_with_frame_base(cfa).ok()?
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    let cfa = self.cfa()?;
                    evaluation.resume_with_call_frame_cfa(cfa).ok()?
                }
                // At the first instruction, the registers are those of the entry.
                EvaluationResult::RequiresEntryValue(expression) => {
                    let inner = Location { expression, encoding: location.encoding };
                    let pieces = self.evaluate(&inner, depth)?;
                    let value = self.piece(pieces.into_iter().next()?, 8)?;
                    let value = u64::from_le_bytes(value.try_into().ok()?);
                    evaluation.resume_with_entry_value(Value::Generic(value)).ok()?
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(self.bias.wrapping_add(address)).ok()?
                }
                _ => return None,
            };
        }
    }

    fn cfa(&mut self) -> Option<u64> {
        let (_, stack) = numbers(self.arch);
        let sp = self.thread.general(stack)?;
        Some(if self.arch == Arch::Arm64 { sp } else { sp.wrapping_add(8) })
    }
}
