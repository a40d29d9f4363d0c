//! The channel's ring of events.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crossing::in_turn;
use crossing::line::{Line, whole};
use crossing::ring::{Ring, page_size};
use crossing::victim::Victim;
use wire::commands::{Command, Reply};
use wire::events::Event;
use wire::ring::{HEAD, MOST, SIZE, START, TAIL};
use wire::site::{Memory, Site, action};

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

fn calls(number: u64) -> u64 {
    (1..=number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(step))))
}

/// One thread that ends.
fn thread(number: u64) -> u64 {
    std::thread::spawn(move || number).join().unwrap()
}

/// A traced process with a breakpoint at `leaf`.
fn start(work: fn(u64) -> u64, actions: u16, stack: u16) -> (Victim, Line) {
    let victim = Victim::start(work);
    let mut line = Line::open();
    let debuggee = line.attach(victim.id(), 0).unwrap();
    let site = Site { address: leaf as *const () as u64, actions, memory: Memory::stack(stack), condition: None };
    line.ask(Command::Insert { debuggee, sites: &site.bytes() }, |told| {
        assert_eq!(told, Ok(Reply::Insert { inserted: 1, failures: &[] }));
    });
    (victim, line)
}

/// What the channel has to tell, as `poll` says: bytes that can be read, in the ring or not.
fn is_readable(line: &Line) -> bool {
    let mut asked = libc::pollfd { fd: line.file().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one is there.
    assert_ne!(unsafe { libc::poll(&mut asked, 1, 0) }, -1);
    asked.revents & libc::POLLIN != 0
}

/// Sleeps until the channel has something to tell.
fn wait(line: &Line) {
    let mut asked = libc::pollfd { fd: line.file().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one is there.
    assert_eq!(unsafe { libc::poll(&mut asked, 1, -1) }, 1);
}

/// Takes a hit's number and its count, or those of lost ones.
fn take(ring: &Ring) -> Option<(u64, Result<u64, u64>)> {
    let bytes = ring.take()?;
    let message = whole(&bytes);
    let told = match Event::parse(&message).expect("an event") {
        Event::Hit { count, .. } => Ok(count),
        Event::Lost { count } => Err(count),
        other => panic!("{other:?}"),
    };
    Some((message.header.tag, told))
}

crossing::channel_tests! {
    events_go_into_the_ring_and_replies_are_read {
        let (mut victim, mut line) = start(calls, action::RECORD, 0);
        assert_eq!(victim.ask(1), calls(1));
        // From before.
        line.event(|event| assert!(matches!(event, Event::Hit { count: 1, .. }), "{event:?}"));
        let ring = Ring::map(line.file(), 16).unwrap();
        assert_eq!(ring.word(SIZE).load(Relaxed) as usize, 16 * page_size());
        assert_eq!(ring.word(START).load(Relaxed) as usize, page_size());
        assert_eq!((take(&ring), is_readable(&line)), (None, false));
        assert_eq!(victim.ask(20), calls(20));
        for number in 2..=21 {
            assert!(is_readable(&line));
            assert_eq!(take(&ring), Some((number, Ok(number))));
        }
        assert_eq!((take(&ring), is_readable(&line)), (None, false));
        line.ask(Command::Hello {}, |told| assert!(matches!(told, Ok(Reply::Hello { .. })), "{told:?}"));
    }

    a_ring_goes_round_and_loses_nothing_that_is_taken_in_time {
        let (mut victim, line) = start(calls, action::RECORD | action::REGISTERS, 200);
        let ring = Ring::map(line.file(), 1).unwrap();
        for number in 1..=500 {
            assert_eq!(victim.ask(1), calls(1));
            assert_eq!(take(&ring), Some((number, Ok(number))));
        }
        assert!(ring.word(HEAD).load(Relaxed) > 20 * page_size() as u64);
    }

    a_reader_that_sleeps_is_woken_for_each_event_it_has_not_seen {
        let (mut victim, line) = start(calls, action::RECORD, 0);
        let ring = Ring::map(line.file(), 256).unwrap();
        victim.order(2000);
        for number in 1..=2000 {
            let told = loop {
                match take(&ring) {
                    Some(told) => break told,
                    None => wait(&line),
                }
            };
            assert_eq!(told, (number, Ok(number)));
        }
        assert_eq!(victim.answer(), calls(2000));
    }

    what_has_no_room_is_counted_and_told {
        let (mut victim, line) = start(calls, action::RECORD, 0);
        let ring = Ring::map(line.file(), 1).unwrap();
        assert_eq!(victim.ask(1000), calls(1000));
        let mut kept = 0;
        while let Some((number, told)) = take(&ring) {
            kept += 1;
            assert_eq!((number, told), (kept, Ok(kept)));
        }
        assert!(kept > 10 && kept < 100, "{kept}");
        assert_eq!(victim.ask(1), calls(1));
        assert_eq!(take(&ring), Some((1000, Err(1000 - kept))));
        assert_eq!(take(&ring), Some((1001, Ok(1001))));
    }

    who_is_held_is_told_of_though_the_ring_is_full {
        let (mut victim, mut line) = start(calls, action::HOLD, 0);
        let ring = Ring::map(line.file(), 1).unwrap();
        victim.order(1);
        let bytes = loop {
            match ring.take() {
                Some(bytes) => break bytes,
                None => wait(&line),
            }
        };
        let Ok(Event::Held { thread, .. }) = Event::parse(&whole(&bytes)) else { panic!("{bytes:x?}") };
        assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        assert_eq!(victim.answer(), calls(1));
        // A tail that cannot be leaves no room.
        ring.word(TAIL).store(1 << 60, SeqCst);
        victim.order(1);
        let (again, count) = line.event(|event| match event {
            Event::Held { thread, address, .. } => (thread, address),
            other => panic!("{other:?}"),
        });
        assert_eq!((again, count), (thread, leaf as *const () as u64));
        assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        assert_eq!(victim.answer(), calls(1));
    }

    what_a_reader_writes_over_the_first_page_harms_nobody {
        let (mut victim, mut line) = start(calls, action::RECORD, 0);
        let ring = Ring::map(line.file(), 1).unwrap();
        for value in [1, 7, 1 << 20, 1 << 63, u64::MAX] {
            for word in 0..page_size() / 8 {
                ring.word(word).store(value, SeqCst);
            }
            assert_eq!(victim.ask(100), calls(100));
            line.ask(Command::Hello {}, |told| assert!(told.is_ok(), "{told:?}"));
        }
        // It goes on where the kernel knows that it stands, and not before somebody has taken what was put.
        let size = page_size() as u64;
        let head = (0..4 * size).step_by(512).find_map(|tail| {
            ring.word(HEAD).store(u64::MAX, SeqCst);
            ring.word(TAIL).store(tail, SeqCst);
            assert_eq!(victim.ask(1), calls(1));
            let head = ring.word(HEAD).load(SeqCst);
            (head != u64::MAX).then_some((tail, head))
        });
        assert!(head.is_some_and(|(tail, head)| tail < head && head <= tail + size), "{head:?}");
    }

    threads_that_end_are_in_the_ring_when_it_is_polled {
        let (mut victim, line) = start(thread, 0, 0);
        let ring = Ring::map(line.file(), 1).unwrap();
        assert_eq!(victim.ask(9), 9);
        let mut codes = Vec::new();
        while codes.len() < 2 {
            wait(&line);
            codes.extend(std::iter::from_fn(|| ring.take()).map(|bytes| whole(&bytes).header.code));
        }
        assert_eq!(codes, [0x8007, 0x8005]);
        let id = u64::from(victim.id());
        victim.end();
        let ended = loop {
            wait(&line);
            let Some(bytes) = ring.take() else { continue };
            match Event::parse(&whole(&bytes)).unwrap() {
                Event::ThreadEnded { thread, .. } => assert_eq!(thread, id),
                Event::Ended { debuggee, status, .. } => break (debuggee, status),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(ended, (1, 0));
    }

    only_whole_shared_rings_can_be_mapped {
        let line = Line::open();
        let page = page_size();
        let error = |mapped: usize, flags, from| Ring::map_as(line.file(), mapped, flags, from).err().map(|e| e.kind());
        let invalid = Some(io::ErrorKind::InvalidInput);
        for pages in [1, 4, 6, 1 + MOST as usize / page * 2] {
            assert_eq!(error(pages * page, libc::MAP_SHARED, 0), invalid, "{pages} pages");
        }
        assert_eq!(error(2 * page, libc::MAP_PRIVATE, 0), invalid);
        assert_eq!(error(2 * page, libc::MAP_SHARED, page as i64), invalid);
        let first = Ring::map(line.file(), 4).unwrap();
        assert_eq!(error(3 * page, libc::MAP_SHARED, 0), invalid);
        let second = Ring::map(line.file(), 4).unwrap();
        first.word(TAIL).store(77, SeqCst);
        assert_eq!(second.word(TAIL).load(SeqCst), 77);
        drop(first);
        assert_eq!(second.word(TAIL).load(SeqCst), 77);
        let largest = Line::open();
        assert!(Ring::map(largest.file(), MOST as usize / page).is_ok());
    }

    a_mapping_keeps_the_session_and_a_copied_process_has_none {
        let (mut victim, line) = start(calls, action::RECORD, 0);
        let ring = Ring::map(line.file(), 1).unwrap();
        let base = std::ptr::from_ref(ring.word(0)) as usize;
        let status = in_turn(|| {
            // SAFETY: the copy asks of a page, and ends.
            let copy = unsafe { libc::fork() };
            if copy == 0 {
                // SAFETY: it reads no memory.
                let there = unsafe { libc::msync(base as *mut libc::c_void, page_size(), libc::MS_ASYNC) };
                // SAFETY: _exit ends the copy and runs no code of this process in it.
                unsafe { libc::_exit(i32::from(there == 0)) };
            }
            let mut status = -1;
            // SAFETY: the status is there.
            assert_eq!(unsafe { libc::waitpid(copy, &mut status, 0) }, copy);
            status
        });
        assert_eq!(status, 0);
        drop(line);
        assert_eq!(victim.ask(3), calls(3));
        assert_eq!((1..=3).map(|_| take(&ring)).collect::<Vec<_>>(), [1, 2, 3].map(|n| Some((n, Ok(n)))));
        drop(ring);
        // The breakpoint is gone: nobody traces it.
        let mut line = Line::open();
        let debuggee = line.attach(victim.id(), 0).unwrap();
        let address = leaf as *const () as u64;
        let there = line.ask(Command::ReadMemory { debuggee, address, length: 4 }, |told| match told {
            Ok(Reply::ReadMemory { bytes }) => bytes.to_vec(),
            other => panic!("{other:?}"),
        });
        // SAFETY: it is this program's code.
        let own = unsafe { std::slice::from_raw_parts(address as *const u8, 4) };
        assert_eq!(there, own);
        assert_eq!(victim.ask(3), calls(3));
    }
}
