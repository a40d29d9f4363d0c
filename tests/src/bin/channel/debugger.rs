//! A debugger that tests kill: it attaches, reads, writes and detaches, over and over.

use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;

use crossing::channel::{ask, attach, open, reply, stream};
use crossing::{Random, words};
use wire::commands::{Command, Reply};

/// Writes a line when it is at work. What lies at `address` has, after each write, one value in all its bytes.
pub(crate) fn run(process: u32, address: u64, length: usize, seed: u64) {
    let mut random = Random::new(seed);
    let mut file = open();
    let mut kept = Vec::new();
    println!("at work");
    loop {
        if random.one_in(4) {
            file = open();
        }
        let debuggee = attach(&mut file, process).expect("it lives");
        let scratch = vec![random.byte(); length];
        let text = ask(&mut file, Command::Mappings { debuggee }, |told| match told {
            Ok(Reply::Mappings { mappings }) => code_of(mappings).expect("code"),
            other => panic!("{other:?}"),
        });
        let bytes = ask(&mut file, Command::ReadMemory { debuggee, address: text, length: 64 }, |told| match told {
            Ok(Reply::ReadMemory { bytes }) => bytes.to_vec(),
            other => panic!("{other:?}"),
        });
        let commands = [
            (Command::WriteMemory { debuggee, address, bytes: &scratch }, 0),
            (Command::WriteMemory { debuggee, address: text, bytes: &bytes }, 0),
            (Command::ReadMemory { debuggee, address, length: length as u64 }, 0),
            (Command::Detach { debuggee }, 0),
        ];
        file.write_all(&stream(&commands)).expect("the file can be written");
        for _ in commands {
            reply(&mut file, &mut kept, |tag, told| assert!(told.is_ok(), "{tag}: {told:?}"));
        }
    }
}

/// The middle of the first mapping with code.
fn code_of(mappings: &[u8]) -> Option<u64> {
    let words = words(mappings);
    let code = words.chunks_exact(4).find(|mapping| mapping[2] & 4 != 0)?;
    Some(code[0] + (code[1] - code[0]) / 2)
}

/// Writes commands to the channel that is descriptor 3, and leaves the replies to others.
pub(crate) fn write(debuggee: u64, address: u64) {
    // SAFETY: the descriptor was inherited, and nobody else in this process knows it.
    let mut file = unsafe { File::from_raw_fd(3) };
    let read = Command::ReadMemory { debuggee, address, length: 1000 };
    let bytes = stream(&[(read, 0); 20]);
    println!("at work");
    loop {
        file.write_all(&bytes).expect("the file can be written");
    }
}
