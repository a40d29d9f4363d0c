//! The module that docs/extending.md makes has a command more and an event more, which say of a process what the tutorial says.
//!
//! Runs alone: other tests need the module as it is.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command as Program, Stdio};

use crossing::channel::{ask, attach, open, stream};
use crossing::loading::{load, unload};
use crossing::{in_turn, skip};
use wire::commands::{Command, Reply};
use wire::events::Event;
use wire::{Field, Header, Kind, Split, Status, encode, split};

/// The variables with the paths of the tutorial's module and of this checkout's.
const TUTORIAL: &str = "NTRACE_TUTORIAL";
const MODULE: &str = "NTRACE_MODULE";

/// The codes of the new command and the new event.
const PULL: u16 = 0x50;
const MEOW: u16 = 0x800d;
const HELD: u16 = 0x8002;

/// The tutorial's module in the place of this checkout's, until it is dropped.
struct Extended<'a>(&'a File);

impl Drop for Extended<'_> {
    fn drop(&mut self) {
        unload();
        load(self.0);
    }
}

/// The next message with a code, in `kept`. Messages before it are passed over.
fn next<R>(file: &mut File, kept: &mut Vec<u8>, code: u16, look: impl FnOnce(&wire::Message<'_>) -> R) -> R {
    loop {
        if let Split::Message(message, rest) = split(kept).expect("the kernel writes messages") {
            let (rest, is_it) = (rest.len(), message.header.code == code);
            if is_it {
                let looked = look(&message);
                kept.drain(..kept.len() - rest);
                return looked;
            }
            kept.drain(..kept.len() - rest);
            continue;
        }
        let mut piece = [0; 4096];
        let count = file.read(&mut piece).expect("the file can be read");
        kept.extend(&piece[..count]);
    }
}

/// Nanoseconds of the monotonic clock.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the function writes to `time`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

crossing::channel_tests! {
    a_process_whose_tail_is_pulled_tells_its_file_and_a_held_thread_meows_when_it_goes_on {
        let name = "a_process_whose_tail_is_pulled_tells_its_file_and_a_held_thread_meows_when_it_goes_on";
        let (Some(tutorial), Some(module)) = (std::env::var_os(TUTORIAL), std::env::var_os(MODULE)) else {
            return skip(name, format!("no {TUTORIAL}, which `cargo xtask vm test --module` sets"));
        };
        let [tutorial, module] = [tutorial, module].map(|path| File::open(path).expect("the module's file"));
        unload();
        load(&tutorial);
        let _extended = Extended(&module);
        let (mut file, mut kept) = (open(), Vec::new());
        let listing = ask(&mut file, Command::Describe {}, |told| match told {
            Ok(Reply::Describe { vocabulary }) => String::from_utf8_lossy(vocabulary).into_owned(),
            other => panic!("{other:?}"),
        });
        assert!(listing.contains("command 0x0050 pull debuggee:word -> tail:blob\n"), "{listing}");
        assert!(listing.contains("event 0x800d meow debuggee:word thread:word held:word\n"), "{listing}");

        let cat = || Program::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut cat = in_turn(cat).expect("a cat");
        let debuggee = attach(&mut file, cat.id()).unwrap();
        let mut pull = Vec::new();
        encode(&mut pull, Header { code: PULL, flags: 0, tag: 1 }, &[Field::Word(debuggee)]).unwrap();
        file.write_all(&pull).unwrap();
        next(&mut file, &mut kept, PULL, |reply| {
            let [status, _, tail] = reply.fields(&[Kind::Word, Kind::Word, Kind::Blob]).unwrap();
            assert_eq!((status.word(), tail.blob()), (Status::Done as u64, &b"/bin/cat"[..]));
        });

        file.write_all(&stream(&[(Command::Hold { debuggee, thread: 0 }, 0)])).unwrap();
        let (begun, held) = next(&mut file, &mut kept, HELD, |event| match Event::parse(event) {
            Ok(Event::Held { time, thread, .. }) => (time, thread),
            other => panic!("{other:?}"),
        });
        file.write_all(&stream(&[(Command::Resume { thread: held }, 0)])).unwrap();
        next(&mut file, &mut kept, MEOW, |event| {
            let [whose, thread, nanoseconds] = event.fields(&[Kind::Word; 3]).unwrap().map(Field::word);
            assert_eq!((whose, thread), (debuggee, held));
            let most = now() - begun;
            assert!((1..=most).contains(&nanoseconds), "held for {nanoseconds} of {most} ns");
        });

        let mut answer = [0; 5];
        cat.stdin.take().unwrap().write_all(b"milk\n").unwrap();
        cat.stdout.take().unwrap().read_exact(&mut answer).unwrap();
        assert_eq!((&answer, cat.wait().unwrap().code()), (b"milk\n", Some(0)));
    }
}
