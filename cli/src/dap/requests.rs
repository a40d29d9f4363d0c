//! Which function answers a request.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::adapter::Adapter;
use super::exceptions;
use super::link::Request;
use super::refusal::{Answered, Refusal};

/// The fields of a request.
fn fields<T: DeserializeOwned>(request: &Request) -> Result<T, Refusal> {
    let arguments = if request.arguments.is_null() { json!({}) } else { request.arguments.clone() };
    let wrong = |error| Refusal::new(format!("the arguments of '{}' are wrong: {error}", request.command));
    serde_json::from_value(arguments).map_err(wrong)
}

impl Adapter {
    /// Does what a request asks for, and returns the answer.
    pub(super) fn answer(&mut self, request: &Request) -> Value {
        let mut answer = json!({ "type": "response", "request_seq": request.seq, "command": request.command });
        match self.carry_out(request) {
            Ok(body) => {
                answer["success"] = json!(true);
                if !body.is_null() {
                    answer["body"] = body;
                }
            }
            Err(refusal) => {
                let text = refusal.text();
                answer["success"] = json!(false);
                answer["message"] = json!(text);
                // Braces would be the names of variables.
                let format = text.replace('{', "(").replace('}', ")");
                answer["body"] = json!({ "error": { "id": 1, "format": format, "showUser": true } });
            }
        }
        answer
    }

    fn carry_out(&mut self, request: &Request) -> Answered {
        match &*request.command {
            "initialize" => Ok(capabilities()),
            "launch" => self.launch(&fields(request)?),
            "attach" => self.attach(&fields(request)?),
            "configurationDone" => self.configured(),
            "disconnect" => self.disconnect(&fields(request)?),
            "terminate" => self.terminate(),
            "setBreakpoints" => self.set_breakpoints(fields(request)?),
            "setFunctionBreakpoints" => self.set_function_breakpoints(fields(request)?),
            "setInstructionBreakpoints" => self.set_instruction_breakpoints(fields(request)?),
            "setExceptionBreakpoints" => self.set_exception_breakpoints(fields(request)?),
            "dataBreakpointInfo" => self.data_breakpoint_info(&fields(request)?),
            "setDataBreakpoints" => self.set_data_breakpoints(fields(request)?),
            "breakpointLocations" => self.breakpoint_locations(&fields(request)?),
            "threads" => self.threads(),
            "modules" => self.modules(),
            "stackTrace" => self.stack_trace(&fields(request)?),
            "scopes" => self.scopes(&fields(request)?),
            "variables" => self.variables(&fields(request)?),
            "setVariable" => self.set_variable(&fields(request)?),
            "evaluate" => self.evaluate(&fields(request)?),
            "exceptionInfo" => self.exception_info(&fields(request)?),
            "continue" => self.go_on(),
            "pause" => self.pause(&fields(request)?),
            "next" => self.step_over(&fields(request)?),
            "stepIn" => self.step_in(&fields(request)?),
            "stepOut" => self.step_out(&fields(request)?),
            "readMemory" => self.read_memory(&fields(request)?),
            "writeMemory" => self.write_memory(&fields(request)?),
            "disassemble" => self.disassemble(&fields(request)?),
            other => Err(Refusal::new(format!("ntrace does not know the request '{other}'"))),
        }
    }
}

/// What this debugger can do beyond what every one can.
fn capabilities() -> Value {
    let mut all = json!({ "exceptionBreakpointFilters": exceptions::filters() });
    for name in [
        "supportsConfigurationDoneRequest",
        "supportsFunctionBreakpoints",
        "supportsConditionalBreakpoints",
        "supportsHitConditionalBreakpoints",
        "supportsLogPoints",
        "supportsInstructionBreakpoints",
        "supportsDataBreakpoints",
        "supportsBreakpointLocationsRequest",
        "supportsEvaluateForHovers",
        "supportsSetVariable",
        "supportsExceptionInfoRequest",
        "supportsSteppingGranularity",
        "supportsDelayedStackTraceLoading",
        "supportsModulesRequest",
        "supportsReadMemoryRequest",
        "supportsWriteMemoryRequest",
        "supportsDisassembleRequest",
        "supportsTerminateRequest",
        "supportTerminateDebuggee",
    ] {
        all[name] = json!(true);
    }
    all
}
