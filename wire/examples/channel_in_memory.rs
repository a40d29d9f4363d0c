//! Both sides of a channel in one program: a client asks for breakpoints and their counts, a server carries the commands out and answers.
//!
//! The kernel module is such a server, and /dev/ntrace is its channel. Here two vectors are the channel's two streams.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};

use wire::commands::{Command, Reply, Sequence, Serve};
use wire::events::Event;
use wire::site::{Condition, Memory, Site, action, records};
use wire::{Failure, Split, Status, blob, events, flag, split};

/// A server with one debuggee, whose breakpoints it only keeps.
#[derive(Default)]
struct Server {
    sites: BTreeMap<u64, Option<Condition>>,
    /// The blob of the last reply.
    reply: Vec<u8>,
}

impl Serve for Server {
    fn insert(&mut self, _debuggee: u64, sites: &[u8]) -> Result<(u64, &[u8]), Failure> {
        let (mut inserted, mut failures) = (0, Vec::new());
        for (index, record) in records(sites).ok_or(Status::Malformed)?.iter().enumerate() {
            match Site::from_bytes(record) {
                Ok(site) if !self.sites.contains_key(&site.address) => {
                    self.sites.insert(site.address, site.condition);
                    inserted += 1;
                }
                Ok(_) => failures.extend([index as u64, Status::Exists as u64, 0]),
                Err(failure) => failures.extend([index as u64, failure.status as u64, failure.detail]),
            }
        }
        self.reply = blob::from_words(&failures);
        Ok((inserted, &self.reply))
    }

    fn counts(&mut self, _debuggee: u64, addresses: &[u8]) -> Result<(&[u8],), Failure> {
        let addresses = blob::words(addresses).map_err(|_| Status::Malformed)?;
        let count = |address| if self.sites.contains_key(&address) { 0 } else { u64::MAX };
        self.reply = blob::from_words(&addresses.map(count).collect::<Vec<_>>());
        Ok((&self.reply,))
    }
}

/// Carries out all commands of a stream, and tells of a process that ends.
fn serve(mut commands: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let (mut server, mut sequence, mut told) = (Server::default(), Sequence::default(), Vec::new());
    while let Split::Message(message, behind) = split(commands)? {
        sequence.serve(&mut server, &message, &mut told)?;
        commands = behind;
    }
    Event::Ended { time: 0, debuggee: 1, status: 0 }.encode(&mut told, 1)?;
    Ok(told)
}

pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let site = Site { address: 0x40_1000, actions: action::HOLD, memory: Memory::NONE, condition: None };
    let sites = [site.bytes(), site.bytes()].concat();
    let addresses = blob::from_words(&[0x40_1000, 0x40_2000]);
    let mut commands = Vec::new();
    // The second command is carried out only if the first succeeds.
    Command::Insert { debuggee: 1, sites: &sites }.encode(&mut commands, 1, flag::THEN)?;
    Command::Counts { debuggee: 1, addresses: &addresses }.encode(&mut commands, 2, 0)?;
    Command::Resume { thread: 1234 }.encode(&mut commands, 3, 0)?;

    let told = serve(&commands)?;
    let mut rest = told.as_slice();
    while let Split::Message(message, behind) = split(rest)? {
        rest = behind;
        if message.header.code >= events::FIRST {
            writeln!(out, "event: {:?}", Event::parse(&message)?)?;
            continue;
        }
        write!(out, "reply to command {}: ", message.header.tag)?;
        match Reply::parse(&message)? {
            Ok(Reply::Insert { inserted, failures }) => {
                let failures = blob::failures(failures)?.collect::<Result<Vec<_>, _>>()?;
                writeln!(out, "{inserted} inserted, not set: {failures:?}")?;
            }
            Ok(Reply::Counts { counts }) => writeln!(out, "{:?}", blob::counts(counts)?.collect::<Vec<_>>())?,
            Ok(reply) => writeln!(out, "{reply:?}")?,
            Err(failure) => writeln!(out, "{failure}")?,
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout())
}
