//! Questions about threads, processes and the host.

use ubp::{Address, Pid, Syscalls, ThreadState, Tid};

use super::Server;
use super::answer::{Answer, EINVAL};
use crate::arch::LLDB_NAME;
use crate::protocol::{One, ThreadId, hex};

impl Server {
    pub(super) fn current_thread(&self) -> Answer {
        match self.selected {
            Some((pid, tid)) => Answer::text(format!("QC{}", ThreadId::of(pid, tid))),
            None => Answer::text("QCp0.0"),
        }
    }

    pub(super) fn thread_list(&self) -> Answer {
        let all: Vec<String> =
            self.threads().into_iter().map(|(pid, tid)| ThreadId::of(pid, tid).to_string()).collect();
        if all.is_empty() { Answer::text("l") } else { Answer::text(format!("m{}", all.join(","))) }
    }

    pub(super) fn thread_extra_info(&mut self, text: &[u8]) -> Answer {
        match ThreadId::parse(text).map(|id| id.thread) {
            Some(One::Number(tid)) => {
                let name = self.thread_name(Tid(tid)).unwrap_or_default();
                Answer::Text(hex::encode(name.as_bytes()))
            }
            _ => Answer::Error(EINVAL),
        }
    }

    /// A thread's name, in which a client can read no markup.
    pub(super) fn thread_name(&self, tid: Tid) -> Option<String> {
        let pid = self.threads().into_iter().find(|&(_, own)| own == tid)?.0;
        let threads = self.session.threads(pid).ok()?;
        let info = threads.into_iter().find(|info| info.tid == tid)?;
        let state = match info.state {
            ThreadState::Uninterruptible => " (uninterruptible)",
            ThreadState::Ended => " (ended)",
            _ => "",
        };
        let is_plain = |letter: char| !letter.is_control() && !matches!(letter, '<' | '>' | '&' | '"' | '\'');
        let name: String =
            info.name.to_string_lossy().chars().map(|letter| if is_plain(letter) { letter } else { '?' }).collect();
        Some(name + state)
    }

    /// `qAttached[:PID]`: whether the process was there before the server.
    pub(super) fn attached(&mut self, text: &[u8]) -> Answer {
        let pid = text.strip_prefix(b":").and_then(hex::number).map(|pid| Pid(pid as i32));
        let pid = pid.or(self.selected.map(|(pid, _)| pid));
        let attached = pid.and_then(|pid| self.inferiors.get(&pid)).is_none_or(|inferior| inferior.attached);
        Answer::text(if attached { "1" } else { "0" })
    }

    /// `QCatchSyscalls:1[;NUMBER…]` or `QCatchSyscalls:0`.
    pub(super) fn catch_syscalls(&mut self, text: &[u8]) -> Answer {
        let mut parts = text.split(|&byte| byte == b';');
        let syscalls = match parts.next() {
            Some(b"0") => Syscalls::NONE,
            Some(b"1") => {
                let numbers: Vec<u64> = parts.filter_map(hex::number).collect();
                if numbers.is_empty() { Syscalls::ALL } else { numbers.into_iter().collect() }
            }
            _ => return Answer::Error(EINVAL),
        };
        match self.selected {
            Some((pid, _)) => Answer::of(self.session.trace_syscalls(pid, syscalls)),
            None => Answer::Error(EINVAL),
        }
    }

    /// The triple and the word's size, for lldb.
    pub(super) fn host_info(&self) -> Answer {
        let triple = hex::encode(format!("{LLDB_NAME}-unknown-linux-gnu").as_bytes());
        Answer::text(format!("triple:{triple};ostype:linux;endian:little;ptrsize:8;"))
    }

    pub(super) fn process_info(&self) -> Answer {
        let Some((pid, _)) = self.selected else { return Answer::Error(EINVAL) };
        let Some(process) = self.session.process(pid) else { return Answer::Error(EINVAL) };
        let width = process.arch().width();
        let name = if width == 4 { "i386" } else { LLDB_NAME };
        let triple = hex::encode(format!("{name}-unknown-linux-gnu").as_bytes());
        Answer::text(format!("pid:{:x};triple:{triple};ostype:linux;endian:little;ptrsize:{width};", pid.0))
    }

    /// `qMemoryRegionInfo:ADDRESS`: the mapping that has the address, or the gap between two.
    pub(super) fn memory_region_info(&mut self, text: &[u8]) -> Answer {
        let (Some(address), Some((pid, _))) = (hex::number(text).map(Address), self.selected) else {
            return Answer::Error(EINVAL);
        };
        let Some(Ok(maps)) = self.session.process(pid).map(ubp::Process::maps) else { return Answer::Error(EINVAL) };
        if let Some(map) = maps.iter().find(|map| map.contains(address)) {
            let flags = [(map.read, 'r'), (map.write, 'w'), (map.execute, 'x')];
            let flags: String = flags.iter().filter(|(has, _)| *has).map(|(_, letter)| letter).collect();
            let name = map.path.as_ref().map(|path| hex::encode(path.as_os_str().as_encoded_bytes()));
            let name = name.map_or(String::new(), |name| format!("name:{name};"));
            let size = map.end.0 - map.start.0;
            return Answer::text(format!("start:{:x};size:{size:x};permissions:{flags};{name}", map.start.0));
        }
        let start = maps.iter().map(|map| map.end.0).filter(|&end| end <= address.0).max().unwrap_or(0);
        let end = maps.iter().map(|map| map.start.0).filter(|&start| start > address.0).min().unwrap_or(u64::MAX);
        Answer::text(format!("start:{start:x};size:{:x};", end - start))
    }
}
