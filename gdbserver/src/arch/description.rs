//! The description of a thread's registers, and its text for the client.

use std::fmt::Write;

use ubp::arch::Reg;

/// Where the value of a register comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Bytes of [`ubp::Registers::bytes`] from this offset.
    General(usize),
    /// Bytes of [`ubp::RegisterSet::FLOAT`] from this offset.
    Float(usize),
    /// Two bytes of it, extended to four.
    #[cfg(target_arch = "x86_64")]
    Half(usize),
    /// The tag word of the x87 unit, which `FXSAVE` abridges (SDM vol. 1, 10.5.1.1).
    #[cfg(target_arch = "x86_64")]
    X87Tags,
    /// Bytes of a register of [`ubp::VectorRegisters`] from this offset.
    Vector(Reg, usize),
}

/// A register of the description.
#[derive(Clone, Debug)]
pub(crate) struct Register {
    pub(crate) name: String,
    pub(crate) bytes: usize,
    /// gdb's type, one of its own or of the feature.
    pub(crate) kind: &'static str,
    pub(crate) place: Place,
}

impl Register {
    pub(crate) fn new(name: impl Into<String>, bytes: usize, kind: &'static str, place: Place) -> Register {
        Register { name: name.into(), bytes, kind, place }
    }
}

/// Registers that gdb knows by the name of their feature.
#[derive(Clone, Debug)]
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    /// The declarations of the types that the registers have.
    pub(crate) types: &'static str,
    pub(crate) registers: Vec<Register>,
}

/// All registers of a thread. A register's number is its place in the list of all features' registers.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) architecture: &'static str,
    pub(crate) features: Vec<Feature>,
}

impl Description {
    pub(crate) fn registers(&self) -> impl Iterator<Item = &Register> {
        self.features.iter().flat_map(|feature| &feature.registers)
    }

    pub(crate) fn register(&self, number: u64) -> Option<&Register> {
        self.registers().nth(number.try_into().ok()?)
    }

    /// The document that the client reads.
    pub(crate) fn xml(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>");
        // Writing to a string does not fail.
        let _ = write!(out, "<architecture>{}</architecture><osabi>GNU/Linux</osabi>", self.architecture);
        for Feature { name, types, registers } in &self.features {
            let _ = write!(out, "<feature name=\"{name}\">{types}");
            for Register { name, bytes, kind, .. } in registers {
                let _ = write!(out, "<reg name=\"{name}\" bitsize=\"{}\" type=\"{kind}\"/>", bytes * 8);
            }
            out.push_str("</feature>");
        }
        out.push_str("</target>");
        out
    }
}
