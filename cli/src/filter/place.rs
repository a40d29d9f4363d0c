//! A location, as far as names of an expression ask for it.

use ubp::Arch;
use ubp_symbols::values::general_register;
use ubp_symbols::{Kind as SymbolKind, Module, ThreadLocal};

use crate::native::Reg;
use crate::process::Space;
use crate::values::{Kind, Member, Memory, Parameter, Reached, parameters, reached, result, scope};

/// The most arguments that a message lists.
const LISTED: usize = 8;

/// An address with a breakpoint.
pub(super) struct Place<'a> {
    space: &'a Space,
    address: u64,
    parameters: Vec<Parameter>,
}

impl Place<'_> {
    pub(super) fn new(space: &Space, address: u64) -> Place<'_> {
        Place { space, address, parameters: parameters(space, address) }
    }

    /// A place in the caller of the function in which a thread is: nothing is in registers that the thread has now.
    pub(super) fn in_caller(space: &Space, address: u64) -> Place<'_> {
        let parameters = parameters(space, address).into_iter();
        let parameters = parameters.map(|parameter| Parameter { register: None, memory: None, ..parameter }).collect();
        Place { space, address, parameters }
    }

    fn module(&self) -> Option<&Module> {
        self.space.module(self.address)
    }

    /// The architecture of the code there.
    pub(super) fn arch(&self) -> Option<Arch> {
        self.module().map(|module| match module.image.arch() {
            ubp_symbols::Arch::X86_64 => Arch::X86_64,
            ubp_symbols::Arch::I386 => Arch::I386,
            ubp_symbols::Arch::Arm64 => Arch::Arm64,
        })
    }

    /// The bytes of an address there.
    pub(super) fn width(&self) -> u8 {
        if self.arch() == Some(Arch::I386) { 4 } else { 8 }
    }

    /// The kind of an argument or a member of one, and the register that holds all of it.
    pub(super) fn argument(&self, name: &str) -> Option<(Kind, Option<Reg>)> {
        let (parameter, member) = self.parameter(name)?;
        Some(match member {
            None => (parameter.kind, parameter.register.and_then(general_register)),
            Some(member) => (member.kind, None),
        })
    }

    /// The kind of a variable or a member of one, and where it lies in memory.
    pub(super) fn memory(&self, name: &str) -> Option<(Kind, Memory)> {
        match self.parameter(name)? {
            (parameter, None) => Some((parameter.kind, parameter.memory?)),
            (parameter, Some(member)) => Some((member.kind, parameter.memory?.behind(member.offset?)?)),
        }
    }

    /// The parameter of that name, or the one that has the member, and the member. What an inner block declares hides what is outside of it.
    fn parameter(&self, name: &str) -> Option<(&Parameter, Option<&Member>)> {
        let of = |name: &str| self.parameters.iter().rev().find(|parameter| parameter.name == name);
        if let Some(whole) = of(name) {
            return Some((whole, None));
        }
        let (first, member) = name.split_once('.')?;
        let parameter = of(first)?;
        parameter.members.iter().find(|known| known.name == member).map(|member| (parameter, Some(member)))
    }

    /// The offsets that lead from an argument to a value behind it, such as `item->count`.
    ///
    /// # Errors
    /// The text names the argument, the member or the debug information that is missing.
    pub(super) fn reached(&self, first: &str, path: &str) -> Result<Reached, String> {
        reached(self.space, self.address, first, path)
    }

    /// The kind of what the function returns.
    ///
    /// # Errors
    /// It returns nothing, or no number and no text.
    pub(super) fn result(&self) -> Result<Kind, String> {
        match result(self.space, self.address) {
            Some(Kind::Other) => Err("'retval' is no number and no text here".into()),
            Some(kind) => Ok(kind),
            None => Err("the function returns nothing, so that 'retval' has no meaning here".into()),
        }
    }

    /// The end of a message about an argument with members.
    pub(super) fn members(&self, name: &str) -> String {
        let members =
            self.parameters.iter().find(|parameter| parameter.name == name).map(|parameter| &parameter.members);
        let names: Vec<String> =
            members.into_iter().flatten().take(LISTED).map(|member| format!("{name}.{}", member.name)).collect();
        if names.is_empty() { String::new() } else { format!("; it has {}", names.join(", ")) }
    }

    /// The address in memory and the size of a variable or function: of the module, else of another one.
    pub(super) fn symbol(&self, name: &str) -> Option<(u64, u64)> {
        let own = self.module();
        own.into_iter().chain(self.space.modules.iter()).find_map(|module| {
            let is_wanted =
                |symbol: &ubp_symbols::Symbol<'_>| symbol.kind != SymbolKind::ThreadLocal && symbol.name == name;
            let symbol = module.image.symbols().iter().find(is_wanted)?;
            let size = if symbol.kind == SymbolKind::Data { symbol.size } else { 0 };
            Some((module.in_memory(symbol.address), size))
        })
    }

    /// Where a variable lies of which each thread has its own, and its size: of the module, else of another one. The address of a slot is that in
    /// memory.
    ///
    /// # Errors
    /// The variable is known, but not where it lies.
    pub(super) fn thread_local(&self, name: &str) -> Option<Result<(ThreadLocal, u64), String>> {
        let own = self.module();
        own.into_iter().chain(self.space.modules.iter()).find_map(|module| {
            let is_wanted =
                |symbol: &ubp_symbols::Symbol<'_>| symbol.kind == SymbolKind::ThreadLocal && symbol.name == name;
            let symbol = module.image.symbols().iter().find(is_wanted)?;
            let place = module.image.thread_local(symbol.address).map(|place| match place {
                ThreadLocal::Slot { slot, behind } => ThreadLocal::Slot { slot: module.in_memory(slot), behind },
                other => other,
            });
            let untold = || {
                let file = module.image.name();
                format!("each thread has its own '{name}', and {file} does not tell where: its code asks the loader")
            };
            Some(place.map(|place| (place, symbol.size)).ok_or_else(untold))
        })
    }

    /// Why a name means nothing here.
    pub(super) fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> =
            self.parameters.iter().map(|parameter| &*parameter.name).filter(|name| !name.is_empty()).collect();
        let near = |known: &&&str| strsim::osa_distance(known, name) <= (name.chars().count() / 3).min(3);
        let advice = match names.iter().find(near) {
            Some(near) => format!("did you mean '{near}'?"),
            None if names.is_empty() => {
                "nothing tells names of arguments here; write arg0 to arg5, or a register".into()
            }
            None => format!(
                "the {} are {}; or write arg0 to arg5, or a register",
                if scope(self.space, self.address).is_some() { "variables" } else { "arguments" },
                names[..names.len().min(LISTED)].join(", ")
            ),
        };
        format!("'{name}' is no argument, no register and no variable: {advice}")
    }
}
