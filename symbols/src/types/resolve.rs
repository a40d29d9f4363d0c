//! Types from the entries of debug information.

use std::rc::Rc;

use gimli::AttributeValue;

use super::libraries;
use super::model::{Language, MOST_PARTS, Member, Shape, Structure, Type, TypeError, TypeId, Variant};
use super::store::Types;
use super::units::{Die, Result};

/// The deepest nesting of types.
const DEEPEST: u32 = 24;
/// The longest chain of pointers in a name.
const LONGEST_CHAIN: u32 = 8;

/// What one request may take.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new() -> Budget {
        Budget(MOST_PARTS)
    }

    fn take(&mut self) -> Result<()> {
        self.0 = self.0.checked_sub(1).ok_or(TypeError::TooLarge)?;
        Ok(())
    }
}

impl Types {
    /// The type of an entry.
    ///
    /// # Errors
    /// The debug information is malformed, or the type contains itself or is too large.
    pub fn resolve(&self, id: TypeId) -> Result<Rc<Type>> {
        let die = self.units.die(id)?;
        self.of(&die, 0, &mut Budget::new())
    }

    /// The type to which the attribute `DW_AT_type` of an entry, or of the one that it completes, refers. `None`: there is none (`void`).
    pub(super) fn type_of(&self, die: &Die) -> Result<Option<Rc<Type>>> {
        let Some(having) = self.units.having(die, gimli::DW_AT_type)? else { return Ok(None) };
        self.target(&having, 0, &mut Budget::new())
    }

    fn target(&self, die: &Die, depth: u32, budget: &mut Budget) -> Result<Option<Rc<Type>>> {
        match self.units.reference(die, gimli::DW_AT_type)? {
            Some(target) => self.of(&target, depth + 1, budget).map(Some),
            None => Ok(None),
        }
    }

    fn of(&self, die: &Die, depth: u32, budget: &mut Budget) -> Result<Rc<Type>> {
        if let Some(known) = self.known.borrow().get(&die.id()) {
            return Ok(Rc::clone(known));
        }
        if depth > DEEPEST {
            return Err(TypeError::TooDeep);
        }
        budget.take()?;
        let made = Rc::new(self.make(die, depth, budget)?);
        self.known.borrow_mut().insert(die.id(), Rc::clone(&made));
        Ok(made)
    }

    fn make(&self, die: &Die, depth: u32, budget: &mut Budget) -> Result<Type> {
        let name = self.units.name(die)?;
        let size = die.number(gimli::DW_AT_byte_size)?.unwrap_or(0);
        let plain = |shape| Type { name: name.clone().unwrap_or_default(), size, shape };
        Ok(match die.tag()? {
            gimli::DW_TAG_base_type => plain(base(die, size, name.as_deref())?),
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => match self.target(die, depth, budget)? {
                Some(inner) => Type { name: name.unwrap_or_else(|| inner.name.clone()), ..(*inner).clone() },
                None => Type { name: name.unwrap_or_else(|| "void".into()), size: 0, shape: Shape::Opaque },
            },
            gimli::DW_TAG_pointer_type => {
                let reference = name.as_ref().is_some_and(|name| name.starts_with('&'));
                self.pointer(die, name, "*", reference)?
            }
            gimli::DW_TAG_reference_type => self.pointer(die, name, "&", true)?,
            gimli::DW_TAG_rvalue_reference_type => self.pointer(die, name, "&&", true)?,
            gimli::DW_TAG_array_type => self.array(die, name, size, depth, budget)?,
            gimli::DW_TAG_enumeration_type => plain(Shape::Enumeration(self.names(die)?)),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                plain(self.structure(die, size, name.as_deref().unwrap_or_default(), depth, budget)?)
            }
            _ => plain(Shape::Opaque),
        })
    }

    fn pointer(&self, die: &Die, name: Option<String>, mark: &str, reference: bool) -> Result<Type> {
        let target = self.units.reference(die, gimli::DW_AT_type)?;
        let name = match (name, &target) {
            (Some(name), _) => name,
            (None, Some(target)) => format!("{}{mark}", self.name_of(target, 0)?),
            (None, None) => format!("void{mark}"),
        };
        let size = u64::from(die.of.unit.encoding().address_size);
        // A pointer to a qualified nothing (`const void*`) has a target without one.
        let target = target.filter(|target| !self.is_void(target).unwrap_or(true));
        Ok(Type { name, size, shape: Shape::Pointer { target: target.map(|target| target.id()), reference } })
    }

    /// Whether an entry only qualifies nothing.
    fn is_void(&self, die: &Die) -> Result<bool> {
        let mut at = die.clone();
        for _ in 0..LONGEST_CHAIN {
            if !matches!(at.tag()?, gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type | gimli::DW_TAG_typedef) {
                return Ok(false);
            }
            match self.units.reference(&at, gimli::DW_AT_type)? {
                Some(next) => at = next,
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// The name of a type, without its parts.
    fn name_of(&self, die: &Die, depth: u32) -> Result<String> {
        if depth > LONGEST_CHAIN {
            return Ok("…".into());
        }
        if let Some(name) = self.units.name(die)? {
            return Ok(name);
        }
        let inner = match self.units.reference(die, gimli::DW_AT_type)? {
            Some(target) => self.name_of(&target, depth + 1)?,
            None => "void".into(),
        };
        Ok(match die.tag()? {
            gimli::DW_TAG_pointer_type => format!("{inner}*"),
            gimli::DW_TAG_reference_type => format!("{inner}&"),
            gimli::DW_TAG_rvalue_reference_type => format!("{inner}&&"),
            gimli::DW_TAG_const_type => format!("const {inner}"),
            gimli::DW_TAG_array_type => format!("{inner}[]"),
            gimli::DW_TAG_subroutine_type => format!("{inner}()"),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => "struct".into(),
            gimli::DW_TAG_union_type => "union".into(),
            gimli::DW_TAG_enumeration_type => "enum".into(),
            _ => inner,
        })
    }

    fn array(&self, die: &Die, name: Option<String>, size: u64, depth: u32, budget: &mut Budget) -> Result<Type> {
        let Some(element) = self.target(die, depth, budget)? else { return Err(TypeError::Missing) };
        let mut counts = Vec::new();
        for child in die.children()? {
            if child.tag()? == gimli::DW_TAG_subrange_type {
                let count = child.number(gimli::DW_AT_count)?;
                let last = child.number(gimli::DW_AT_upper_bound)?.map(|last| last.wrapping_add(1));
                counts.push(count.or(last).unwrap_or(0));
            }
        }
        let vector = die.is(gimli::DW_AT_GNU_vector)?;
        let name = name.unwrap_or_else(|| {
            let counts: String = counts.iter().map(|count| format!("[{count}]")).collect();
            format!("{}{counts}", element.name)
        });
        let mut inner = element;
        for count in counts.into_iter().rev() {
            budget.take()?;
            let size = inner.size.saturating_mul(count);
            let shape = Shape::Array { element: inner, count, vector };
            inner = Rc::new(Type { name: name.clone(), size, shape });
        }
        let size = if size == 0 { inner.size } else { size };
        Ok(Type { name, size, shape: inner.shape.clone() })
    }

    fn names(&self, die: &Die) -> Result<Vec<(i64, String)>> {
        let mut names = Vec::new();
        for child in die.children()? {
            if child.tag()? == gimli::DW_TAG_enumerator {
                if let (Some(value), Some(name)) = (child.signed(gimli::DW_AT_const_value)?, self.units.name(&child)?) {
                    names.push((value, name));
                }
            }
        }
        Ok(names)
    }

    fn structure(&self, die: &Die, size: u64, name: &str, depth: u32, budget: &mut Budget) -> Result<Shape> {
        if die.is(gimli::DW_AT_declaration)? {
            return Ok(Shape::Opaque);
        }
        let mut structure = Structure { union: die.tag()? == gimli::DW_TAG_union_type, ..Structure::default() };
        let (mut parameter, mut has_destructor) = (None, false);
        for child in die.children()? {
            match child.tag()? {
                gimli::DW_TAG_member | gimli::DW_TAG_inheritance => {
                    structure.members.extend(self.member(&child, depth, budget)?);
                }
                gimli::DW_TAG_variant_part => return self.variants(&child, depth, budget),
                gimli::DW_TAG_template_type_parameter if parameter.is_none() => {
                    parameter = self.units.reference(&child, gimli::DW_AT_type)?.map(|target| target.id());
                }
                gimli::DW_TAG_subprogram => {
                    has_destructor |= self.units.name(&child)?.is_some_and(|name| name.starts_with('~'));
                }
                _ => {}
            }
        }
        structure.by_address = match die.value(gimli::DW_AT_calling_convention)? {
            Some(AttributeValue::CallingConvention(gimli::DW_CC_pass_by_reference)) => true,
            Some(AttributeValue::CallingConvention(gimli::DW_CC_pass_by_value)) => false,
            _ => has_destructor,
        };
        let language = language(die).unwrap_or(Language::C);
        let sequence = libraries::sequence(language, name, size, &structure.members, parameter);
        Ok(sequence.map_or(Shape::Structure(structure), Shape::Sequence))
    }

    fn member(&self, die: &Die, depth: u32, budget: &mut Budget) -> Result<Option<Member>> {
        // A static member, and a virtual base class, whose place is computed.
        if die.is(gimli::DW_AT_external)? || die.is(gimli::DW_AT_declaration)? {
            return Ok(None);
        }
        let place = die.value(gimli::DW_AT_data_member_location)?;
        if matches!(place, Some(AttributeValue::Exprloc(_) | AttributeValue::Block(_))) {
            return Ok(None);
        }
        let offset = place.and_then(|value| value.udata_value()).unwrap_or(0);
        let Some(kind) = self.target(die, depth, budget)? else { return Ok(None) };
        let inherited = die.tag()? == gimli::DW_TAG_inheritance;
        let name = if inherited { String::new() } else { self.units.name(die)?.unwrap_or_default() };
        let bits = match die.number(gimli::DW_AT_bit_size)? {
            None => None,
            Some(count) => match die.number(gimli::DW_AT_data_bit_offset)? {
                Some(first) => Some((first, count)),
                // The older attribute counts from the highest bit of the storage.
                None => die.number(gimli::DW_AT_bit_offset)?.and_then(|high| {
                    let storage = die.number(gimli::DW_AT_byte_size).ok().flatten().unwrap_or(kind.size);
                    let first = storage.saturating_mul(8).checked_sub(high.checked_add(count)?)?;
                    Some((first, count))
                }),
            },
        };
        Ok(Some(Member { name, offset, bits, kind }))
    }

    fn variants(&self, die: &Die, depth: u32, budget: &mut Budget) -> Result<Shape> {
        let tag = match self.units.reference(die, gimli::DW_AT_discr)? {
            Some(tag) => self.member(&tag, depth, budget)?,
            None => None,
        };
        let mut variants = Vec::new();
        for child in die.children()? {
            if child.tag()? != gimli::DW_TAG_variant {
                continue;
            }
            let values = child.number(gimli::DW_AT_discr_value)?.map(|value| vec![value]);
            for inner in child.children()? {
                if inner.tag()? == gimli::DW_TAG_member {
                    let member = self.member(&inner, depth, budget)?;
                    variants.extend(member.map(|member| Variant { values: values.clone(), member }));
                }
            }
        }
        Ok(Shape::Variants { tag, variants })
    }
}

fn base(die: &Die, size: u64, name: Option<&str>) -> Result<Shape> {
    let encoding = match die.value(gimli::DW_AT_encoding)? {
        Some(AttributeValue::Encoding(encoding)) => encoding,
        _ => return Ok(Shape::Opaque),
    };
    Ok(match encoding {
        gimli::DW_ATE_signed => Shape::Integer { signed: true },
        gimli::DW_ATE_unsigned => Shape::Integer { signed: false },
        // Numbers of one byte have this encoding too: `int8_t`, and those of Rust and Go.
        gimli::DW_ATE_signed_char | gimli::DW_ATE_unsigned_char if name == Some("char") => Shape::Character,
        gimli::DW_ATE_signed_char => Shape::Integer { signed: true },
        gimli::DW_ATE_unsigned_char => Shape::Integer { signed: false },
        gimli::DW_ATE_UTF => Shape::Character,
        gimli::DW_ATE_boolean => Shape::Boolean,
        gimli::DW_ATE_float if matches!(size, 4 | 8 | 16) => Shape::Float,
        _ => Shape::Opaque,
    })
}

/// The convention of the functions in the unit that has an entry. `None`: an assembler wrote it.
pub(super) fn language(die: &Die) -> Option<Language> {
    let root = |die: &Die| {
        let mut entries = die.of.unit.entries();
        let (_, root) = entries.next_dfs().ok()??;
        root.attr_value(gimli::DW_AT_language).ok()?
    };
    match root(die) {
        Some(AttributeValue::Language(gimli::DW_LANG_Rust)) => Some(Language::Rust),
        Some(AttributeValue::Language(gimli::DW_LANG_Go)) => Some(Language::Go),
        Some(AttributeValue::Language(gimli::DW_LANG_Mips_Assembler)) => None,
        _ => Some(Language::C),
    }
}
