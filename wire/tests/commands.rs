//! Commands: each goes through to its function and its reply comes back; what follows one that fails.

mod buffer;

use buffer::{message, words};
use wire::commands::{Command, Reply, Sequence, Serve};
use wire::events::Event;
use wire::{Error, Failure, Header, Split, Status, encode, flag, split};

/// Remembers what it was asked, and fails where it is told to.
#[derive(Default)]
struct Server {
    asked: Vec<String>,
    fails: bool,
    bytes: Vec<u8>,
}

impl Server {
    fn note(&mut self, what: String) -> Result<(), Failure> {
        self.asked.push(what);
        if self.fails { Err(Failure::new(Status::NoProcess, 9)) } else { Ok(()) }
    }
}

impl Serve for Server {
    fn hello(&mut self) -> Result<(u64, u64, u64), Failure> {
        self.note("hello".into())?;
        Ok((wire::VERSION, 62, 4096))
    }
    fn describe(&mut self) -> Result<(&[u8],), Failure> {
        let mut text = String::new();
        wire::manual::listing(&mut text).expect("a string takes all");
        self.bytes = text.into_bytes();
        Ok((&self.bytes,))
    }
    fn attach(&mut self, process: u64, options: u64) -> Result<(u64,), Failure> {
        self.note(format!("attach {process} {options}"))?;
        Ok((7,))
    }
    fn detach(&mut self, debuggee: u64) -> Result<(), Failure> {
        self.note(format!("detach {debuggee}"))
    }
    fn insert(&mut self, debuggee: u64, sites: &[u8]) -> Result<(u64, &[u8]), Failure> {
        self.note(format!("insert {debuggee} {}", sites.len()))?;
        Ok((1, &[]))
    }
    fn resume(&mut self, thread: u64) -> Result<(), Failure> {
        self.note(format!("resume {thread}"))
    }
    fn read_memory(&mut self, _: u64, address: u64, length: u64) -> Result<(&[u8],), Failure> {
        self.bytes = (0..length).map(|at| (address + at) as u8).collect();
        Ok((&self.bytes,))
    }
    fn write_memory(&mut self, debuggee: u64, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.note(format!("write {debuggee} {address} {bytes:?}"))
    }
}

/// Serves all of a stream and gives the replies with their tags.
fn serve(server: &mut Server, mut stream: &[u8]) -> Vec<(u64, String)> {
    let (mut sequence, mut replies) = (Sequence::default(), Vec::new());
    while let Ok(Split::Message(message, rest)) = split(stream) {
        sequence.serve(server, &message, &mut replies).unwrap();
        stream = rest;
    }
    let (mut told, mut rest) = (Vec::new(), &replies[..]);
    while let Ok(Split::Message(message, behind)) = split(rest) {
        told.push((message.header.tag, format!("{:?}", Reply::parse(&message).unwrap())));
        rest = behind;
    }
    assert_eq!(rest, b"");
    told
}

fn stream(commands: &[(Command<'_>, u16)]) -> Vec<u8> {
    let mut buffer = Vec::new();
    for (tag, (command, flags)) in commands.iter().enumerate() {
        command.encode(&mut buffer, tag as u64, *flags).unwrap();
    }
    buffer
}

#[test]
fn a_command_calls_its_function_and_the_reply_has_its_tag() {
    let mut server = Server::default();
    let commands = [
        (Command::Attach { process: 12, options: 1 }, 0),
        (Command::WriteMemory { debuggee: 7, address: 0x1000, bytes: b"abc" }, 0),
        (Command::ReadMemory { debuggee: 7, address: 0x10, length: 3 }, 0),
        (Command::Detach { debuggee: 7 }, 0),
    ];
    let replies = serve(&mut server, &stream(&commands));
    assert_eq!(server.asked, ["attach 12 1", "write 7 4096 [97, 98, 99]", "detach 7"]);
    let expected =
        ["Ok(Attach { debuggee: 7 })", "Ok(WriteMemory)", "Ok(ReadMemory { bytes: [16, 17, 18] })", "Ok(Detach)"];
    assert_eq!(
        replies,
        expected.into_iter().map(str::to_owned).enumerate().map(|(n, s)| (n as u64, s)).collect::<Vec<_>>()
    );
}

#[test]
fn a_command_behind_one_that_failed_is_carried_out_but_where_the_sender_said_then() {
    let resume = |thread| Command::Resume { thread };
    let mut server = Server { fails: true, ..Server::default() };
    let commands = [(resume(1), flag::THEN), (resume(2), flag::THEN), (resume(3), 0), (resume(4), 0), (resume(5), 0)];
    let replies = serve(&mut server, &stream(&commands));
    assert_eq!(server.asked, ["resume 1", "resume 4", "resume 5"]);
    let skipped = "Err(Failure { status: Skipped, detail: 0 })";
    let failed = "Err(Failure { status: NoProcess, detail: 9 })";
    let told: Vec<&str> = replies.iter().map(|(_, reply)| reply.as_str()).collect();
    assert_eq!(told, [failed, skipped, skipped, failed, failed]);
    let mut server = Server::default();
    serve(&mut server, &stream(&commands));
    assert_eq!(server.asked.len(), 5);
}

#[test]
fn what_is_no_command_is_answered_and_the_next_one_carried_out() {
    let mut server = Server::default();
    let mut bytes = words(&[2 | 0x7777 << 32, 5]);
    bytes.extend(words(&[2 | 0x10 << 32, 6]));
    bytes.extend(words(&[4 | 0x11 << 32, 7, 1, 2]));
    bytes.extend(stream(&[(Command::Detach { debuggee: 3 }, 0)]));
    let replies = serve(&mut server, &bytes);
    assert_eq!(server.asked, ["detach 3"]);
    assert_eq!(replies[1], (6, "Err(Failure { status: Malformed, detail: 2 })".into()));
    assert_eq!(replies[2], (7, "Err(Failure { status: Malformed, detail: 0 })".into()));
    assert_eq!(replies[3], (0, "Ok(Detach)".into()));
}

#[test]
fn an_unknown_command_is_answered_with_its_code() {
    let mut replies = Vec::new();
    let bytes = words(&[2 | 0x7777 << 32, 5]);
    Sequence::default().serve(&mut Server::default(), &message(&bytes), &mut replies).unwrap();
    assert_eq!(replies, words(&[4 | 0x7777 << 32, 5, Status::Unknown as u64, 0x7777]));
    // Nobody who reads it knows the code either.
    assert_eq!(Reply::parse(&message(&replies)), Ok(Err(Failure::new(Status::Unknown, 0x7777))));
}

#[test]
fn every_command_and_every_event_is_read_as_it_was_written() {
    let commands = [
        Command::Hello {},
        Command::Describe {},
        Command::Attach { process: 1, options: 2 },
        Command::Insert { debuggee: 1, sites: &[3; 48] },
        Command::SetRegisters { thread: 4, registers: &[5; 27] },
    ];
    for command in commands {
        let mut buffer = Vec::new();
        command.encode(&mut buffer, 9, 0).unwrap();
        assert_eq!(Command::parse(&message(&buffer)), Ok(command));
    }
    let events = [
        Event::Lost { count: 3 },
        Event::Hit { time: 1, debuggee: 2, thread: 3, address: 4, count: 5, registers: b"regs", memory: b"bytes" },
        Event::Ended { time: 1, debuggee: 2, status: 0x100 },
    ];
    for event in events {
        let mut buffer = Vec::new();
        event.encode(&mut buffer, 10).unwrap();
        let message = message(&buffer);
        assert_eq!((message.header.tag, Event::parse(&message)), (10, Ok(event)));
    }
}

#[test]
fn a_reply_with_a_status_that_nobody_has_is_an_error() {
    let bytes = words(&[4 | 0x11 << 32, 1, 999, 0]);
    assert_eq!(Reply::parse(&message(&bytes)), Err(Error::Status(999)));
    assert_eq!(Event::parse(&message(&bytes)), Err(Error::Code(0x11)));
}

#[test]
fn describe_lists_every_declaration_in_a_line_of_its_own() {
    let mut server = Server::default();
    let mut replies = Vec::new();
    let bytes = stream(&[(Command::Describe {}, 0)]);
    Sequence::default().serve(&mut server, &message(&bytes), &mut replies).unwrap();
    let Ok(Ok(Reply::Describe { vocabulary })) = Reply::parse(&message(&replies)) else { panic!("no reply") };
    let text = std::str::from_utf8(vocabulary).unwrap();
    assert_eq!(text.lines().count(), wire::commands::DECLARATIONS.len() + wire::events::DECLARATIONS.len());
    assert!(
        text.contains("command 0x0040 read_memory debuggee:word address:word length:word -> bytes:blob\n"),
        "{text}"
    );
    assert!(text.contains("event 0x8000 lost count:word\n"), "{text}");
}

#[test]
fn a_command_without_a_function_is_not_supported() {
    let replies = serve(&mut Server::default(), &stream(&[(Command::Step { thread: 1 }, 0)]));
    assert_eq!(replies, [(0, "Err(Failure { status: Unsupported, detail: 0 })".to_owned())]);
}

#[test]
fn a_head_of_flags_and_a_reply_of_none() {
    let mut replies = Vec::new();
    let mut bytes = Vec::new();
    encode(&mut bytes, Header { code: 1, flags: 0xffff, tag: u64::MAX }, &[]).unwrap();
    Sequence::default().serve(&mut Server::default(), &message(&bytes), &mut replies).unwrap();
    assert_eq!(message(&replies).header, Header { code: 1, flags: 0, tag: u64::MAX });
}
