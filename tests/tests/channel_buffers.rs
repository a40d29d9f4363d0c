//! The channel's buffer of events: its modes, what is lost and what waits, and when a reader is woken.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, read_to_string};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Mutex;

use crossing::line::{Line, whole};
use crossing::ring::Ring;
use crossing::victim::Victim;
use crossing::{in_turn, on_one_processor};
use wire::buffer::{LEAST, Mode};
use wire::commands::{Command, Reply};
use wire::events::{self, Event};
use wire::site::{Memory, Site, action};
use wire::{Failure, Split, Status, split};

/// Threads of `threads`.
const THREADS: u64 = 3;

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

fn calls(number: u64) -> u64 {
    (1..=number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(step))))
}

/// Threads that call `leaf` so often each.
fn threads(number: u64) -> u64 {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..THREADS).map(|_| scope.spawn(move || calls(number))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).fold(0, u64::wrapping_add)
    })
}

/// Makes processes one after the other, each of which calls `leaf` once.
fn processes(number: u64) -> u64 {
    for step in 0..number {
        // SAFETY: the child calls nothing that another thread may hold.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let _ = leaf(step);
            // SAFETY: it ends the child.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: the status is this function's.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    }
    number
}

fn set(line: &mut Line, mode: Mode, size: u64, mark: u64) {
    assert_eq!(line.done(Command::Buffer { mode: mode as u64, size, mark }), Ok(()));
}

fn trace(line: &mut Line, process: u32, options: u64) -> u64 {
    let debuggee = line.attach(process, options).unwrap();
    let address = leaf as *const () as u64;
    let site = Site { address, actions: action::RECORD, memory: Memory::NONE, condition: None };
    line.ask(Command::Insert { debuggee, sites: &site.bytes() }, |told| {
        assert_eq!(told, Ok(Reply::Insert { inserted: 1, failures: &[] }));
    });
    debuggee
}

/// A traced process with a breakpoint at `leaf` that records.
fn start(work: fn(u64) -> u64, mode: Mode, size: u64) -> (Victim, Line, u64) {
    let victim = Victim::start(work);
    let mut line = Line::open();
    set(&mut line, mode, size, 0);
    let debuggee = trace(&mut line, victim.id(), 0);
    // SAFETY: it sets a flag of an open file.
    assert_eq!(unsafe { libc::fcntl(line.file().as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }, 0);
    (victim, line, debuggee)
}

/// A field of the file's state.
fn field(line: &Line, name: &str) -> String {
    let info = read_to_string(format!("/proc/self/fdinfo/{}", line.file().as_raw_fd())).unwrap();
    let found = info.lines().find_map(|line| line.strip_prefix(&format!("ntrace-{name}:\t")).map(str::to_owned));
    found.unwrap_or_else(|| panic!("no {name} in {info}"))
}

/// Sleeps until this number of threads waits for room.
fn wait_for_waiting(line: &Line, threads: u64) {
    while field(line, "waiting") != threads.to_string() {
        std::thread::yield_now();
    }
}

fn poll(line: &Line, most: libc::c_int) -> bool {
    let mut asked = libc::pollfd { fd: line.file().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one is there.
    assert_ne!(unsafe { libc::poll(&mut asked, 1, most) }, -1);
    asked.revents & libc::POLLIN != 0
}

/// What was read of a channel.
#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    /// The tag of the last event.
    last: u64,
    hits: u64,
    lost: u64,
    /// The numbers of hits that were told.
    numbers: BTreeSet<(u64, u64)>,
    /// The number of the last hit of each thread. Those of different threads may be told in another order.
    of: BTreeMap<u64, u64>,
    ended: u64,
    forked: u64,
    replies: u64,
    /// Events but for those that tell of lost ones.
    told: u64,
}

impl Seen {
    /// Reads what there is, at most `piece` bytes at once. Each event has the number behind the last one, but for lost ones, whose number tells how
    /// many are missing. Where events `jump`, all but hits come before older hits.
    fn read(&mut self, line: &Line, piece: usize, jump: bool) {
        let mut bytes = vec![0; piece];
        loop {
            match line.file().read(&mut bytes) {
                Ok(count) => self.bytes.extend(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
            while self.one(jump) {}
        }
    }

    fn one(&mut self, jump: bool) -> bool {
        let Ok(Split::Message(message, rest)) = split(&self.bytes) else { return false };
        if message.header.code < events::FIRST {
            self.replies += 1;
            let left = rest.len();
            self.bytes.drain(..self.bytes.len() - left);
            return true;
        }
        let tag = message.header.tag;
        let mut step = 1;
        self.told += 1;
        let event = Event::parse(&message).unwrap();
        match event {
            Event::Hit { debuggee, thread, count, .. } => {
                self.hits += 1;
                let of = self.of.entry(thread).or_default();
                assert!(count > *of, "{count} after {of}");
                *of = count;
                assert!(self.numbers.insert((debuggee, count)));
            }
            Event::Lost { count } => {
                self.told -= 1;
                self.lost += count;
                step = count;
            }
            Event::Ended { .. } => self.ended += 1,
            Event::Forked { .. } => self.forked += 1,
            Event::ThreadStarted { .. } | Event::ThreadEnded { .. } | Event::Executed { .. } => {}
            other => panic!("{other:?}"),
        }
        let is_early = jump && !matches!(event, Event::Hit { .. } | Event::Lost { .. });
        assert!(jump || tag == self.last + step, "{event:?}");
        if !is_early {
            assert!(tag > self.last, "{event:?} {tag} after {}", self.last);
            self.last = tag;
        }
        let left = rest.len();
        self.bytes.drain(..self.bytes.len() - left);
        true
    }

    /// Reads until `all` hits were told or lost.
    fn read_until(&mut self, line: &Line, piece: usize, all: u64) {
        loop {
            self.read(line, piece, false);
            if self.hits + self.lost >= all {
                return;
            }
            poll(line, -1);
        }
    }
}

crossing::channel_tests! {
    values_that_are_none_are_named {
        let mut line = Line::open();
        for (mode, size, mark, wrong) in [(3, 0, 0, 0), (2, LEAST - 8, 0, 1), (0, LEAST + 1, 0, 1), (1, LEAST, LEAST + 1, 2)] {
            let told = line.done(Command::Buffer { mode, size, mark });
            assert_eq!(told, Err(Failure::new(Status::Value, wrong)));
        }
        assert_eq!(field(&line, "buffer"), "drop");
        set(&mut line, Mode::Lossless, LEAST, 0);
        assert_eq!(field(&line, "buffer"), "lossless");
    }

    lossless_loses_no_hit_of_any_thread_however_slow_the_reader_is {
        const CALLS: u64 = 300;
        let (mut victim, line, _) = start(threads, Mode::Lossless, LEAST);
        victim.order(CALLS);
        let mut seen = Seen::default();
        // The reader takes nothing before all threads wait, and little then.
        for _ in 0..4 {
            wait_for_waiting(&line, THREADS);
            let mut some = [0; 1000];
            let count = line.file().read(&mut some).unwrap();
            seen.bytes.extend(&some[..count]);
        }
        while seen.one(false) {}
        seen.read_until(&line, 500, THREADS * CALLS);
        assert_eq!((seen.hits, seen.lost), (THREADS * CALLS, 0));
        assert_eq!(victim.answer(), calls(CALLS).wrapping_mul(THREADS));
        assert_eq!(field(&line, "waiting"), "0");
    }

    lossless_holds_for_a_ring_whose_reader_makes_no_call {
        const CALLS: u64 = 300;
        let (mut victim, line, _) = start(calls, Mode::Lossless, LEAST);
        let ring = Ring::map(line.file(), 1).unwrap();
        victim.order(CALLS);
        for number in 1..=CALLS {
            let bytes = loop {
                match ring.take() {
                    Some(bytes) => break bytes,
                    None => std::thread::yield_now(),
                }
            };
            let message = whole(&bytes);
            let event = Event::parse(&message);
            assert_eq!(message.header.tag, number);
            assert!(matches!(event, Ok(Event::Hit { count, .. }) if count == number), "{event:?}");
        }
        assert_eq!(victim.answer(), calls(CALLS));
    }

    lossless_follows_every_child_though_nobody_reads_for_a_while {
        const CHILDREN: u64 = 8;
        let mut victim = Victim::start(processes);
        let mut line = Line::open();
        set(&mut line, Mode::Lossless, LEAST, 0);
        trace(&mut line, victim.id(), wire::commands::option::CHILDREN);
        // SAFETY: it sets a flag of an open file.
        assert_eq!(unsafe { libc::fcntl(line.file().as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }, 0);
        victim.order(CHILDREN);
        let mut seen = Seen::default();
        while seen.hits < CHILDREN || seen.ended < CHILDREN {
            poll(&line, -1);
            seen.read(&line, 100, false);
        }
        assert_eq!((seen.hits, seen.lost, seen.forked), (CHILDREN, 0, CHILDREN));
        assert_eq!(victim.answer(), CHILDREN);
    }

    drop_loses_the_latest_and_tells_their_exact_number_without_a_further_hit {
        const CALLS: u64 = 500;
        let (mut victim, line, _) = start(calls, Mode::Drop, LEAST);
        let mut seen = Seen::default();
        for round in 1..=3 {
            assert_eq!(victim.ask(CALLS), calls(CALLS));
            seen.read(&line, 4096, false);
            assert_eq!(seen.hits + seen.lost, round * CALLS);
            assert_eq!(seen.last, round * CALLS);
        }
        // An event has 72 bytes.
        assert_eq!(seen.hits, 3 * LEAST.div_ceil(72));
    }

    circular_keeps_the_latest_and_tells_before_them_how_many_are_missing {
        const CALLS: u64 = 500;
        let (mut victim, mut line, _) = start(calls, Mode::Circular, LEAST);
        assert_eq!(victim.ask(CALLS), calls(CALLS));
        // Commands go on although nothing is read, and their replies come first.
        line.write(Command::Hello {});
        let mut reply = [0; 56];
        assert_eq!(line.file().read(&mut reply).unwrap(), 56);
        assert!(whole(&reply).header.code < events::FIRST);
        let kept = LEAST / 72;
        let mut seen = Seen::default();
        let mut piece = [0; 40];
        // A reader has the lost ones first, and the rest of a message that it has begun to read is not overwritten.
        assert_eq!(line.file().read(&mut piece).unwrap(), 40);
        seen.bytes.extend(&piece);
        assert!(seen.one(false));
        assert_eq!((seen.lost, seen.last), (CALLS - kept, CALLS - kept));
        assert_eq!(victim.ask(CALLS), calls(CALLS));
        seen.read(&line, 333, false);
        assert_eq!((seen.hits + seen.lost, seen.last), (2 * CALLS, 2 * CALLS));
        assert!(seen.hits >= kept, "{}", seen.hits);
        // It is a flight recorder: the process is gone, and the last events are there.
        assert_eq!(victim.ask(CALLS), calls(CALLS));
        assert_eq!(victim.end(), 0);
        while seen.ended == 0 {
            poll(&line, -1);
            seen.read(&line, 4096, true);
        }
        assert_eq!((seen.hits + seen.lost, seen.ended), (3 * CALLS, 1));
    }

    a_change_of_the_mode_keeps_what_is_unread_and_frees_who_waits {
        const CALLS: u64 = 300;
        for (first, second) in [
            (Mode::Lossless, Mode::Drop),
            (Mode::Lossless, Mode::Circular),
            (Mode::Circular, Mode::Drop),
            (Mode::Circular, Mode::Lossless),
            (Mode::Drop, Mode::Circular),
        ] {
            let (mut victim, mut line, _) = start(threads, first, LEAST);
            victim.order(CALLS);
            if first == Mode::Lossless {
                wait_for_waiting(&line, THREADS);
            } else {
                assert_eq!(victim.answer(), calls(CALLS).wrapping_mul(THREADS));
            }
            line.write(Command::Buffer { mode: second as u64, size: LEAST, mark: 0 });
            if first == Mode::Lossless {
                assert_eq!(victim.answer(), calls(CALLS).wrapping_mul(THREADS));
            }
            // All hits, and threads that began and ended, are told or lost; the last thread ends after the answer.
            let all = THREADS * (CALLS + 2);
            let mut seen = Seen::default();
            let jumps = first == Mode::Circular || second == Mode::Circular;
            while seen.told + seen.lost < all {
                poll(&line, -1);
                seen.read(&line, 4096, jumps);
            }
            assert_eq!((seen.told + seen.lost, seen.replies), (all, 1), "{first:?} {second:?}");
            assert!(seen.hits > LEAST / 72 / 2 && seen.lost > 0);
            assert_eq!(field(&line, "unread"), "0");
        }
    }

    a_larger_buffer_lets_threads_go_on {
        const CALLS: u64 = 300;
        let (mut victim, mut line, _) = start(threads, Mode::Lossless, LEAST);
        victim.order(CALLS);
        wait_for_waiting(&line, THREADS);
        line.write(Command::Buffer { mode: Mode::Lossless as u64, size: 0, mark: 0 });
        assert_eq!(victim.answer(), calls(CALLS).wrapping_mul(THREADS));
    }

    closing_detaching_and_killing_end_the_wait {
        const CALLS: u64 = 300;
        let sum = calls(CALLS).wrapping_mul(THREADS);
        let (mut victim, line, _) = start(threads, Mode::Lossless, LEAST);
        victim.order(CALLS);
        wait_for_waiting(&line, THREADS);
        drop(line);
        assert_eq!(victim.answer(), sum);

        let (mut victim, mut line, debuggee) = start(threads, Mode::Lossless, LEAST);
        victim.order(CALLS);
        wait_for_waiting(&line, THREADS);
        line.write(Command::Detach { debuggee });
        assert_eq!(victim.answer(), sum);
        assert_eq!(field(&line, "waiting"), "0");

        let (mut victim, line, _) = start(threads, Mode::Lossless, LEAST);
        victim.order(CALLS);
        wait_for_waiting(&line, THREADS);
        // Its end is waited for.
        drop(victim);
        let mut seen = Seen::default();
        while seen.ended == 0 {
            poll(&line, -1);
            seen.read(&line, 4096, false);
        }
        assert_eq!((field(&line, "waiting").as_str(), seen.lost), ("0", THREADS), "the hits of which nothing was told");
    }

    who_kills_the_tracer_frees_its_debuggee {
        static LINE: Mutex<Option<Line>> = Mutex::new(None);
        /// With a process traces it, with 0 waits until its threads wait.
        fn tracer(process: u64) -> u64 {
            let mut line = LINE.lock().unwrap();
            if process == 0 {
                wait_for_waiting(line.as_ref().unwrap(), THREADS);
                return 0;
            }
            let mut new = Line::open();
            set(&mut new, Mode::Lossless, LEAST, 0);
            trace(&mut new, process as u32, 0);
            *line = Some(new);
            process
        }
        let mut victim = Victim::start(threads);
        let mut tracer = Victim::start(tracer);
        tracer.ask(victim.id().into());
        victim.order(300);
        assert_eq!(tracer.ask(0), 0);
        // SIGKILL.
        drop(tracer);
        assert_eq!(victim.answer(), threads(300));
    }

    a_process_that_reads_its_own_events_does_not_wait_for_itself {
        static LINE: Mutex<Option<Line>> = Mutex::new(None);
        /// With 0 opens a channel and gives its descriptor, with another number calls `leaf` so often and reads then.
        fn alone(number: u64) -> u64 {
            let mut line = LINE.lock().unwrap();
            let line = line.get_or_insert_with(Line::open);
            if number == 0 {
                return line.file().as_raw_fd() as u64;
            }
            // SAFETY: it sets a flag of an open file.
            assert_eq!(unsafe { libc::fcntl(line.file().as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }, 0);
            let mut seen = Seen::default();
            seen.read(line, 4096, false);
            let _ = calls(number);
            seen.read(line, 4096, false);
            seen.hits << 32 | seen.lost
        }
        let mut victim = Victim::start(alone);
        let theirs = victim.ask(0);
        // SAFETY: the descriptors that the calls make are owned here alone.
        let file = unsafe {
            let process = OwnedFd::from_raw_fd(libc::syscall(libc::SYS_pidfd_open, victim.id(), 0) as i32);
            let ours = libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), theirs, 0);
            assert!(ours >= 0);
            File::from_raw_fd(ours as i32)
        };
        let mut line = Line::of(file);
        set(&mut line, Mode::Lossless, LEAST, 0);
        trace(&mut line, victim.id(), 0);
        victim.order(300);
        while !victim.is_done() {
            assert_eq!(field(&line, "waiting"), "0", "it waits for room that it alone can make");
            std::thread::yield_now();
        }
        let told = victim.answer();
        let (hits, lost) = (told >> 32, told & u64::from(u32::MAX));
        assert_eq!((hits, lost), (LEAST.div_ceil(72), 300 - LEAST.div_ceil(72)));
    }

    a_process_waits_though_a_reader_that_has_ended_had_a_memory_at_the_same_place {
        const ROUNDS: u64 = 10;
        const CALLS: u64 = 2 * LEAST / 72;
        /// Makes one process that calls `leaf` so often.
        fn one(number: u64) -> u64 {
            // SAFETY: the child calls nothing that another thread may hold.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let _ = calls(number);
                // SAFETY: it ends the child.
                unsafe { libc::_exit(0) };
            }
            let mut status = 0;
            // SAFETY: the status is this function's.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            number
        }
        // On one processor the kernel gives the memory that was freed last to the next process.
        on_one_processor(|| {
            let mut victim = Victim::start(one);
            let mut line = Line::open();
            set(&mut line, Mode::Lossless, LEAST, 0);
            trace(&mut line, victim.id(), wire::commands::option::CHILDREN);
            // SAFETY: it sets a flag of an open file.
            assert_eq!(unsafe { libc::fcntl(line.file().as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }, 0);
            let mut seen = Seen::default();
            for round in 1..=ROUNDS {
                in_turn(|| {
                    // SAFETY: the child makes one system call, and ends.
                    let reader = unsafe { libc::fork() };
                    if reader == 0 {
                        poll(&line, 0);
                        // SAFETY: it ends the child.
                        unsafe { libc::_exit(0) };
                    }
                    let mut status = 0;
                    // SAFETY: the status is this function's.
                    assert_eq!(unsafe { libc::waitpid(reader, &mut status, 0) }, reader);
                });
                victim.order(CALLS);
                while field(&line, "waiting") == "0" {
                    assert!(!victim.is_done(), "it did not wait in round {round}");
                    std::thread::yield_now();
                }
                while seen.ended < round {
                    poll(&line, -1);
                    seen.read(&line, 4096, false);
                }
                assert_eq!((seen.hits, seen.lost), (round * CALLS, 0));
                assert_eq!(victim.answer(), CALLS);
            }
        });
    }

    a_reader_is_woken_at_the_mark_or_for_what_cannot_wait {
        let (mut victim, mut line, _) = start(calls, Mode::Drop, 0);
        line.write(Command::Buffer { mode: Mode::Drop as u64, size: 0, mark: 10 * 72 });
        line.reply(|told| assert!(told.is_ok()));
        assert_eq!(victim.ask(9), calls(9));
        assert!(!poll(&line, 0));
        assert_eq!(victim.ask(1), calls(1));
        assert!(poll(&line, 0));
        let mut seen = Seen::default();
        seen.read(&line, 4096, false);
        assert_eq!((seen.hits, poll(&line, 0)), (10, false));
        // Who does not wait gets what there is.
        assert_eq!(victim.ask(2), calls(2));
        assert!(!poll(&line, 0));
        seen.read(&line, 4096, false);
        assert_eq!(seen.hits, 12);
        // A reply.
        assert_eq!(victim.ask(1), calls(1));
        line.write(Command::Hello {});
        assert!(poll(&line, 0));
        line.reply(|told| assert!(told.is_ok()));
        // The end of a process.
        assert_eq!(victim.ask(1), calls(1));
        assert!(!poll(&line, 0));
        assert_eq!(victim.end(), 0);
        assert!(poll(&line, -1));
        // A ring has the mark, too.
        let (mut victim, mut line, _) = start(calls, Mode::Lossless, 0);
        line.write(Command::Buffer { mode: Mode::Lossless as u64, size: 0, mark: 3 * 72 });
        line.reply(|told| assert!(told.is_ok()));
        let ring = Ring::map(line.file(), 1).unwrap();
        assert_eq!(victim.ask(2), calls(2));
        assert!(!poll(&line, 0));
        assert_eq!(victim.ask(1), calls(1));
        assert!(poll(&line, 0));
        while ring.take().is_some() {}
        assert!(!poll(&line, 0));
        // A mark that the ring cannot reach: who waits for room wakes the reader.
        line.write(Command::Buffer { mode: Mode::Lossless as u64, size: 0, mark: 100_000 });
        line.reply(|told| assert!(told.is_ok()));
        victim.order(300);
        let mut taken = 0;
        while taken < 300 {
            poll(&line, -1);
            while ring.take().is_some() {
                taken += 1;
            }
            if taken > 300 - 4096 / 72 {
                break;
            }
        }
        assert_eq!(victim.answer(), calls(300));
    }

    a_reader_is_woken_once_until_it_has_caught_up {
        for pages in [0, 1] {
            let (mut victim, line, _) = start(calls, Mode::Drop, 0);
            let ring = (pages > 0).then(|| Ring::map(line.file(), pages).unwrap());
            // SAFETY: it makes a descriptor.
            let watch = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
            let mut wanted = libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: 0 };
            // SAFETY: the event is this function's.
            let added = unsafe { libc::epoll_ctl(watch, libc::EPOLL_CTL_ADD, line.file().as_raw_fd(), &mut wanted) };
            assert_eq!(added, 0);
            let woken = || {
                let mut event = libc::epoll_event { events: 0, u64: 0 };
                // SAFETY: there is room for one.
                unsafe { libc::epoll_wait(watch, &mut event, 1, 0) }
            };
            assert_eq!(woken(), 0);
            for _ in 0..3 {
                assert_eq!(victim.ask(1), calls(1));
                assert_eq!(woken(), 1);
                assert_eq!(victim.ask(20), calls(20));
                assert_eq!(woken(), 0, "the reader has not caught up");
                match &ring {
                    Some(ring) => while ring.take().is_some() {},
                    None => Seen { last: u64::MAX, ..Seen::default() }.skip(&line),
                }
            }
            // SAFETY: nobody else uses the descriptor.
            unsafe { libc::close(watch) };
        }
    }
}

impl Seen {
    /// Reads what there is, whatever it is.
    fn skip(mut self, line: &Line) {
        let _ = line.file().read_to_end(&mut self.bytes);
    }
}
