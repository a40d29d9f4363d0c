//! `setVariable`: writes a number, a pointer or a truth value into a variable that lies in memory.

use serde::Deserialize;
use ubp::Address;
use ubp_symbols::values::{Data, Node};

use super::adapter::Adapter;
use super::refusal::{Answered, Refusal};
use super::shown::{Handle, ShownFrame};
use crate::filter::{Arrived, Formula, Problem};

/// What `setVariable` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetFields {
    variables_reference: usize,
    name: String,
    value: String,
}

impl Adapter {
    pub(super) fn set_variable(&mut self, fields: &SetFields) -> Answered {
        self.check_stopped()?;
        let (frame, node) = self.part_of(fields.variables_reference, &fields.name)?;
        let Some(address) = node.address else {
            return Err(Refusal::new(format!("'{}' does not lie in memory", fields.name)));
        };
        let shown = self.frame(frame)?.clone();
        let bytes = self.bytes_of(&node, &fields.value, &shown)?;
        self.session.write_memory(shown.pid, Address(address), &bytes)?;
        // What pointers lead to may have changed with it.
        let (_, node) = self.part_of(fields.variables_reference, &fields.name)?;
        Ok(self.shown_node(frame, node))
    }

    /// A variable among those of a reference, and the frame that it belongs to.
    pub(super) fn part_of(&mut self, reference: usize, name: &str) -> Result<(usize, Node), Refusal> {
        let (frame, nodes) = match self.handle(reference)? {
            Handle::Locals(frame) => (frame, self.locals(self.frame(frame)?)?),
            Handle::Parts(frame, node) => {
                let node = self.again(frame, &node)?;
                (frame, self.parts(self.frame(frame)?, &node, 0)?)
            }
            Handle::Registers(_) => return Err(Refusal::new("registers are not variables in memory")),
        };
        let found = nodes.into_iter().rev().find(|node| node.name == name);
        Ok((frame, found.ok_or_else(|| Refusal::new(format!("there is no '{name}' here")))?))
    }

    /// The bytes of a value that a text gives to a variable.
    fn bytes_of(&mut self, node: &Node, text: &str, shown: &ShownFrame) -> Result<Vec<u8>, Refusal> {
        let wrong = |problem: Problem| Refusal::new(format!("{problem} (at character {} of: {text})", problem.at + 1));
        let formula = Formula::parse(text.trim()).map_err(wrong)?;
        let program = self.programs.get_mut(&shown.pid).ok_or_else(|| Refusal::new("the process has ended"))?;
        let thread = (shown.pid, shown.tid);
        let mut arrived = Arrived::in_frame(&mut self.session, &mut program.space, thread, &shown.frame);
        let size = usize::try_from(node.size()).unwrap_or(usize::MAX);
        match node.data {
            Data::Single(_) => Ok((formula.float(&mut arrived).map_err(Refusal::new)? as f32).to_le_bytes().to_vec()),
            Data::Double(_) => Ok(formula.float(&mut arrived).map_err(Refusal::new)?.to_le_bytes().to_vec()),
            Data::Signed(_) | Data::Unsigned(_) | Data::Boolean(_) | Data::Character(_) | Data::Pointer { .. }
                if size <= 8 =>
            {
                let number = formula.number(&mut arrived).map_err(Refusal::new)?;
                let bits = 8 * size as u32;
                if !(-(1_i128 << (bits - 1))..1_i128 << bits).contains(&number) {
                    return Err(Refusal::new(format!("{number} does not fit into {size} bytes")));
                }
                Ok(number.to_le_bytes().into_iter().take(size).collect())
            }
            _ => Err(Refusal::new(format!(
                "'{}' has the type {}, which is no number and no pointer",
                node.name, node.kind
            ))),
        }
    }
}
