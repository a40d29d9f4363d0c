//! The variables that are in scope in a frame.

use std::rc::Rc;

use super::call::{Argument, arguments};
use super::entry::Called;
use super::expression::{Base, Bytes, Entry, Found, Frame, Missing};
use super::node::Node;
use super::thread::Thread;
use crate::elf::Arch;
use crate::process::{Module, StackFrame};
use crate::types::{Lies, Scope, Type, TypeError, Types, Variable};

/// The reason for the value of a variable in the frame that the function has not written yet.
const COMING: &str = "not initialized yet";
const MALFORMED: &str = "malformed debug information";

/// A variable or a parameter that is in scope, with its value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Local {
    /// Its name, type and value, and what is in it.
    pub value: Node,
    /// Whether it is a parameter.
    pub is_parameter: bool,
    /// The inlined function to which it belongs; `None` if it belongs to the function itself.
    pub inlined: Option<Rc<str>>,
}

impl From<Node> for Argument {
    fn from(node: Node) -> Argument {
        Argument { name: node.name, kind: node.kind, data: node.data }
    }
}

/// The registers of a frame of a thread, and its memory.
struct InFrame<'a, T> {
    frame: &'a StackFrame,
    thread: &'a mut T,
}

impl<T: Thread> Thread for InFrame<'_, T> {
    fn general(&mut self, number: u16) -> Option<u64> {
        self.frame.general(number)
    }

    /// No vector register is kept across calls on x86-64, and on arm64 unwind information is not asked for the halves that are.
    fn vector(&mut self, number: u16) -> Option<Vec<u8>> {
        if self.frame.is_innermost { self.thread.vector(number) } else { None }
    }

    fn thread_pointer(&mut self) -> Option<u64> {
        self.thread.thread_pointer()
    }

    fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        self.thread.read(address, buffer)
    }
}

/// The variables that are in scope in a frame of a thread, in the order of [`Scope::variables`]. `module` is the one that contains
/// [`StackFrame::inside`]. None are told where no debug information describes the code, and in 32-bit programs.
///
/// A value, or a part of a structure or array, that is not there is [`Data::Unknown`](super::Data::Unknown) with the reason:
///
/// | reason | what it says |
/// |---|---|
/// | `optimized out` | the compiler keeps no value here |
/// | `not initialized yet` | the function has not set up its frame, or has not reached the end of the declaration |
/// | `not saved` | the value was in a register that the functions called from here have not kept |
/// | `thread-local` | neither the file nor the thread tells where the thread's own copy lies |
/// | `unreadable` | memory cannot be read there, or debug information is of a kind that is not evaluated |
///
/// # Errors
/// The debug information of the function is malformed.
pub fn variables<T: Thread>(module: &Module, frame: &StackFrame, thread: &mut T) -> Result<Vec<Local>, TypeError> {
    let address = module.in_file(frame.inside.0);
    let scope = module.image.scope(address)?.filter(|_| module.image.arch() != Arch::I386);
    let (Some(scope), Some(types)) = (scope, module.image.types()) else { return Ok(Vec::new()) };
    // At the first instruction the calling convention tells of parameters what the frame does not have yet.
    let given = match frame.is_innermost && address == scope.start {
        true => module.image.function(address)?.map(|function| arguments(module, &function, thread)),
        false => None,
    };
    let given = given.unwrap_or_default();
    let mut reader = Reader { module, frame, types, scope: &scope, thread };
    Ok(scope.variables.iter().map(|variable| reader.local(variable, &given)).collect())
}

/// Reads the variables of a scope.
struct Reader<'a, T> {
    module: &'a Module,
    frame: &'a StackFrame,
    types: &'a Types,
    scope: &'a Scope,
    thread: &'a mut T,
}

impl<T: Thread> Reader<'_, T> {
    fn local(&mut self, variable: &Variable, given: &[Argument]) -> Local {
        let name = variable.name.clone();
        let value = match &variable.kind {
            Err(_) => Node::unknown(name, String::new(), MALFORMED),
            Ok(kind) => match self.bytes(variable, kind) {
                Ok(found) => Node::new(name, kind, found, self.types, self.thread),
                Err(reason) => {
                    let mut node = Node::unknown(name, kind.name.clone(), reason);
                    let is_it = |argument: &&Argument| variable.inlined.is_none() && argument.name == variable.name;
                    if let Some(argument) = given.iter().find(is_it).filter(|_| variable.is_parameter) {
                        node.data = argument.data.clone();
                    }
                    node
                }
            },
        };
        Local { value, is_parameter: variable.is_parameter, inlined: variable.inlined.clone() }
    }

    fn bytes(&mut self, variable: &Variable, kind: &Type) -> Result<Bytes, &'static str> {
        match &variable.lies {
            Lies::Gone => Err(Missing::Gone.reason()),
            Lies::Coming => Err(COMING),
            Lies::Constant { bytes, is_negative } => {
                let size = usize::try_from(kind.size).unwrap_or(0).min(bytes.len().max(16));
                let mut bytes = bytes.clone();
                bytes.resize(size, if *is_negative { 0xff } else { 0 });
                Ok(Bytes { bytes, address: None, holes: Vec::new() })
            }
            Lies::At(location) => self.at(location, kind).map_err(Missing::reason),
        }
    }

    fn at(&mut self, location: &crate::types::Location, kind: &Type) -> Found<Bytes> {
        let is_at_entry = self.frame.is_innermost && self.module.in_file(self.frame.inside.0) == self.scope.start;
        let start = self.module.in_memory(self.scope.start);
        let called = self.frame.caller().map(|caller| Called { module: self.module, start, caller });
        let entry = match &called {
            _ if is_at_entry => Entry::Now,
            Some(called) => Entry::Given(called),
            None => Entry::Unknown,
        };
        let base = self.scope.frame_base.as_ref().map_or(Base::Unknown, Base::At);
        let mut thread = InFrame { frame: self.frame, thread: self.thread };
        let (arch, bias) = (self.module.image.arch(), self.module.bias);
        let cfa = self.frame.cfa.map(|cfa| cfa.0);
        let (file, types) = (Some(&**self.module.image), Some(self.types));
        let mut frame = Frame { thread: &mut thread, arch, bias, file, types, cfa, base, entry };
        frame.bytes(location, kind.size)
    }
}
