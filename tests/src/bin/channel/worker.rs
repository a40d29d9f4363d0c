//! A worker that writes streams to a channel, and knows the correct replies.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crossing::Random;
use crossing::channel::DEVICE;
use wire::commands::{DECLARATIONS, Reply};
use wire::events::{self, Event};
use wire::{Header, Split, split};

use crate::pointers::Torn;
use crate::streams::{self, Known};

/// The most pieces that are read at once: breakpoints may be hit faster than is read.
const READS: usize = 256;
/// The user and group `nobody`.
const NOBODY: u32 = 65534;

/// Writes for `seconds`, as root if the seed is even and as nobody if it is odd; prints its numbers at the end.
pub(crate) fn run(seconds: u64, seed: u64) {
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = Random::new(seed);
    // What an ordinary user may not trace.
    let roots = Sleeper(Command::new("sleep").arg("1000000").spawn().expect("it starts"));
    if seed % 2 == 1 {
        // SAFETY: plain numbers.
        let became = unsafe {
            libc::setgid(NOBODY) == 0 && libc::setuid(NOBODY) == 0 && libc::prctl(libc::PR_SET_DUMPABLE, 1) == 0
        };
        assert!(became, "{}", std::io::Error::last_os_error());
    }
    std::thread::spawn(look_on);
    let mut numbers = BTreeMap::new();
    while Instant::now() < end {
        let mut hostile = Hostile::start(&mut random);
        *numbers.entry(format!("debuggees: {}", hostile.name)).or_default() += 1;
        let mut session = Session::new(&mut numbers, hostile.known(roots.0.id()));
        for _ in 0..random.below(400) {
            if Instant::now() >= end || hostile.has_ended() {
                break;
            }
            session.turn(&mut random);
        }
    }
    for (name, number) in numbers {
        println!("{number} {name}");
    }
}

/// Asks what the kernel tells of the files that are open, whatever is done with them meanwhile.
fn look_on() {
    loop {
        for file in std::fs::read_dir("/proc/self/fdinfo").expect("procfs").flatten() {
            // It may be closed by now.
            let _ = std::fs::read_to_string(file.path());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A process that does nothing. It ends with this, or, where nobody may not end it, with the namespace.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        if self.0.kill().is_ok() {
            let _ = self.0.wait();
        }
    }
}

/// A process that does its worst. It ends with this.
struct Hostile {
    name: &'static str,
    child: Child,
    addresses: Vec<u64>,
}

impl Hostile {
    fn start(random: &mut Random) -> Hostile {
        let name = random.one_of(&["hostile", "arena"]);
        let mut program = Command::new("/proc/self/exe");
        program.arg(name).arg(random.next().to_string());
        let mut child = program.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        let read = BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line);
        read.expect("a line");
        let addresses = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        Hostile { name, child, addresses }
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_some())
    }

    fn known(&self, roots: u32) -> Known {
        let id = u64::from(self.child.id());
        // Its children's numbers follow it.
        Known {
            processes: vec![id, id, id, id + 4, roots.into()],
            addresses: self.addresses.clone(),
            are_sites: self.name == "arena",
            ..Known::default()
        }
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A channel, and what is on its way.
struct Session<'a> {
    file: File,
    torn: Torn,
    known: Known,
    /// Bytes that were written and are not yet a whole message.
    sent: Vec<u8>,
    /// Heads of the messages that are not answered yet.
    asked: VecDeque<Header>,
    /// Bytes that were read and are not yet a whole message.
    told: Vec<u8>,
    numbers: &'a mut BTreeMap<String, u64>,
}

impl Session<'_> {
    fn new(numbers: &mut BTreeMap<String, u64>, known: Known) -> Session<'_> {
        let (sent, asked, told) = (Vec::new(), VecDeque::new(), Vec::new());
        Session { file: open(), torn: Torn::new(), known, sent, asked, told, numbers }
    }

    fn count(&mut self, name: &str, more: u64) {
        *self.numbers.entry(name.to_owned()).or_default() += more;
    }

    /// Writes a stream, in pieces, and reads the replies.
    fn turn(&mut self, random: &mut Random) {
        let bytes = streams::stream(random, &self.known);
        self.count("streams", 1);
        self.count("bytes", bytes.len() as u64);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let most = if random.chance(70) { rest.len() } else { 1 + random.below(rest.len() as u64) as usize };
            let written = match random.below(20) {
                0 => self.torn.write(random, &self.file, &rest[..most]),
                _ => self.file.write(&rest[..most]),
            };
            match written {
                Ok(count) if count > most => {
                    // What stood behind the bytes of a torn buffer went along: nobody knows what it was.
                    return self.reopen("torn");
                }
                Ok(count) => {
                    self.sent.extend(&rest[..count]);
                    rest = &rest[count..];
                    assert!(self.take(), "a stream that can go on no more was written to");
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.read(random),
                Err(error) if error.raw_os_error() == Some(libc::EFAULT) => {}
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    self.sent.extend(&rest[..most]);
                    assert!(!self.take(), "a stream that could go on was ended");
                    self.read(random);
                    return self.reopen("broken");
                }
                Err(error) => panic!("{error}"),
            }
        }
        self.read(random);
        if random.one_in(60) {
            self.reopen("closed");
        } else if random.one_in(60) {
            // Replies of which something is lost in there cannot be told apart any more.
            for _ in 0..4 {
                let _ = self.torn.read(random, &self.file);
            }
            self.reopen("unread");
        }
    }

    /// Takes whole messages from what was sent; returns whether more can follow.
    fn take(&mut self) -> bool {
        loop {
            match split(&self.sent) {
                Ok(Split::Message(message, behind)) => {
                    self.asked.push_back(message.header);
                    let behind = behind.len();
                    self.sent.drain(..self.sent.len() - behind);
                }
                Ok(Split::Incomplete(_)) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Reads everything available, or a part if more keeps coming: replies to all commands, in order, and events.
    fn read(&mut self, random: &mut Random) {
        let mut piece = vec![0; 1 + random.below(1 << 16) as usize];
        for _ in 0..READS {
            match self.file.read(&mut piece) {
                Ok(0) => panic!("a channel has no end"),
                Ok(count) => self.told.extend(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.parse();
                    assert_eq!(self.told, b"", "half a reply");
                    assert!(self.asked.is_empty(), "{:?} was not answered", self.asked.front());
                    return;
                }
                Err(error) => panic!("{error}"),
            }
        }
        self.parse();
    }

    /// Takes the whole messages from what was read.
    fn parse(&mut self) {
        let told = std::mem::take(&mut self.told);
        let mut rest = &told[..];
        while let Split::Message(message, behind) = split(rest).expect("the kernel writes messages") {
            rest = behind;
            let header = message.header;
            let asked = self.asked.front().is_some_and(|asked| (asked.code, asked.tag) == (header.code, header.tag));
            if header.code >= events::FIRST && !asked {
                Event::parse(&message).expect("an event");
                self.count("events", 1);
                continue;
            }
            assert!(asked, "{header:?} answers {:?}", self.asked.front());
            self.asked.pop_front();
            match Reply::parse(&message).expect("a reply") {
                Ok(reply) => {
                    if let Reply::Attach { debuggee } = reply {
                        self.known.debuggees.push(debuggee);
                    }
                    let declared = DECLARATIONS.iter().find(|declared| declared.code == header.code);
                    self.count(&format!("replies: {}", declared.expect("a command").name), 1);
                }
                Err(failure) => self.count(&format!("replies: {:?}", failure.status), 1),
            }
        }
        self.told = rest.to_vec();
    }

    fn reopen(&mut self, why: &str) {
        self.count(&format!("sessions: {why}"), 1);
        self.file = open();
        self.sent.clear();
        self.asked.clear();
        self.told.clear();
        self.known.debuggees.clear();
    }
}

fn open() -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE).expect("the device opens")
}
