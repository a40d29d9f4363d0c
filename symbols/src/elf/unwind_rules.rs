//! How the registers of a caller are found, as unwind information says it for one address.

use std::sync::Arc;

use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, Encoding, RegisterRule, UnwindContext, UnwindExpression, UnwindOffset,
    UnwindSection, Vendor,
};

use super::frames::{DebugFrames, ExceptionFrames, width};
use super::headers::Arch;
use crate::reader::Reader;
use crate::types::Location;

/// How the registers of a caller are found.
#[derive(Debug)]
pub(crate) struct UnwindRules {
    /// How the end of the frame is found, where that of the caller begins.
    pub(crate) cfa: Cfa,
    /// The rules of registers by their numbers in debug information.
    pub(crate) registers: Vec<(u16, Rule)>,
    /// The number of the register that has the return address.
    pub(crate) return_address: u16,
    /// Whether the caller was interrupted by a signal.
    pub(crate) is_signal: bool,
}

/// How the end of a frame is found.
#[derive(Debug)]
pub(crate) enum Cfa {
    Register(u16, i64),
    Expression(Location),
}

/// How a register of the caller is found.
#[derive(Debug)]
pub(crate) enum Rule {
    /// It is lost.
    Undefined,
    /// The function has not changed it.
    Same,
    /// It lies so far from the end of the frame.
    At(i64),
    /// It is the address so far from the end of the frame.
    Is(i64),
    Register(u16),
    /// It lies where an expression says.
    AtExpression(Location),
    /// It is what an expression says.
    IsExpression(Location),
    Constant(u64),
}

/// The rules at an address in the file.
pub(super) fn at(
    arch: Arch,
    by_exceptions: &ExceptionFrames,
    by_debug: Option<&DebugFrames>,
    address: u64,
) -> Option<UnwindRules> {
    let bytes = |data: &Arc<[u8]>| Reader::whole(Arc::clone(data));
    let vendor = if arch == Arch::Arm64 { Vendor::AArch64 } else { Vendor::Default };
    if let Some(offset) = by_exceptions.functions.entry(address) {
        let mut section = EhFrame::from(bytes(&by_exceptions.data));
        section.set_address_size(width(arch));
        section.set_vendor(vendor);
        return read(&section, &by_exceptions.bases, offset.into(), address).ok();
    }
    let frames = by_debug?;
    let offset = frames.functions.entry(address)?;
    let mut section = DebugFrame::from(bytes(&frames.data));
    section.set_address_size(width(arch));
    section.set_vendor(vendor);
    read(&section, &BaseAddresses::default(), offset.into(), address).ok()
}

fn read<S>(section: &S, bases: &BaseAddresses, offset: S::Offset, address: u64) -> gimli::Result<UnwindRules>
where
    S: UnwindSection<Reader>,
    S::Offset: UnwindOffset<usize>,
{
    let fde =
        section.fde_from_offset(bases, offset, |section, bases, offset| section.cie_from_offset(bases, offset))?;
    let mut context = UnwindContext::new();
    let row = fde.unwind_info_for_address(section, bases, &mut context, address)?;
    let encoding = fde.cie().encoding();
    let location = |expression: &UnwindExpression<usize>| location(section, expression, encoding);
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => Cfa::Register(register.0, *offset),
        CfaRule::Expression(expression) => Cfa::Expression(location(expression)?),
    };
    let mut registers = Vec::new();
    for (register, rule) in row.registers() {
        let rule = match rule {
            RegisterRule::SameValue => Rule::Same,
            RegisterRule::Offset(offset) => Rule::At(*offset),
            RegisterRule::ValOffset(offset) => Rule::Is(*offset),
            RegisterRule::Register(register) => Rule::Register(register.0),
            RegisterRule::Expression(expression) => Rule::AtExpression(location(expression)?),
            RegisterRule::ValExpression(expression) => Rule::IsExpression(location(expression)?),
            RegisterRule::Constant(value) => Rule::Constant(*value),
            _ => Rule::Undefined,
        };
        registers.push((register.0, rule));
    }
    let (return_address, is_signal) = (fde.cie().return_address_register().0, fde.is_signal_trampoline());
    Ok(UnwindRules { cfa, registers, return_address, is_signal })
}

fn location<S: UnwindSection<Reader>>(
    section: &S,
    expression: &UnwindExpression<usize>,
    encoding: Encoding,
) -> gimli::Result<Location> {
    Ok(Location { expression: expression.get(section)?, encoding, unit: None })
}
