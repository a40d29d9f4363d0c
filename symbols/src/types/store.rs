//! What is kept of the types and functions of one file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use gimli::Dwarf;

use super::call_site::CallSite;
use super::extents::Extents;
use super::function::Function;
use super::model::{Type, TypeError, TypeId};
use super::scope::Scope;
use super::units::Units;
use crate::reader::Reader;

/// What was found at an address.
pub(super) type Found = Result<Option<Rc<Function>>, TypeError>;

/// What is in scope at an address.
pub(super) type Scoped = Result<Option<Rc<Scope>>, TypeError>;

/// The types and functions of one file.
pub struct Types {
    pub(super) units: Units,
    pub(super) known: RefCell<HashMap<TypeId, Rc<Type>>>,
    pub(super) functions: RefCell<HashMap<u64, Found>>,
    /// The addresses of the functions of each unit.
    pub(super) extents: RefCell<HashMap<usize, Rc<Extents>>>,
    /// What is in scope at addresses.
    pub(super) scopes: RefCell<HashMap<u64, Scoped>>,
    /// What calls gave, by their return addresses.
    pub(super) calls: RefCell<HashMap<u64, Option<Rc<CallSite>>>>,
    /// Whether functions may begin anew without a call, by their addresses.
    pub(super) anew: RefCell<HashMap<u64, bool>>,
}

impl fmt::Debug for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Types").finish_non_exhaustive()
    }
}

impl Types {
    pub(crate) fn new(dwarf: Arc<Dwarf<Reader>>) -> Types {
        Types {
            units: Units::new(dwarf),
            known: RefCell::default(),
            functions: RefCell::default(),
            extents: RefCell::default(),
            scopes: RefCell::default(),
            calls: RefCell::default(),
            anew: RefCell::default(),
        }
    }
}
