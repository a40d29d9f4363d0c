//! The manual page and the listing of the vocabulary, made from its declarations.

use core::fmt::{self, Write};

use crate::text::Text;
use crate::{Declaration, Documentation, Parameter, Status, commands, events};

/// Writes the reply to `describe`: one line for each command and event. A kernel module cannot link `core::fmt`, so this does not use it.
///
/// # Errors
/// Errors of `out`.
pub fn listing<T: Text>(out: &mut T) -> Result<(), T::Error> {
    for (what, list) in [("command", commands::DECLARATIONS), ("event", events::DECLARATIONS)] {
        for one in list {
            out.put(what)?;
            out.put(" 0x")?;
            out.put_hexadecimal(one.code)?;
            out.put(" ")?;
            out.put(one.name)?;
            fields(out, one.fields)?;
            if what == "command" {
                out.put(" ->")?;
                fields(out, one.reply)?;
            }
            out.put("\n")?;
        }
    }
    Ok(())
}

fn fields<T: Text>(out: &mut T, list: &[Parameter]) -> Result<(), T::Error> {
    list.iter()
        .try_for_each(|field| [" ", field.name, ":", field.kind.name()].iter().try_for_each(|piece| out.put(piece)))
}

/// The part of the manual page before the vocabulary.
const HEAD: &str = r#".TH NTRACE 4
.SH NAME
ntrace \- breakpoints by a kernel module
.SH DESCRIPTION
The kernel module ntrace sets breakpoints in processes, counts hits, and holds threads.
An open file of \fI/dev/ntrace\fR is a channel.
A program writes commands to it, and reads replies and events from it.
Closing the channel ends its session: breakpoints are removed and held threads are resumed.
.P
Each direction is a stream of messages, which may be split or joined across read and write calls.
A message consists of 64\-bit words in the byte order of the machine.
.TP
word 0
Bits 0 to 31: number of words in the message, including the first two.
Bits 32 to 47: code.
Bits 48 to 63: flags.
.TP
word 1
Tag: the sender's choice in a command, copied from the command in a reply, a sequence number in an event.
.P
The fields follow, one word each: the value of a word, or the length of a blob in bytes.
After them come the contents of the blobs without gaps, then zeroes up to a whole word.
.P
Each command gets one reply with the command's code and tag.
The first two fields of a reply are the status and a detail.
The declared fields follow only if the status is 0.
Commands are carried out in the order in which they arrive.
If a command with the flag \fBthen\fR (1) fails, the next command is not carried out and gets the status 1.
.SH BUFFERS
The command \fBbuffer\fR chooses the mode of the channel: what happens to an event for which there is no room.
A new channel has the mode drop and room for 512 KiB of unread events.
.TP
.B drop
The event is lost.
.TP
.B circular
The oldest unread events are lost.
The channel keeps the latest events until they are read, also after the end of all processes.
.TP
.B lossless
The event's thread waits for room before it goes on.
It waits where it holds nothing that a reader needs, and neither holds up suspend nor counts as load.
These end the wait: a reader that makes room; \fBbuffer\fR; \fBdetach\fR; the end of the session; the end of the process; \fBSIGKILL\fR to the thread.
Other signals and stops reach the thread after the wait.
A thread of the process that read or polled the channel last does not wait: its event is lost.
Where a process reads a channel by another one's help, and waits for room itself, \fBSIGKILL\fR or closing the channel ends that.
The modes are about hits.
All other events have 512 KiB more, beyond which they are lost, or wait in the mode lossless; only the end of a thread cannot wait.
An event for which the kernel has no memory is lost in every mode.
.P
The event \fBlost\fR tells the exact number of lost events, where they are missing, and at the latest when everything before them is read.
\fBheld\fR and \fBended\fR are never lost.
In the mode circular all events but \fBhit\fR come before older hits, and the tags give the order.
.P
A reader is woken once the low-water mark is reached, and not again before it has caught up.
Below the mark it is woken by anything but a hit, and as soon as a hit finds no room.
A file with \fBO_NONBLOCK\fR gives what there is, below the mark too.
A change of the mode keeps all unread events.
Fields of \fI/proc/PID/fdinfo/FD\fR: \fBntrace\-version\fR, \fBntrace\-unread\fR in bytes, \fBntrace\-buffer\fR (the mode), \fBntrace\-waiting\fR (threads that wait for room).
.SH THE RING
A program may map the file with \fBMAP_SHARED\fR from offset 0: one page and a power of two of pages after it, at most 16 MiB.
The pages after the first are a ring.
From then on events go to the ring instead of the stream that is read.
Each event is a message as in the stream; a message that reaches the ring's end continues at its beginning.
Words of the first page:
.TP
0
Size of the ring in bytes.
.TP
1
Offset of the ring in the mapping in bytes.
.TP
8
Head: number of bytes ever written. The kernel stores it after the bytes.
.TP
16
Tail: number of bytes ever read. The reader stores it after reading.
.P
A hit that does not fit is lost, or its thread waits, as the mode says; other events go to the stream instead.
A thread that waits for room sees within 20 milliseconds that the reader has stored a new tail, and at once if the reader calls \fBpoll\fR(2).
In the mode circular hits go to the stream, because the kernel cannot overwrite what a program may be reading.
While 1 MiB of the stream is unread, the event of a thread that is held waits, and the thread with it.
\fBpoll\fR(2) reports \fBPOLLIN\fR while the ring is not empty.
Ends of threads and processes enter the ring at the next event, \fBpoll\fR or \fBread\fR.
A mapping keeps the session open, as a descriptor does; a forked child does not inherit it.
A second mapping of the same length shows the same ring; a mapping of another length fails with \fBEINVAL\fR.
.SH BREAKPOINTS
A breakpoint is a record of six words.
Unused words and bits are 0.
Every hit is counted.
.TP
word 0
Address of the instruction.
.TP
word 1
Bits 0 to 15: actions at a hit: send \fBhit\fR (1), hold the thread (2), include the registers in \fBhit\fR (4).
Bits 16 to 31: base register of the event's memory, as the index of its word in the reply to \fBregisters\fR.
Bits 32 to 47: bytes of memory in the event, at most 4096; fewer if not all can be read.
Bits 48 to 63: base of that memory's address: the stack pointer (0), zero (1), the base register (2).
.TP
word 2
Condition for the actions; 0 for none.
Bits 0 to 15: left side: a register (1), memory (2), the number of hits so far including this one (3); or a rule (4), which acts on the hit or not.
Bits 16 to 31: comparison with the value: equal (0), not equal (1), below (2), not below (3), has all bits of the value (4), has some bit of the value (5), less (6), not less (7).
Less and not less take both for signed numbers.
Bits 32 to 47: index of the register's word, or bytes of memory (1, 2, 4 or 8).
.TP
word 3
Address of the condition's memory. If it cannot be read, the condition does not hold.
With a rule: the number from which \fBtaken\fR counts the hits that the rule takes.
.TP
word 4
Value that the condition compares with, or the number of the rule.
.TP
word 5
Offset of the event's memory from its base.
.SH RULES
A rule takes hits by the thread and by a filter, and has limits for those that it takes.
A breakpoint whose condition is the rule carries out its actions for hits within the limits.
If the rule has an aggregate, these hits are added to it in the kernel, whether the breakpoint has actions or not.
Rules of a session are independent of processes: the limits of a rule count the hits of all breakpoints that name it.
.P
A filter is a list of clauses, each a record of four words.
It holds if all clauses of one of its alternatives do.
A clause whose value cannot be read does not hold.
.TP
words 0 and 1
A value.
.TP
word 2
Bits 0 to 15: comparison, as in a breakpoint's condition.
Bit 16: another alternative begins with this clause.
.TP
word 3
The right side.
Less and not less take the bytes of the value for a signed number, and the right side for one of 64 bits.
.P
A value is a record of two words.
.TP
word 0
Bits 0 to 15: a register (1), memory (2), the number of hits of the breakpoint so far including this one (3), its address (4), the thread's number (5), the session's number of the process (6).
Bits 16 to 31: index of the register's word, or of the memory's base register.
Bits 32 to 47: bytes of a register or of memory: 1, 2, 4 or 8, the lowest ones.
Bits 48 to 63: base of the memory's address: the stack pointer (0), zero (1), the base register (2).
.TP
word 1
Offset of the memory from its base.
Breakpoint instructions in memory have their original bytes.
.P
The limits of a rule are five words.
.TP
word 0
Number of the first taken hits without actions.
.TP
word 1
Of the hits behind them the first has actions, and then each of this number; 0 or 1: each.
.TP
word 2
Hits with actions at most; 0 for any number.
.TP
words 3 and 4
Hits with actions at most within a period, and the period in nanoseconds; 0 for any number.
A new period begins with the first hit behind the last one.
.P
An aggregate has rows by key.
Each row has the number of hits, and the sum, the least and the largest of their values.
All its memory is allocated and charged when it is made: a hit allocates nothing.
A histogram is four words.
.TP
word 0
None (0); a bucket for 0 and from each power of two to the next (1); buckets of one width (2), with one each for smaller and for larger values.
.TP
words 1, 2 and 3
The first value of the buckets of one width, their width, at least 1, and their number, at most 4096; else 0.
.P
Two threads that hit at the same time are both in it.
Registers of 32\-bit programs have words of 32 bits, so that values of registers mean nothing there.
"#;

/// Writes the manual page ntrace(4) in the language of man(7).
///
/// # Errors
/// Errors of `out`.
pub fn page(out: &mut dyn Write) -> fmt::Result {
    out.write_str(HEAD)?;
    section(out, "COMMANDS", commands::DECLARATIONS, commands::DOCUMENTATION)?;
    section(out, "EVENTS", events::DECLARATIONS, events::DOCUMENTATION)?;
    out.write_str(".SH STATUSES\n")?;
    for status in Status::ALL {
        writeln!(out, ".TP\n.BR {} \" (\" {} )", Shown(status.text()), *status as u64)?;
        lines(out, status.documentation())?;
    }
    Ok(())
}

fn section(out: &mut dyn Write, title: &str, list: &[Declaration], documentation: &[Documentation]) -> fmt::Result {
    writeln!(out, ".SH {title}")?;
    for (one, documented) in list.iter().zip(documentation) {
        writeln!(out, ".SS {} ({:#06x})", one.name, one.code)?;
        lines(out, documented.lines)?;
        parameters(out, one.fields, documented.fields)?;
        if !one.reply.is_empty() {
            out.write_str(".P\nThe reply:\n")?;
            parameters(out, one.reply, documented.reply)?;
        }
    }
    Ok(())
}

fn parameters(out: &mut dyn Write, list: &[Parameter], documentation: &[&[&str]]) -> fmt::Result {
    for (field, documented) in list.iter().zip(documentation) {
        writeln!(out, ".TP\n.IR {} \" (\" {} )", field.name, field.kind.name())?;
        lines(out, documented)?;
    }
    Ok(())
}

fn lines(out: &mut dyn Write, documentation: &[&str]) -> fmt::Result {
    documentation.iter().try_for_each(|line| writeln!(out, "{}", Shown(line.trim())))
}

/// Text escaped for roff, with text between backticks in bold.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.starts_with(['.', '\'']) {
            f.write_str("\\&")?;
        }
        let mut bold = false;
        for character in self.0.chars() {
            match character {
                '`' => {
                    bold = !bold;
                    f.write_str(if bold { "\\fB" } else { "\\fR" })?;
                }
                '\\' => f.write_str("\\e")?,
                '-' => f.write_str("\\-")?,
                '"' => f.write_str("\\(dq")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}
