//! Reading a trace.

mod segment;
mod source;
mod thread;

use std::collections::HashMap;
use std::io::Read;

use insn::x86::Bits;

use crate::error::{Error, Problem, Result};
use crate::flow::Flow;
use crate::format::{self, MOST_THREADS, kind};
use crate::item::{Event, EventKind, Header, Item, Mapping, Registers};
use crate::memory::Memory;
use crate::varint::Cursor;
use segment::Segment;
use source::Source;
use thread::Thread;

/// Reads a trace from memory; see [`Reader`].
///
/// # Errors
/// Where its header is wrong.
pub fn read(bytes: &[u8]) -> Result<Reader<&[u8]>> {
    Reader::new(bytes)
}

/// An iterator over the items of a trace.
///
/// It trusts no byte: on any input it ends with an error or at the end. Its memory grows with the bytes that were read,
/// never with the lengths that they claim. After an error it gives no more items.
pub struct Reader<R> {
    source: Source<R>,
    header: Header,
    processes: HashMap<u32, Process>,
    threads: HashMap<u32, Thread>,
    /// The payload of the record that is being read.
    record: Vec<u8>,
    flow: Option<Segment>,
    steps: u64,
    done: bool,
    complete: bool,
}

#[derive(Default)]
struct Process {
    memory: Memory,
    /// The number of recorded threads.
    threads: u32,
}

impl<R: Read> Reader<R> {
    /// Reads the header. The reader takes small pieces from `inner`, which callers should buffer.
    ///
    /// # Errors
    /// Where the header is wrong.
    pub fn new(inner: R) -> Result<Reader<R>> {
        let mut source = Source::new(inner);
        let header = source.header().map_err(|problem| Error { offset: source.start, problem })?;
        Ok(Reader {
            source,
            header,
            processes: HashMap::new(),
            threads: HashMap::new(),
            record: Vec::new(),
            flow: None,
            steps: 0,
            done: false,
            complete: false,
        })
    }

    /// The header, which describes the whole trace.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Steps read so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether the reader has read the end record, so that nothing is missing.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Bytes read so far.
    pub fn offset(&self) -> u64 {
        self.source.offset
    }

    fn item(&mut self) -> Result<Option<Item>, Problem> {
        loop {
            if let Some(segment) = &mut self.flow {
                let thread = self.threads.get_mut(&segment.tid).ok_or(Problem::Thread(segment.tid))?;
                let memory = &self.processes.entry(thread.pid).or_default().memory;
                match segment.step(thread, memory, &self.record, self.header)? {
                    Some(step) => {
                        self.steps += 1;
                        return Ok(Some(Item::Step(step)));
                    }
                    None => self.flow = None,
                }
            }
            let Some(kind) = self.source.record(&mut self.record)? else { return Err(Problem::Cut) };
            if let Some(item) = self.read_record(kind)? {
                return Ok(Some(item));
            }
            if self.complete {
                return Ok(None);
            }
        }
    }

    fn read_record(&mut self, kind: u8) -> Result<Option<Item>, Problem> {
        let mut cursor = Cursor { at: 0, end: self.record.len() };
        let item = match kind {
            kind::FLOW => {
                self.flow = Some(self.segment(cursor)?);
                return Ok(None);
            }
            kind::CODE => {
                let pid = cursor.id(&self.record)?;
                let address = cursor.number(&self.record)?;
                let bytes = cursor.rest(&self.record);
                if bytes.len() > format::MOST_CODE {
                    return Err(Problem::LongCode(bytes.len() as u64));
                }
                // A process without threads cannot execute anything.
                if let Some(process) = self.processes.get_mut(&pid) {
                    process.memory.write(address, bytes);
                }
                None
            }
            kind::EVENT => Some(Item::Event(self.event(&mut cursor)?)),
            kind::MAPPING => Some(Item::Mapping(Mapping {
                pid: cursor.id(&self.record)?,
                start: cursor.number(&self.record)?,
                end: cursor.number(&self.record)?,
                base: cursor.number(&self.record)?,
                path: cursor.rest(&self.record).to_vec(),
            })),
            kind::END => {
                let told = cursor.number(&self.record)?;
                if told != self.steps {
                    return Err(Problem::Count { told, seen: self.steps });
                }
                self.complete = true;
                None
            }
            kind::OPTIONAL.. => return Ok(None),
            _ => return Err(Problem::Record(kind)),
        };
        match cursor.end - cursor.at {
            0 => Ok(item),
            left => Err(Problem::Excess(left as u64)),
        }
    }

    fn segment(&mut self, mut cursor: Cursor) -> Result<Segment, Problem> {
        let tid = cursor.id(&self.record)?;
        let thread = self.threads.get_mut(&tid).ok_or(Problem::Thread(tid))?;
        thread.pc = thread.pc.wrapping_add_signed(cursor.signed(&self.record)?);
        let at = thread.flow.at(thread.pc)?;
        let length = cursor.number(&self.record)?;
        let end = usize::try_from(length).ok().and_then(|length| cursor.at.checked_add(length));
        let end = end.filter(|&end| end <= cursor.end).ok_or(Problem::ShortRecord)?;
        let tokens = Cursor { at: cursor.at, end };
        let registers = Cursor { at: end, end: cursor.end };
        Ok(Segment::new(tid, at, tokens, registers))
    }

    fn event(&mut self, cursor: &mut Cursor) -> Result<Event, Problem> {
        let record = &self.record;
        let tid = cursor.id(record)?;
        let kind = match cursor.number(record)? {
            format::event::STARTED => {
                let pid = cursor.id(record)?;
                let by = cursor.id(record)?;
                self.start(tid, pid)?;
                return Ok(Event { tid, pid, kind: EventKind::Started { by } });
            }
            format::event::BITS => EventKind::Bits(match cursor.number(record)? {
                0 => None,
                16 => Some(Bits::B16),
                32 => Some(Bits::B32),
                64 => Some(Bits::B64),
                bits => return Err(Problem::Bits(bits)),
            }),
            format::event::SYSCALL => EventKind::Syscall(cursor.number(record)?),
            format::event::SIGNAL => {
                EventKind::Signal { number: cursor.id(record)?, fault: cursor.number(record)? != 0 }
            }
            format::event::EXEC => EventKind::Exec,
            format::event::EXITED => EventKind::Exited(cursor.id(record)?),
            format::event::KILLED => EventKind::Killed(cursor.id(record)?),
            format::event::RELEASED => EventKind::Released,
            format::event::MOVED => EventKind::Moved,
            kind => return Err(Problem::Event(kind)),
        };
        let thread = self.threads.get_mut(&tid).ok_or(Problem::Thread(tid))?;
        let pid = thread.pid;
        match kind {
            EventKind::Bits(bits) => thread.bits = bits,
            EventKind::Exec => {
                thread.flow = Flow::default();
                self.threads.retain(|&other, thread| other == tid || thread.pid != pid);
                self.processes.insert(pid, Process { threads: 1, ..Process::default() });
            }
            EventKind::Exited(_) | EventKind::Killed(_) | EventKind::Released => self.end(tid),
            _ => {}
        }
        Ok(Event { tid, pid, kind })
    }

    fn start(&mut self, tid: u32, pid: u32) -> Result<(), Problem> {
        self.end(tid);
        if self.threads.len() >= MOST_THREADS {
            return Err(Problem::ManyThreads);
        }
        self.processes.entry(pid).or_default().threads += 1;
        let thread = Thread { pid, bits: None, pc: 0, flow: Flow::default(), registers: Registers::default() };
        self.threads.insert(tid, thread);
        Ok(())
    }

    fn end(&mut self, tid: u32) {
        let Some(thread) = self.threads.remove(&tid) else { return };
        if let Some(process) = self.processes.get_mut(&thread.pid) {
            process.threads -= 1;
            if process.threads == 0 {
                self.processes.remove(&thread.pid);
            }
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Item>;

    fn next(&mut self) -> Option<Result<Item>> {
        if self.done {
            return None;
        }
        let item = self.item();
        self.done = !matches!(item, Ok(Some(_)));
        item.map_err(|problem| Error { offset: self.source.start, problem }).transpose()
    }
}
