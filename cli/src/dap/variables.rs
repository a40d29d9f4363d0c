//! Scopes of a frame, variables as trees, and the values of expressions.

use serde::Deserialize;
use serde_json::{Value, json};
use ubp::{Pid, Tid};
use ubp_symbols::Module;
use ubp_symbols::values::{Data, Held, Node, variables};

use super::adapter::Adapter;
use super::path;
use super::refusal::{Answered, Refusal};
use super::shown::{Handle, ShownFrame};
use crate::filter::{Arrived, Formula};
use crate::native;

/// What `scopes` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScopesFields {
    frame_id: usize,
}

/// What `variables` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VariablesFields {
    variables_reference: usize,
    #[serde(default)]
    start: usize,
    #[serde(default)]
    count: usize,
}

/// What `evaluate` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvaluateFields {
    expression: String,
    frame_id: Option<usize>,
}

impl Adapter {
    pub(super) fn scopes(&mut self, fields: &ScopesFields) -> Answered {
        let frame = fields.frame_id;
        let depth = self.frame(frame)?.depth;
        let locals = self.shown.add(Handle::Locals(frame));
        let mut scopes = vec![json!({
            "name": "Locals", "presentationHint": "locals", "variablesReference": locals, "expensive": false,
        })];
        if depth == 0 {
            let registers = self.shown.add(Handle::Registers(frame));
            scopes.push(json!({
                "name": "Registers", "presentationHint": "registers", "variablesReference": registers, "expensive": true,
            }));
        }
        Ok(json!({ "scopes": scopes }))
    }

    pub(super) fn variables(&mut self, fields: &VariablesFields) -> Answered {
        let variables = match self.handle(fields.variables_reference)? {
            Handle::Registers(frame) => self.registers(frame)?,
            Handle::Locals(frame) => {
                let nodes = self.locals(self.frame(frame)?)?;
                self.shown_nodes(frame, nodes)
            }
            Handle::Parts(frame, node) => {
                let node = self.again(frame, &node)?;
                let parts = self.parts(self.frame(frame)?, &node, fields.start as u64)?;
                self.shown_nodes(frame, parts)
            }
        };
        let count = if fields.count == 0 { variables.len() } else { fields.count };
        Ok(json!({ "variables": variables.into_iter().take(count).collect::<Vec<_>>() }))
    }

    pub(super) fn handle(&self, number: usize) -> Result<Handle, Refusal> {
        let handle = number.checked_sub(1).and_then(|index| self.shown.handles.get(index)).cloned();
        handle.ok_or_else(|| Refusal::new(format!("there is nothing with the reference {number} now")))
    }

    fn registers(&self, frame: usize) -> Result<Vec<Value>, Refusal> {
        let registers = self.session.registers(self.frame(frame)?.tid)?;
        let one = |register: &native::Reg| {
            let text = format!("{:#x}", registers.get(*register)?);
            Some(
                json!({ "name": register.to_string(), "value": text, "memoryReference": text, "variablesReference": 0 }),
            )
        };
        Ok(native::REGISTERS.iter().filter_map(one).collect())
    }

    /// Calls `read` with the module of a frame's code and the frame's thread.
    fn in_frame<T>(&self, shown: &ShownFrame, read: impl FnOnce(&Module, &mut Held<'_>) -> T) -> Result<T, Refusal> {
        let program = self.programs.get(&shown.pid).ok_or_else(|| Refusal::new("the process has ended"))?;
        let inside = shown.frame.inside.0;
        let module = program.space.module(inside);
        let module = module.ok_or_else(|| Refusal::new(format!("no file is known for the code at {inside:#x}")))?;
        let registers = self.session.registers(shown.tid)?;
        Ok(read(module, &mut Held::new(&self.session, shown.pid, shown.tid, &registers)))
    }

    /// The variables in scope in a frame.
    pub(super) fn locals(&self, frame: &ShownFrame) -> Result<Vec<Node>, Refusal> {
        let read = self.in_frame(frame, |module, thread| variables(module, &frame.frame, thread))?;
        let all = read.map_err(|error| Refusal::new(error.to_string()))?;
        Ok(all.into_iter().map(|local| local.value).collect())
    }

    /// The parts of a value from the number `first` on.
    pub(super) fn parts(&self, frame: &ShownFrame, node: &Node, first: u64) -> Result<Vec<Node>, Refusal> {
        self.in_frame(frame, |module, thread| node.expand(module, first, thread))
    }

    /// A value read once more.
    pub(super) fn again(&self, frame: usize, node: &Node) -> Result<Node, Refusal> {
        self.in_frame(self.frame(frame)?, |module, thread| node.again(module, thread))
    }

    /// Values in the words of the protocol.
    fn shown_nodes(&mut self, frame: usize, nodes: Vec<Node>) -> Vec<Value> {
        nodes.into_iter().map(|node| self.shown_node(frame, node)).collect()
    }

    pub(super) fn shown_node(&mut self, frame: usize, node: Node) -> Value {
        let mut body = json!({ "name": node.name, "type": node.kind, "value": node.data.to_string() });
        let address = if let Data::Pointer { address, .. } = node.data { Some(address) } else { node.address };
        if let Some(address) = address {
            body["memoryReference"] = json!(format!("{address:#x}"));
        }
        if node.name.is_empty() {
            body["name"] = json!(format!("({})", node.kind));
        }
        let parts = node.can_expand();
        body["variablesReference"] =
            json!(if parts { self.shown.add(Handle::Parts(frame, Box::new(node))) } else { 0 });
        body
    }

    /// The process, address and length of a variable that lies in memory, among those of a reference.
    pub(super) fn place_of(&mut self, reference: usize, name: &str) -> Option<(Pid, u64, u64)> {
        let (frame, node) = self.part_of(reference, name).ok()?;
        Some((self.frame(frame).ok()?.pid, node.address?, node.size()))
    }

    pub(super) fn evaluate(&mut self, fields: &EvaluateFields) -> Answered {
        self.check_stopped()?;
        let frame = match fields.frame_id {
            Some(frame) => frame,
            None => self.first_frame()?,
        };
        let text = fields.expression.trim();
        if let Some(mut node) = self.named(self.frame(frame)?, text)? {
            node.name = text.into();
            let mut body = self.shown_node(frame, node);
            body["result"] = body["value"].take();
            return Ok(body);
        }
        let wrong = |problem: crate::filter::Problem| {
            Refusal::new(format!("{problem} (at character {} of: {text})", problem.at + 1))
        };
        let formula = Formula::parse(text).map_err(wrong)?;
        let shown = self.frame(frame)?.clone();
        let program = self.programs.get_mut(&shown.pid).ok_or_else(|| Refusal::new("the process has ended"))?;
        let thread = (shown.pid, shown.tid);
        let mut arrived = Arrived::in_frame(&mut self.session, &mut program.space, thread, &shown.frame);
        let value = formula.value(&mut arrived).map_err(Refusal::new)?;
        Ok(json!({ "result": value, "variablesReference": 0 }))
    }

    /// The innermost frame of the first thread.
    fn first_frame(&mut self) -> Result<usize, Refusal> {
        let (pid, tid) = self.all_threads().first().copied().ok_or_else(|| Refusal::new("no program is debugged"))?;
        Ok(self.frames_of(pid, tid)? + 1)
    }

    /// The variable, or the part of one, that a text names; `None`: the text is something else, or there is none.
    fn named(&self, frame: &ShownFrame, text: &str) -> Result<Option<Node>, Refusal> {
        let Some((first, steps)) = path::parse(text) else { return Ok(None) };
        let found = self.locals(frame)?.into_iter().rev().find(|node| node.name == first);
        let Some(mut node) = found else { return Ok(None) };
        for step in steps {
            let parts = self.parts(frame, &node, step.number().unwrap_or(0))?;
            let Some(next) = step.choose(&node, parts) else {
                return Err(Refusal::new(format!("'{}' has no part '{step}'", node.name)));
            };
            node = next;
        }
        Ok(Some(node))
    }

    /// The text of the value of a variable, or of a part of one, where a thread is; `None`: the text is something else, or there is none.
    pub(super) fn value_at(&mut self, pid: Pid, tid: Tid, text: &str) -> Option<String> {
        let registers = self.session.registers(tid).ok()?;
        let frame = self.programs.get_mut(&pid)?.space.modules.innermost(&self.session, &registers)?;
        let shown = ShownFrame { pid, tid, depth: 0, frame };
        self.named(&shown, text).ok()?.map(|node| node.data.to_string())
    }
}
