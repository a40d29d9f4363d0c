//! The channel of the kernel module: what is written to /dev/ntrace is answered, in whatever pieces, and a session ends with its file.

use std::fs::{File, OpenOptions, read_to_string};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command as Program;
use std::sync::mpsc;

use crossing::channel::{DEVICE, open, reply, stream};
use crossing::in_turn;
use crossing::victim::Victim;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use wire::commands::{Command, Reply};
use wire::{Failure, Split, Status, flag, split};

/// Unread bytes with which the kernel carries out no further command (kmod/src/channel/messages.rs).
const FULL: usize = 1 << 20;

static FILLED: [u8; FULL] = [7; FULL];

fn replies(file: &mut File, count: usize) -> Vec<(u64, String)> {
    let mut kept = Vec::new();
    let replies = (0..count).map(|_| reply(file, &mut kept, |tag, told| (tag, format!("{told:?}")))).collect();
    assert_eq!(kept, b"");
    replies
}

crossing::channel_tests! {
    hello_tells_version_architecture_and_page {
        let mut file = open();
        file.write_all(&stream(&[(Command::Hello {}, 0)])).unwrap();
        let machine = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
        let expected = Reply::Hello { version: wire::VERSION, machine, page: 4096 };
        assert_eq!(replies(&mut file, 1), [(0, format!("{:?}", Ok::<_, Failure>(expected)))]);
    }

    the_module_stays_while_a_session_is_open {
        let mut file = open();
        // SAFETY: the name ends with a zero byte.
        let unloaded = unsafe { libc::syscall(libc::SYS_delete_module, c"ntrace".as_ptr(), libc::O_NONBLOCK) };
        let error = Error::last_os_error();
        assert_eq!((unloaded, error.raw_os_error()), (-1, Some(libc::EWOULDBLOCK)), "{error}");
        file.write_all(&stream(&[(Command::Hello {}, 0)])).unwrap();
        assert_eq!(replies(&mut file, 1).len(), 1);
    }

    describe_lists_what_wire_declares {
        let mut file = open();
        file.write_all(&stream(&[(Command::Describe {}, 0)])).unwrap();
        let mut listing = String::new();
        wire::manual::listing(&mut listing).unwrap();
        let expected = Reply::Describe { vocabulary: listing.as_bytes() };
        assert_eq!(replies(&mut file, 1), [(0, format!("{:?}", Ok::<_, Failure>(expected)))]);
    }

    a_stream_is_answered_alike_in_one_write_and_byte_by_byte {
        let commands = [
            (Command::Hello {}, 0),
            (Command::WriteMemory { debuggee: 1, address: 2, bytes: b"some bytes" }, flag::THEN),
            (Command::Hello {}, 0),
            (Command::Hello {}, 0),
        ];
        let bytes = stream(&commands);
        let mut whole = open();
        whole.write_all(&bytes).unwrap();
        let whole = replies(&mut whole, 4);
        assert!(whole[2].1.contains("Skipped"), "{whole:?}");
        assert!(whole[3].1.contains("version"), "{whole:?}");
        let mut pieces = open();
        for byte in &bytes {
            assert_eq!(pieces.write(&[*byte]).unwrap(), 1);
        }
        assert_eq!(replies(&mut pieces, 4), whole);
    }

    what_is_no_command_is_answered_and_the_next_one_carried_out {
        let mut file = open();
        let mut bytes: Vec<u8> = [2 | 0x7777 << 32, 5].iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
        bytes.extend(stream(&[(Command::Hello {}, 0)]));
        file.write_all(&bytes).unwrap();
        let answers = replies(&mut file, 2);
        assert_eq!(answers[0], (5, format!("{:?}", Err::<Reply<'_>, _>(Failure::new(Status::Unknown, 0x7777)))));
        assert_eq!(answers[1].0, 0);
    }

    where_no_message_can_begin_the_stream_ends_and_what_was_answered_can_be_read {
        let mut file = open();
        let mut bytes = stream(&[(Command::Hello {}, 0)]);
        bytes.extend(1u64.to_ne_bytes());
        assert_eq!(file.write(&bytes).unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(file.write(&stream(&[(Command::Hello {}, 0)])).unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(replies(&mut file, 1)[0].0, 0);
    }

    sessions_do_not_see_each_other {
        let (mut one, mut other) = (open(), open());
        one.write_all(&stream(&[(Command::Hello {}, 0)])).unwrap();
        let mut polled = [PollFd::new(other.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut polled, PollTimeout::ZERO), Ok(0));
        other.write_all(&stream(&[(Command::Describe {}, 0)])).unwrap();
        assert!(replies(&mut one, 1)[0].1.contains("version"));
        assert!(replies(&mut other, 1)[0].1.contains("vocabulary"));
    }

    a_reader_waits_until_something_is_answered {
        let mut file = open();
        let (send, receive) = mpsc::channel();
        let mut second = file.try_clone().unwrap();
        let reader = std::thread::spawn(move || {
            send.send(()).unwrap();
            replies(&mut second, 1)
        });
        receive.recv().unwrap();
        file.write_all(&stream(&[(Command::Hello {}, 0)])).unwrap();
        assert_eq!(reader.join().unwrap()[0].0, 0);
    }

    a_file_that_does_not_wait_says_so_and_poll_tells_when_to_read {
        let mut file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE).unwrap();
        assert_eq!(file.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        let events = |file: &File| {
            let mut polled = [PollFd::new(file.as_fd(), PollFlags::POLLIN | PollFlags::POLLOUT)];
            poll(&mut polled, PollTimeout::ZERO).unwrap();
            polled[0].revents().unwrap()
        };
        assert_eq!(events(&file), PollFlags::POLLOUT);
        file.write_all(&stream(&[(Command::Hello {}, 0)])).unwrap();
        assert_eq!(events(&file), PollFlags::POLLIN | PollFlags::POLLOUT);
        replies(&mut file, 1);
        assert_eq!(events(&file), PollFlags::POLLOUT);
    }

    commands_wait_while_too_much_is_unread {
        let mut file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE).unwrap();
        let one = stream(&[(Command::Describe {}, 0)]);
        let mut written = 0;
        let refused = loop {
            match file.write(&one) {
                Ok(count) => written += count,
                Err(error) => break error,
            }
        };
        assert_eq!(refused.kind(), ErrorKind::WouldBlock);
        let mut all = Vec::new();
        let error = file.read_to_end(&mut all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        assert!(all.len() >= FULL, "{} bytes", all.len());
        let mut rest = &all[..];
        let mut answered = 0;
        while let Ok(Split::Message(_, behind)) = split(rest) {
            (rest, answered) = (behind, answered + 1);
        }
        assert_eq!((rest, answered), (&b""[..], written / one.len()), "a reply for each, and nothing is lost");
        file.write_all(&one).unwrap();
    }

    what_one_write_asks_for_waits_too_while_too_much_is_unread {
        let mut file = open();
        let victim = Victim::start(|number| number);
        let process = victim.id().into();
        file.write_all(&stream(&[(Command::Attach { process, options: 0 }, 0)])).unwrap();
        replies(&mut file, 1);
        let memory: &'static [u8] = &FILLED;
        let (address, length) = (memory.as_ptr() as u64, memory.len() as u64);
        let one = stream(&[(Command::ReadMemory { debuggee: 1, address, length }, 0)]);
        let many = stream(&[(Command::ReadMemory { debuggee: 1, address, length }, 0); 1000]);
        assert_eq!(file.write(&many).unwrap(), one.len(), "one is carried out, and then too much is unread");
        replies(&mut file, 1);
        assert_eq!(file.write(&many).unwrap(), one.len());
    }

    an_ordinary_user_may_open_it_and_another_process_may_go_on_with_it {
        let mut file = open();
        let bytes = stream(&[(Command::Hello {}, 0)]);
        // The shell writes to the descriptor that it was given, and opens the device itself.
        let octal: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
        let mut shell = Program::new("/bin/sh");
        shell.arg("-c").arg(format!("printf '{octal}' >&0 && exec 3<>{DEVICE}")).stdin(file.try_clone().unwrap());
        let status = in_turn(|| shell.uid(65534).gid(65534).spawn()).unwrap().wait().unwrap();
        assert!(status.success(), "{status}");
        assert_eq!(replies(&mut file, 1)[0].0, 0);
    }

    fdinfo_tells_what_is_unread {
        let mut file = open();
        file.write_all(&stream(&[(Command::Hello {}, 0)])).unwrap();
        let info = read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).unwrap();
        assert!(info.contains(&format!("ntrace-version:\t{}\nntrace-unread:\t56\n", wire::VERSION)), "{info}");
    }

    a_reader_that_waits_can_be_interrupted {
        let mut shell = Program::new("timeout");
        shell.args(["-s", "TERM", "1", "cat", DEVICE]);
        let status = in_turn(|| shell.spawn()).unwrap().wait().unwrap();
        assert_eq!(status.code(), Some(124));
    }
}
