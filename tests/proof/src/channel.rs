//! Everything that wire offers: a stream of commands served, its replies and events read and shown.

use core::fmt::{self, Write};
use core::hint::black_box;

use wire::commands::{Command, Reply, Sequence, Serve};
use wire::events::Event;
use wire::site::{Site, records};
use wire::{Failure, Sink, Split, blob, manual, split};

use crate::{get_register, set_register, write_memory};

struct Out;

impl Sink for Out {
    type Error = u64;

    fn put(&mut self, bytes: &[u8]) -> Result<(), u64> {
        match write_memory(0, bytes.as_ptr(), bytes.len()) {
            0 => Ok(()),
            error => Err(error),
        }
    }
}

impl Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes()).map_err(|_| fmt::Error)
    }
}

/// Answers by chance.
struct Server([u8; 64]);

impl Server {
    fn done(&self) -> Result<(), Failure> {
        match wire::Status::from_number(get_register(0)) {
            None | Some(wire::Status::Done) => Ok(()),
            Some(status) => Err(Failure::new(status, get_register(1))),
        }
    }

    fn word(&self) -> Result<(u64,), Failure> {
        self.done().map(|()| (get_register(2),))
    }

    fn blob(&self) -> Result<(&[u8],), Failure> {
        self.done().map(|()| (&self.0[..],))
    }
}

impl Serve for Server {
    fn hello(&mut self) -> Result<(u64, u64, u64), Failure> {
        Ok((wire::VERSION, get_register(3), get_register(4)))
    }
    fn describe(&mut self) -> Result<(&[u8],), Failure> {
        self.blob()
    }
    fn detach(&mut self, _: u64) -> Result<(), Failure> {
        self.done()
    }
    fn insert(&mut self, _: u64, blob: &[u8]) -> Result<(u64, &[u8]), Failure> {
        let found = records(blob).unwrap_or_default().iter().filter_map(|record| Site::from_bytes(record).ok());
        Ok((found.map(|site| u64::from(site.bytes()[0])).sum(), &self.0))
    }
    fn remove(&mut self, _: u64, addresses: &[u8]) -> Result<(u64,), Failure> {
        let addresses = blob::words(addresses).map_err(|_| Failure::new(wire::Status::Malformed, 0))?;
        addresses.fold(self.word(), |sum, address| sum.map(|(sum,)| (sum ^ address,)))
    }
    fn read_memory(&mut self, _: u64, _: u64, _: u64) -> Result<(&[u8],), Failure> {
        self.blob()
    }
    fn write_memory(&mut self, _: u64, _: u64, _: &[u8]) -> Result<(), Failure> {
        self.done()
    }
}

/// What a kernel does with it: commands are split off, carried out and listed.
///
/// # Safety
/// `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wire_serve(bytes: *const u8, length: usize) -> u64 {
    // SAFETY: the caller's promise.
    let mut stream = unsafe { core::slice::from_raw_parts(bytes, length) };
    let (mut server, mut sequence) = (Server([7; 64]), Sequence::default());
    while let Ok(Split::Message(message, rest)) = split(stream) {
        stream = rest;
        set_register(0, u64::from(sequence.serve(&mut server, &message, &mut Out).is_ok()));
    }
    u64::from(manual::listing(&mut Out).is_ok())
}

/// All of it.
///
/// # Safety
/// `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wire_everything(bytes: *const u8, length: usize) -> u64 {
    // SAFETY: the caller's promise.
    let mut stream = unsafe { core::slice::from_raw_parts(bytes, length) };
    let (mut server, mut sequence) = (Server([7; 64]), Sequence::default());
    loop {
        match split(stream) {
            Ok(Split::Message(message, rest)) => {
                stream = rest;
                let served = sequence.serve(&mut server, &message, &mut Out);
                set_register(0, u64::from(served.is_ok()));
                if let Ok(command) = Command::parse(&message) {
                    let _ = black_box(command.encode(&mut Out, 1, 1));
                }
                if let Ok(event) = Event::parse(&message) {
                    let _ = black_box(event.encode(&mut Out, 1));
                }
                match black_box(Reply::parse(&message)) {
                    Ok(Ok(Reply::Insert { failures, .. })) => {
                        black_box(blob::failures(failures).into_iter().flatten().filter_map(Result::ok).last());
                    }
                    Ok(Ok(Reply::Counts { counts })) => {
                        black_box(blob::counts(counts).into_iter().flatten().flatten().last());
                    }
                    Ok(Ok(Reply::Mappings { mappings })) => {
                        black_box(blob::mappings(mappings).into_iter().flatten().last());
                    }
                    _ => {}
                }
            }
            Ok(Split::Incomplete(wanted)) => return wanted as u64,
            Err(error) => {
                let _ = black_box(write!(Out, "{error}"));
                let _ = black_box(manual::listing(&mut Out));
                let _ = black_box(manual::page(&mut Out));
                return 0;
            }
        }
    }
}
