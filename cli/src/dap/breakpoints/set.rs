//! Takes breakpoints from requests. Each request has all breakpoints of its kind, or of its source file.

use serde::Deserialize;
use serde_json::{Value, json};

use super::wanted::{Site, Terms};
use crate::dap::adapter::Adapter;
use crate::dap::exceptions::Thrower;
use crate::dap::lines::{code_lines, number_of};
use crate::dap::refusal::{Answered, Refusal};

/// What `setBreakpoints` has.
#[derive(Debug, Deserialize)]
pub(in crate::dap) struct BreakpointFields {
    source: SourceFields,
    #[serde(default)]
    breakpoints: Vec<LineFields>,
}

/// A source file.
#[derive(Debug, Deserialize)]
struct SourceFields {
    path: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineFields {
    line: u64,
    condition: Option<String>,
    hit_condition: Option<String>,
    log_message: Option<String>,
}

/// What `setFunctionBreakpoints` has.
#[derive(Debug, Deserialize)]
pub(in crate::dap) struct FunctionFields {
    breakpoints: Vec<NameFields>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NameFields {
    name: String,
    condition: Option<String>,
    hit_condition: Option<String>,
}

/// What `setInstructionBreakpoints` has.
#[derive(Debug, Deserialize)]
pub(in crate::dap) struct InstructionFields {
    breakpoints: Vec<AddressFields>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AddressFields {
    instruction_reference: String,
    #[serde(default)]
    offset: i64,
    condition: Option<String>,
    hit_condition: Option<String>,
}

/// What `breakpointLocations` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dap) struct LocationFields {
    source: SourceFields,
    line: u64,
    end_line: Option<u64>,
}

impl SourceFields {
    fn path(self) -> Result<String, Refusal> {
        self.path.ok_or_else(|| Refusal::new("the source has no path"))
    }
}

impl Adapter {
    pub(in crate::dap) fn set_breakpoints(&mut self, fields: BreakpointFields) -> Answered {
        let path = fields.source.path()?;
        let old = self.wanted.at(|site| matches!(site, Site::Line { path: known, .. } if *known == path));
        let wanted = fields.breakpoints.into_iter().map(|one| {
            let terms = Terms { condition: one.condition, hits: one.hit_condition, log: one.log_message };
            (Site::Line { path: path.clone(), line: one.line }, terms)
        });
        let wanted = wanted.collect();
        Ok(self.replace(&old, wanted))
    }

    pub(in crate::dap) fn set_function_breakpoints(&mut self, fields: FunctionFields) -> Answered {
        let old = self.wanted.at(|site| matches!(site, Site::Function(_)));
        let wanted = fields.breakpoints.into_iter().map(|one| {
            let terms = Terms { condition: one.condition, hits: one.hit_condition, log: None };
            (Site::Function(one.name), terms)
        });
        let wanted = wanted.collect();
        Ok(self.replace(&old, wanted))
    }

    pub(in crate::dap) fn set_instruction_breakpoints(&mut self, fields: InstructionFields) -> Answered {
        let old = self.wanted.at(|site| matches!(site, Site::Address(_)));
        let mut wanted = Vec::new();
        for one in fields.breakpoints {
            let address = number_of(&one.instruction_reference)?.wrapping_add_signed(one.offset);
            let terms = Terms { condition: one.condition, hits: one.hit_condition, log: None };
            wanted.push((Site::Address(address), terms));
        }
        Ok(self.replace(&old, wanted))
    }

    /// Sets breakpoints at these functions, in the place of those that throw exceptions and had one before.
    pub(in crate::dap) fn set_throwers(&mut self, throwers: &[Thrower]) {
        let old = self.wanted.at(|site| matches!(site, Site::Thrower(_)));
        let wanted = throwers.iter().map(|thrower| (Site::Thrower(*thrower), Terms::default())).collect();
        self.replace(&old, wanted);
    }

    /// Puts breakpoints into the place of old ones, and describes them in their order.
    fn replace(&mut self, old: &[u64], wanted: Vec<(Site, Terms)>) -> Value {
        let numbers: Vec<u64> = wanted.into_iter().map(|(site, terms)| self.wanted.add(old, site, terms)).collect();
        for number in old.iter().filter(|number| !numbers.contains(number)) {
            self.remove(*number);
        }
        self.place_everywhere(&numbers);
        json!({ "breakpoints": numbers.iter().map(|number| self.described(*number)).collect::<Vec<_>>() })
    }

    /// The lines of a source file that have code.
    pub(in crate::dap) fn breakpoint_locations(&mut self, fields: &LocationFields) -> Answered {
        let path = fields.source.path.as_deref().ok_or_else(|| Refusal::new("the source has no path"))?;
        let lines = fields.line..=fields.end_line.unwrap_or(fields.line);
        let modules = self.programs.values().flat_map(|program| program.space.modules.iter());
        let found = code_lines(modules, path, lines);
        let found: Vec<Value> = found.into_iter().map(|line| json!({ "line": line })).collect();
        Ok(json!({ "breakpoints": found }))
    }
}
