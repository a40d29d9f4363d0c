//! The reference of the vocabulary, out of its declarations.

use core::fmt::{self, Write};

use crate::text::Text;
use crate::{Declaration, Documentation, Parameter, Status, commands, events};

/// A line for each command and event: what `describe` answers. It does without `core::fmt`, which a kernel module cannot link.
///
/// # Errors
/// Those of `out`.
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

/// What stands before the vocabulary.
const HEAD: &str = r#".TH NTRACE 4
.SH NAME
ntrace \- tracing channel
.SH DESCRIPTION
A channel to the kernel is a stream of messages in each direction: commands are written, replies and events are read.
Boundaries of writes and reads mean nothing.
A message is a row of 64\-bit words in the byte order of the machine.
.TP
word 0
Bits 0 to 31: the words of this message, these two included.
Bits 32 to 47: its code.
Bits 48 to 63: its flags.
.TP
word 1
Its tag: of a command the sender's choice, of a reply that of the command, of an event its sequence number.
.P
The fields follow, one word each: a word is its value, a blob is its length in bytes.
Behind all of them stand the contents of the blobs, one behind the other, and zeroes up to a whole word.
.P
Each command is answered by a message of its code and tag, whose first two fields are the status and a detail.
The others are there only where the status is 0.
Commands are carried out in order.
The flag \fBthen\fR, 1, says that the next command is carried out only where this one was done.
.SH THE RING
The file may be mapped: shared, from offset 0 on, one page and a power of two of pages behind it, at most 16 MiB.
Those pages are a ring into which events are put from then on, and not into the stream that is read.
Each is a message as it would be read; one that reaches the ring's end goes on at its beginning.
Words of the first page:
.TP
0
Bytes of the ring.
.TP
1
Bytes from the mapping's beginning to the ring's.
.TP
8
The head: bytes that were ever put. The kernel stores it when they stand in the ring.
.TP
16
The tail: bytes that were ever taken. The reader stores it when it has read them.
.P
An event for which there is no room is lost, and \fBlost\fR tells of it; \fBheld\fR and \fBended\fR are read then.
\fBpoll\fR(2) tells of a ring that is not empty as of bytes that can be read.
Ends of threads and processes are put by the next event, \fBpoll\fR or \fBread\fR.
A mapping keeps the session open as a descriptor does; a forked process does not have it.
A second mapping of the same length is another view of the same ring; one of another length fails with \fBEINVAL\fR.
.SH BREAKPOINTS
A breakpoint is a record of six words.
What has no meaning is 0.
.TP
word 0
Its address.
.TP
word 1
Bits 0 to 15: what happens at a hit beside that it is counted: an event (1), with registers (4), and the thread is held (2).
Bits 16 to 31: the register that memory is counted from, by its word in what \fBregisters\fR gives.
Bits 32 to 47: bytes of memory that the event has, at most 4096; as many as can be read, up to the first that cannot be.
Bits 48 to 63: what their address is counted from: the stack pointer (0), 0 (1), the register (2).
.TP
word 2
A condition without which nothing happens: none (0), or bits 0 to 15 what it looks at: a register (1), memory (2), the hits so far, this one included (3).
Bits 16 to 31: what that is to the value, without a sign: equal (0), not equal (1), below (2), not below (3), has all bits of it (4), has some bit of it (5).
Bits 32 to 47: the register, or 1, 2, 4 or 8 bytes of memory.
.TP
word 3
The address of that memory; where it cannot be read the condition does not hold.
.TP
word 4
The value.
.TP
word 5
What is added to what the event's memory is counted from.
"#;

/// A manual page on the channel, its commands, events and statuses, in the language of `man`.
///
/// # Errors
/// Those of `out`.
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

/// Text in which nothing is a command or a hyphen by chance, and what stands between backticks is bold.
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
