//! An editor in few lines: it sends requests, and keeps the events that come meanwhile.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::common::ntrace;

/// A connection to `ntrace dap`.
pub(crate) struct Client {
    adapter: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    sent: i64,
    received: i64,
    events: VecDeque<Value>,
}

impl Client {
    /// Starts the adapter, and begins as Visual Studio Code does.
    pub(crate) fn start() -> Client {
        let mut client = Client::connect();
        let arguments = json!({
            "clientID": "vscode", "clientName": "Visual Studio Code", "adapterID": "ntrace", "pathFormat": "path",
            "linesStartAt1": true, "columnsStartAt1": true, "supportsVariableType": true, "supportsVariablePaging": true,
            "supportsRunInTerminalRequest": true, "locale": "en", "supportsProgressReporting": true,
            "supportsInvalidatedEvent": true, "supportsMemoryReferences": true,
        });
        let body = client.ask("initialize", arguments);
        assert_eq!(body["supportsConfigurationDoneRequest"], true, "{body}");
        client
    }

    pub(crate) fn connect() -> Client {
        let mut adapter = ntrace().arg("dap").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (adapter.stdin.take(), BufReader::new(adapter.stdout.take().unwrap()));
        Client { adapter, input, output, sent: 0, received: 0, events: VecDeque::new() }
    }

    /// Sends bytes as they are.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Sends a request, and returns its answer.
    pub(crate) fn request(&mut self, command: &str, arguments: Value) -> Value {
        self.sent += 1;
        let message = json!({ "seq": self.sent, "type": "request", "command": command, "arguments": arguments });
        let text = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
        loop {
            let message = self.read().expect("the adapter answers");
            if message["type"] == "response" {
                assert_eq!(message["request_seq"], self.sent, "{message}");
                assert_eq!(message["command"], command, "{message}");
                return message;
            }
            self.events.push_back(message);
        }
    }

    /// The body of the answer to a request, which succeeds.
    #[track_caller]
    pub(crate) fn ask(&mut self, command: &str, arguments: Value) -> Value {
        let answer = self.request(command, arguments);
        assert_eq!(answer["success"], true, "{answer}");
        answer["body"].clone()
    }

    /// The text of the refusal of a request.
    #[track_caller]
    pub(crate) fn refused(&mut self, command: &str, arguments: Value) -> String {
        let answer = self.request(command, arguments);
        assert_eq!(answer["success"], false, "{answer}");
        answer["message"].as_str().unwrap().to_owned()
    }

    /// The next event of a name, with its body. Earlier events of other names are passed over.
    #[track_caller]
    pub(crate) fn event(&mut self, name: &str) -> Value {
        loop {
            let event = self.next_event().unwrap_or_else(|| panic!("the adapter ended without the event {name}"));
            if event["event"] == name {
                return event["body"].clone();
            }
            assert!(event["event"] != "terminated" || name == "terminated", "before the event {name}");
        }
    }

    /// The body of the next event of one of the names.
    #[track_caller]
    pub(crate) fn next_of(&mut self, names: &[&str]) -> Value {
        loop {
            let event = self.next_event().expect("an event comes before the adapter ends");
            if names.iter().any(|name| event["event"] == *name) {
                return event["body"].clone();
            }
        }
    }

    /// The next event; `None`: the adapter ended.
    pub(crate) fn next_event(&mut self) -> Option<Value> {
        self.events.pop_front().or_else(|| self.read())
    }

    fn read(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).unwrap();
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        self.received += 1;
        assert_eq!(message["seq"], self.received, "{message}");
        Some(message)
    }

    /// The thread of the next stop, which has this reason.
    #[track_caller]
    pub(crate) fn stop(&mut self, reason: &str) -> i64 {
        let body = self.event("stopped");
        assert_eq!(body["reason"], reason, "{body}");
        body["threadId"].as_i64().unwrap()
    }

    /// The stack of a thread: for each frame its function, its line, and the number of the frame.
    #[track_caller]
    pub(crate) fn stack(&mut self, thread: i64) -> Vec<(String, u64, u64)> {
        let body = self.ask("stackTrace", json!({ "threadId": thread, "startFrame": 0, "levels": 20 }));
        let frames = body["stackFrames"].as_array().unwrap();
        let one = |frame: &Value| {
            let name = frame["name"].as_str().unwrap().to_owned();
            (name, frame["line"].as_u64().unwrap(), frame["id"].as_u64().unwrap())
        };
        frames.iter().map(one).collect()
    }

    /// The function and the line at which a thread is.
    #[track_caller]
    pub(crate) fn place(&mut self, thread: i64) -> (String, u64) {
        let (function, line, _) = self.stack(thread).swap_remove(0);
        (function, line)
    }

    /// Ends the conversation, and waits for the end of the adapter.
    pub(crate) fn leave(mut self) {
        self.ask("disconnect", json!({ "restart": false }));
        self.input = None;
        assert!(self.adapter.wait().unwrap().success());
    }

    /// Closes the connection, and returns the status of the adapter.
    pub(crate) fn hang_up(mut self) -> Option<i32> {
        self.input = None;
        self.adapter.wait().unwrap().code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // An error: it has ended.
        let _ = self.adapter.kill();
        let _ = self.adapter.wait();
    }
}
