//! Evaluates location expressions of debug information.

use gimli::{EndianSlice, EvaluationResult, Expression, LittleEndian, Operation, Piece, Value, ValueType};

use super::holes::Hole;
use super::thread::Thread;
use crate::elf::{Arch, Elf, ThreadLocal};
use crate::reader::Reader;
use crate::types::{Location, Types};

/// The largest number of operations of one expression.
const MOST_OPERATIONS: u32 = 1000;
/// The deepest nesting of expressions. One may ask for what a caller gave, and that for what its caller gave.
const DEEPEST: u32 = 8;
/// The largest number of bytes of a value that lies in registers or in parts.
const MOST: u64 = 4096;
/// The largest number of bytes of a value that lies in memory of which the rest is left out.
const MOST_IN_MEMORY: u64 = 64 << 10;

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The compiler left it out.
    Gone,
    /// It was in a register that the functions which were called since have not kept.
    Lost,
    /// It is of one thread alone, and nothing tells where it lies.
    ThreadLocal,
    /// Memory cannot be read, or the expression is malformed or of a kind that is not evaluated.
    Unreadable,
}

impl Missing {
    /// The reason that [`Data::Unknown`](super::data::Data::Unknown) has.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Missing::Gone => "optimized out",
            Missing::Lost => "not saved",
            Missing::ThreadLocal => "thread-local",
            Missing::Unreadable => "unreadable",
        }
    }
}

pub(crate) type Found<T> = Result<T, Missing>;

/// Where the frame of a function begins.
#[derive(Clone, Copy)]
pub(crate) enum Base<'a> {
    /// Where that of its caller ends.
    Cfa,
    /// Where an expression says.
    At(&'a Location),
    Unknown,
}

/// What is known of registers at the entry of the function.
#[derive(Clone, Copy)]
pub(crate) enum Entry<'a> {
    /// They are those of the frame.
    Now,
    /// They are what the caller gave.
    Given(&'a dyn Given),
    Unknown,
}

/// What the caller of a function gave.
pub(crate) trait Given {
    /// The value of a register at the function's entry. `thread` is that of the frames, and `depth` the number of expressions that may still be nested.
    fn given(&self, register: u16, thread: &mut dyn Thread, depth: u32) -> Option<u64>;
}

/// What an expression needs to know of a frame of a thread.
pub(crate) struct Frame<'a, T> {
    /// The registers of the frame, and memory.
    pub(crate) thread: &'a mut T,
    pub(crate) arch: Arch,
    /// The difference between addresses in memory and in the file.
    pub(crate) bias: u64,
    /// The file to whose storage of each thread the expression may lead.
    pub(crate) file: Option<&'a Elf>,
    /// The debug information to which the expression belongs; unwind information has none.
    pub(crate) types: Option<&'a Types>,
    /// The address behind the return address, where the frame of the caller ends.
    pub(crate) cfa: Option<u64>,
    pub(crate) base: Base<'a>,
    pub(crate) entry: Entry<'a>,
}

/// The bytes of a value.
pub(crate) struct Bytes {
    /// They may end before the value, if it lies in memory.
    pub(crate) bytes: Vec<u8>,
    /// Where they lie in memory.
    pub(crate) address: Option<u64>,
    /// Those that are not there, which are zeros in `bytes`. Not all are.
    pub(crate) holes: Vec<Hole>,
}

/// The vector register of a number in debug information, by its number among these.
fn vector(arch: Arch, number: u16) -> Option<u16> {
    match (arch, number) {
        (Arch::Arm64, 64..=95) => Some(number - 64),
        (Arch::X86_64, 17..=32) => Some(number - 17),
        (Arch::X86_64, 67..=82) => Some(number - 51),
        _ => None,
    }
}

/// The address behind the return address, at the first instruction of a function.
pub(crate) fn cfa_at_entry<T: Thread>(arch: Arch, thread: &mut T) -> Option<u64> {
    match arch {
        Arch::Arm64 => thread.general(31),
        _ => thread.general(7).map(|sp| sp.wrapping_add(8)),
    }
}

impl<'a, T: Thread> Frame<'a, T> {
    /// The bytes of a value of a size.
    pub(crate) fn bytes(&mut self, location: &Location, size: u64) -> Found<Bytes> {
        let pieces = self.evaluate(location, None, DEEPEST)?;
        if let [Piece { size_in_bits: None, location: gimli::Location::Address { address }, .. }] = pieces[..] {
            let bytes = self.memory(address, size.min(MOST_IN_MEMORY))?;
            return Ok(Bytes { bytes, address: Some(address), holes: Vec::new() });
        }
        if size > MOST {
            return Err(Missing::Unreadable);
        }
        let (mut bytes, mut holes) = (Vec::new(), Vec::new());
        let is_single = pieces.len() == 1;
        for piece in pieces {
            let wanted = match piece.size_in_bits {
                Some(bits) if bits % 8 == 0 && piece.bit_offset.unwrap_or(0) == 0 => bits / 8,
                None if is_single => size,
                _ => return Err(Missing::Unreadable),
            };
            if wanted.saturating_add(bytes.len() as u64) > MOST {
                return Err(Missing::Unreadable);
            }
            match self.piece(piece, wanted as usize) {
                Ok(part) => bytes.extend(part),
                Err(missing) => {
                    let start = bytes.len() as u64;
                    holes.push((Hole { range: start..start + wanted, reason: missing.reason() }, missing));
                    bytes.resize(bytes.len() + wanted as usize, 0);
                }
            }
        }
        let absent: u64 = holes.iter().map(|(hole, _)| hole.range.end - hole.range.start).sum();
        if let Some((_, missing)) = holes.first().filter(|_| absent >= bytes.len() as u64) {
            return Err(*missing);
        }
        // Zeros are left out at the end of a value.
        bytes.resize(bytes.len().max(size as usize), 0);
        bytes.truncate(size as usize);
        let holes = holes.into_iter().map(|(hole, _)| hole).collect();
        Ok(Bytes { bytes, address: None, holes })
    }

    /// The number that an expression gives, which finds `first` on its stack.
    pub(crate) fn number(&mut self, location: &Location, first: Option<u64>) -> Found<u64> {
        self.number_within(location, first, DEEPEST)
    }

    pub(super) fn number_within(&mut self, location: &Location, first: Option<u64>, depth: u32) -> Found<u64> {
        let pieces = self.evaluate(location, first, depth)?;
        match pieces.into_iter().next().map(|piece| piece.location) {
            Some(gimli::Location::Address { address }) => Ok(address),
            Some(gimli::Location::Value { value }) => value.to_u64(u64::MAX).map_err(|_| Missing::Unreadable),
            Some(gimli::Location::Register { register }) => self.general(register.0),
            _ => Err(Missing::Unreadable),
        }
    }

    fn memory(&mut self, address: u64, size: u64) -> Found<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(size).map_err(|_| Missing::Unreadable)?];
        let read = self.thread.read(address, &mut bytes);
        if read == bytes.len() { Ok(bytes) } else { Err(Missing::Unreadable) }
    }

    fn piece(&mut self, piece: Piece<Reader>, size: usize) -> Found<Vec<u8>> {
        let whole = match piece.location {
            gimli::Location::Register { register } => self.register(register.0)?,
            gimli::Location::Address { address } => return self.memory(address, size as u64),
            gimli::Location::Value { value } => match value {
                Value::F32(value) => value.to_le_bytes().to_vec(),
                Value::F64(value) => value.to_le_bytes().to_vec(),
                value => value.to_u64(u64::MAX).map_err(|_| Missing::Unreadable)?.to_le_bytes().to_vec(),
            },
            gimli::Location::Bytes { value } => value.copied().ok_or(Missing::Unreadable)?,
            gimli::Location::Empty | gimli::Location::ImplicitPointer { .. } => return Err(Missing::Gone),
        };
        whole.get(..size).map(<[u8]>::to_vec).ok_or(Missing::Unreadable)
    }

    fn general(&mut self, number: u16) -> Found<u64> {
        self.thread.general(number).ok_or(Missing::Lost)
    }

    fn register(&mut self, number: u16) -> Found<Vec<u8>> {
        match vector(self.arch, number) {
            Some(vector) => self.thread.vector(vector).ok_or(Missing::Lost),
            None => self.general(number).map(|value| value.to_le_bytes().to_vec()),
        }
    }

    fn evaluate(&mut self, location: &Location, first: Option<u64>, depth: u32) -> Found<Vec<Piece<Reader>>> {
        let malformed = |_: gimli::Error| Missing::Unreadable;
        let depth = depth.checked_sub(1).ok_or(Missing::Unreadable)?;
        let mut evaluation = location.expression.clone().evaluation(location.encoding);
        evaluation.set_max_iterations(MOST_OPERATIONS);
        if let Some(first) = first {
            evaluation.set_initial_value(first);
        }
        let mut state = evaluation.evaluate().map_err(malformed)?;
        // Each request belongs to an operation, so that the limit of operations ends this too.
        loop {
            state = match state {
                EvaluationResult::Complete => return Ok(evaluation.result()),
                EvaluationResult::RequiresRegister { register, base_type } => {
                    let kind = self.kind(location, base_type)?;
                    let value = match kind {
                        ValueType::Generic => Value::Generic(self.general(register.0)?),
                        kind => typed(kind, &self.register(register.0)?)?,
                    };
                    evaluation.resume_with_register(value)
                }
                EvaluationResult::RequiresMemory { address, size, base_type, space: None } => {
                    let kind = self.kind(location, base_type)?;
                    let mut bytes = self.memory(address, size.into())?;
                    if kind == ValueType::Generic {
                        bytes.resize(8, 0);
                    }
                    evaluation.resume_with_memory(typed(kind, &bytes)?)
                }
                EvaluationResult::RequiresFrameBase => {
                    let base = match self.base {
                        Base::Cfa => self.cfa.ok_or(Missing::Lost)?,
                        Base::At(location) => self.number_within(location, None, depth)?,
                        Base::Unknown => return Err(Missing::Unreadable),
                    };
                    evaluation.resume_with_frame_base(base)
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    evaluation.resume_with_call_frame_cfa(self.cfa.ok_or(Missing::Lost)?)
                }
                EvaluationResult::RequiresEntryValue(expression) => {
                    evaluation.resume_with_entry_value(self.at_entry(expression, location, depth)?)
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(self.bias.wrapping_add(address))
                }
                EvaluationResult::RequiresIndexedAddress { index, relocate } => {
                    let address = location.unit.and_then(|unit| self.types?.indexed(unit, index));
                    let bias = if relocate { self.bias } else { 0 };
                    evaluation.resume_with_indexed_address(bias.wrapping_add(address.ok_or(Missing::Unreadable)?))
                }
                EvaluationResult::RequiresBaseType(base_type) => {
                    evaluation.resume_with_base_type(self.kind(location, base_type)?)
                }
                EvaluationResult::RequiresTls(offset) => evaluation.resume_with_tls(self.thread_local(offset)?),
                EvaluationResult::RequiresParameterRef(_) => return Err(Missing::Gone),
                _ => return Err(Missing::Unreadable),
            }
            .map_err(malformed)?;
        }
    }

    /// The address of a variable of which each thread has its own, by its offset in the storage of the file.
    fn thread_local(&mut self, offset: u64) -> Found<u64> {
        let place = self.file.and_then(|file| file.thread_local(offset)).ok_or(Missing::ThreadLocal)?;
        let from = match place {
            ThreadLocal::Offset(offset) => offset as u64,
            ThreadLocal::Slot { slot, behind } => {
                let bytes = self.memory(self.bias.wrapping_add(slot), 8)?;
                let word = bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
                word.wrapping_add(behind as u64)
            }
        };
        self.thread.thread_pointer().map(|pointer| pointer.wrapping_add(from)).ok_or(Missing::ThreadLocal)
    }

    /// What an expression was at the entry of the function.
    fn at_entry(&mut self, expression: Expression<Reader>, around: &Location, depth: u32) -> Found<Value> {
        match self.entry {
            Entry::Now => {
                let inner = Location { expression, ..around.clone() };
                let pieces = self.evaluate(&inner, None, depth)?;
                let piece = pieces.into_iter().next().ok_or(Missing::Unreadable)?;
                typed(ValueType::Generic, &self.piece(piece, 8)?)
            }
            Entry::Given(caller) => {
                let mut operations = expression.operations(around.encoding);
                let register = match (operations.next(), operations.next()) {
                    (Ok(Some(Operation::Register { register })), Ok(None)) => register.0,
                    _ => return Err(Missing::Gone),
                };
                caller.given(register, self.thread, depth).map(Value::Generic).ok_or(Missing::Gone)
            }
            Entry::Unknown => Err(Missing::Gone),
        }
    }

    fn kind(&self, location: &Location, base: gimli::UnitOffset) -> Found<ValueType> {
        if base.0 == 0 {
            return Ok(ValueType::Generic);
        }
        let kind = location.unit.and_then(|unit| self.types?.number_type(unit, base));
        kind.ok_or(Missing::Unreadable)
    }
}

/// A number of a type from its bytes, which may be followed by others.
fn typed(kind: ValueType, bytes: &[u8]) -> Found<Value> {
    match kind {
        ValueType::Generic => {
            let word = bytes.first_chunk().ok_or(Missing::Unreadable)?;
            Ok(Value::Generic(u64::from_le_bytes(*word)))
        }
        kind => Value::parse(kind, EndianSlice::new(bytes, LittleEndian)).map_err(|_| Missing::Unreadable),
    }
}
