use wire::commands::{Command, Reply, Sequence, Serve};
use wire::events::Event;
use wire::site::{Site, records};
use wire::{Error, Failure, Split, Status, split};

use super::generate;
use crate::generate::Stream;

/// Does some of what it is asked, as its words tell.
#[derive(Default)]
struct Server {
    memory: Vec<u8>,
}

impl Serve for Server {
    fn attach(&mut self, process: u64, options: u64) -> Result<(u64,), Failure> {
        if options & 1 == 0 { Ok((process,)) } else { Err(Failure::new(Status::NoProcess, process)) }
    }

    fn insert(&mut self, _: u64, blob: &[u8]) -> Result<(u64, &[u8]), Failure> {
        for record in records(blob).ok_or(Status::Malformed)?.iter() {
            if let Ok(site) = Site::from_bytes(record) {
                assert_eq!(site.bytes(), *record, "a record that was accepted is its site's");
            }
        }
        Ok((0, &[]))
    }

    fn write_memory(&mut self, _: u64, _: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.memory = bytes.to_vec();
        Ok(())
    }

    fn read_memory(&mut self, _: u64, _: u64, length: u64) -> Result<(&[u8],), Failure> {
        self.memory.get(..length as usize).map(|bytes| (bytes,)).ok_or(Failure::new(Status::Memory, length))
    }
}

/// One side of a channel: keeps what is incomplete, serves what is whole.
#[derive(Default)]
struct Channel {
    server: Server,
    sequence: Sequence,
    kept: Vec<u8>,
    replies: Vec<u8>,
    tags: Vec<u64>,
    ended: Option<Error>,
}

impl Channel {
    fn write(&mut self, bytes: &[u8]) {
        self.kept.extend(bytes);
        let kept = std::mem::take(&mut self.kept);
        let mut rest = &kept[..];
        while self.ended.is_none() {
            match split(rest) {
                Ok(Split::Message(message, behind)) => {
                    self.tags.push(message.header.tag);
                    let Ok(()) = self.sequence.serve(&mut self.server, &message, &mut self.replies) else {
                        panic!("no reply is too long here: {message:?}")
                    };
                    rest = behind;
                }
                Ok(Split::Incomplete(wanted)) => {
                    assert!(wanted > rest.len(), "{wanted} bytes are wanted, and {} are there", rest.len());
                    break;
                }
                Err(error) => self.ended = Some(error),
            }
        }
        self.kept = rest.to_vec();
    }
}

/// A stream of commands is answered alike however its writes are cut: one reply for each message, in order, with its tag; and what
/// either side reads of a message, written again, is the message.
pub fn channel(data: &[u8]) {
    let Some(Stream { bytes, cuts }) = generate(data) else { return };
    let mut whole = Channel::default();
    whole.write(&bytes);
    let mut pieces = Channel::default();
    let mut rest = &bytes[..];
    for cut in cuts {
        let (piece, behind) = rest.split_at(usize::from(cut).min(rest.len()));
        pieces.write(piece);
        rest = behind;
    }
    pieces.write(rest);
    assert_eq!(whole.replies, pieces.replies, "the same replies");
    assert_eq!((whole.ended, &whole.kept), (pieces.ended, &pieces.kept), "and the same end");

    let mut replies = &whole.replies[..];
    for tag in &whole.tags {
        let Ok(Split::Message(message, rest)) = split(replies) else { panic!("a reply is missing: {replies:?}") };
        assert_eq!(message.header.tag, *tag);
        if let Err(error) = Reply::parse(&message) {
            panic!("{error}: {message:?}");
        }
        replies = rest;
    }
    assert!(replies.is_empty(), "a reply too many");
    written_again(&bytes);
}

fn written_again(mut rest: &[u8]) {
    while let Ok(Split::Message(message, behind)) = split(rest) {
        let (tag, flags) = (message.header.tag, message.header.flags);
        let mut buffer = Vec::new();
        if let Ok(command) = Command::parse(&message) {
            let Ok(()) = command.encode(&mut buffer, tag, flags) else { panic!("{command:?}") };
            let Ok(Split::Message(again, [])) = split(&buffer) else { panic!("{command:?}") };
            assert_eq!((Command::parse(&again), again.header), (Ok(command), message.header));
        } else if let Ok(event) = Event::parse(&message) {
            let Ok(()) = event.encode(&mut buffer, tag) else { panic!("{event:?}") };
            let Ok(Split::Message(again, [])) = split(&buffer) else { panic!("{event:?}") };
            assert_eq!(Event::parse(&again), Ok(event));
        }
        rest = behind;
    }
}
