//! The parts of `--help` and of the manual page that no argument has: usage, locations, examples, JSON keys, exit statuses.

/// How the user writes a location.
pub(crate) const LOCATIONS: &str = "\
Locations:
  malloc                 every function of that name in the program and its
                         libraries, also in libraries that are loaded later. A
                         name without parameters, template arguments, tags and
                         clone suffixes means all functions that share it
  'str*'                 a pattern for names, mangled or not: 'core::fmt::*',
                         'ns::Type::*'. * means any characters, ? means one
                         character, \\ quotes the next character
  libc!malloc            only in that module; also libc:malloc. A module is
                         libc, libc.so.6, 'lib*', a path, or [vdso]
  main+0x10              bytes from a symbol
  malloc@plt             the stub through which a module calls another module's
                         function
  memcpy@GLIBC_2.14      one version of a symbol
  ls.c:1250              the start of a source line, in every inlined copy
                         (needs debug information). A line without code means
                         the next line that has code
  0x401136               an address in memory. An address below the size of the
                         program counts from the program's base
  libc!0x9d400           an address in the module's file, as nm and objdump
                         print it; also libc+0x9d400
  usdt:python:gc__*      static probes that programs declare, by provider and
                         name; also libpython!usdt:python:line";

/// What the expression of `--if` may contain.
const FILTERS: &str = "\
Expressions of --if: arguments by name (debug information, or prototypes of the C library), arg0 to arg5, registers, variables, \
memory such as *(u32*)(rdi + 8) and *(u32*)&variable, (i32)arg0, thread.id, thread.name, process.id, process.name, retval (of calls, latency and trace --return), hits (of the location \
so far), time (since the start: time > 2s), numbers, 'c', \"text\", and the operators of C; text =~ \"pattern*\". Comparisons with numbers run \
in the program or in the kernel; other parts stop the thread for ntrace to decide.";

/// The exit statuses of `trace`, `count` and `record`.
pub(crate) const STATUS: &str = "\
Exit status: the program's own; if a signal killed the program, ntrace dies by that signal. 125: ntrace failed. 126: \
the program cannot be run or traced. 127: there is no such program or process. 2: the command line is wrong.";

pub(super) const TRACE_USAGE: &str = "\
ntrace trace [-b LOCATION]... [--events EVENT,...] [--watch WHAT]... [OPTIONS] -- PROG [ARG]...
       ntrace trace [-b LOCATION]... [--events EVENT,...] [--watch WHAT]... [OPTIONS] -p PID";

pub(super) const COUNT_USAGE: &str = "\
ntrace count [-b LOCATION]... [OPTIONS] -- PROG [ARG]...
       ntrace count [-b LOCATION]... [OPTIONS] -p PID";

pub(super) const COVERAGE_USAGE: &str = "\
ntrace coverage [-b LOCATION]... [OPTIONS] -- PROG [ARG]...
       ntrace coverage [-b LOCATION]... [OPTIONS] -p PID";

pub(super) const LATENCY_USAGE: &str = "\
ntrace latency -b LOCATION... [--to LOCATION]... [OPTIONS] -- PROG [ARG]...
       ntrace latency -b LOCATION... [--to LOCATION]... [OPTIONS] -p PID";

pub(super) const CALLS_USAGE: &str = "\
ntrace calls -b LOCATION... [OPTIONS] -- PROG [ARG]...
       ntrace calls -b LOCATION... [OPTIONS] -p PID";

pub(super) const TOP_USAGE: &str = "\
ntrace top -b LOCATION... [OPTIONS] -- PROG [ARG]...
       ntrace top -b LOCATION... [OPTIONS] -p PID";

pub(super) const RUN_USAGE: &str = "\
ntrace run FILE [NAME] [-o FILE]
       ntrace run FILE [NAME] [-o FILE] -- PROG [ARG]...
       ntrace run FILE [NAME] [-o FILE] -p PID";

pub(super) const RUN: &str = "\
Examples:
  ntrace run sets.toml opens
  ntrace run sets.toml opens -p 1234

FILE has sets of arguments, each with a name. A key is a long option of the command; locations are those of -b:

  [opens]
  command = \"count\"                   # trace, count, latency, calls, coverage, top
  locations = [\"libc!open*\"]
  if = 'path =~ \"/etc/*\"'
  output = \"opens.txt\"
  program = [\"ls\", \"-l\"]            # or pid, name, exec, container

docs/sets.md describes the file. The exit status is that of the command. 2: the file is wrong; the message names line and column.";

pub(super) const LIST_USAGE: &str = "\
ntrace list LOCATION... -f FILE...
       ntrace list LOCATION... -p PID";

pub(super) const RECORD_USAGE: &str = "\
ntrace record -o FILE [OPTIONS] -- PROG [ARG]...
       ntrace record -o FILE [OPTIONS] -p PID
       ntrace record --check FILE
       ntrace record --print FILE [--format FORMAT]";

pub(super) const GDBSERVER_USAGE: &str = "\
ntrace gdbserver [HOST]:PORT|PATH|- -- PROG [ARG]...
       ntrace gdbserver [HOST]:PORT|PATH|- -p PID
       ntrace gdbserver --multi [HOST]:PORT|PATH|-";

pub(super) const GDBSERVER: &str = "\
Examples:
  ntrace gdbserver :2345 -- ./prog      in gdb: target remote :2345
  ntrace gdbserver --multi :2345        in gdb: target extended-remote :2345
  gdb -ex 'target remote | ntrace gdbserver - -- ./prog' ./prog
  ntrace gdbserver /run/user/1000/debug -p 1234

Whoever can connect can do what you can: start programs, read and write files. Without HOST, ntrace listens on the loopback interface alone. A socket
at PATH can be connected to by you alone.

When gdb leaves, programs run on without breakpoints, except those that gdb kills.

Exit status: 0. 125: the connection or the tracing failed. 126 and 127: the program cannot be started, the process cannot be traced, or there is none. \
2: the command line is wrong.";

pub(super) const DAP_USAGE: &str = "ntrace dap [[HOST]:PORT|PATH|-]";

pub(super) const DAP: &str = "\
The editor starts ntrace and talks with it by the standard input and output, or connects to ADDRESS. It starts a program or attaches to a process by \
a configuration: \"program\", \"args\", \"cwd\", \"env\" to start one, \"pid\" to attach; \"stopOnEntry\", \"followForks\" (debug children too).

Conditions, values and log points are expressions as for --if of ntrace trace, with the variables at the line. A log point without expressions stops no \
thread.

Whoever can connect can do what you can. Without HOST, ntrace listens on the loopback interface alone.

When the editor leaves, the program that it started is killed, and a process to which it attached runs on.

Exit status: 0. 125: the connection or the tracing failed. 2: the command line is wrong.";

pub(super) const EXPLAIN_USAGE: &str = "\
ntrace explain [OPTIONS] HEX...
       ntrace explain [OPTIONS] -";

pub(super) fn trace() -> String {
    format!(
        "{LOCATIONS}\n\n\
         Examples:\n  \
           ntrace trace -b malloc --args -- ls -l\n  \
           ntrace trace -b 'libc!open*' --stack -o opens.txt -p 1234\n  \
           ntrace trace -b demo.c:12 --locals -- ./demo\n  \
           ntrace trace -b main --every-instruction --format json -o all.json -- ./prog\n  \
           ntrace trace --events syscalls=openat,read,signals,lives -- ls -l\n  \
           ntrace trace --watch counter:rw --watch 'prog!table+8:4' -- ./prog\n  \
           ntrace trace --rules rules.toml -p 1234        (docs/rules.md describes the file)\n  \
           ntrace trace -b 'libc!read' --args --return -- ls -l\n  \
           ntrace trace -b 'libc!read' --args --if 'count >= 65536 && fd > 2' -- ls -l\n\n\
         {FILTERS}\n\n\
         {EVENTS}\n\n\
         JSON: one object a line. Keys: event (\"hit\"), time (seconds), pid, tid, location, module, symbol, offset, address, file \
         and line if known, args and locals (name, type, value, string), stack (location, module, symbol, offset, address, file, line), stack_cut (true: outer callers are missing). A return has event (\"return\"), time, pid, tid, depth, \
         duration (nanoseconds), the function as a hit, and return (value, string). Other events have event, \
         time, pid, tid, and by their kind: \"syscall\" name, number, arguments, result, error, interrupted, duration (nanoseconds); \
         \"signal\" signal, code, origin, sender, address; \"loaded\" and \"unloaded\" module, start, end, build_id; \"forked\" child; \
         \"exec\" program; \"exited\" status; \"killed\" signal; \"thread_started\", \"thread_exited\"; \"watched\" watch, watched, value, and \
         the instruction as for a hit. Events of rules have rule and sequence too, and may have arguments, registers, stack and memory.\n\n\
         Signals: ntrace passes signals that it receives to the program. The terminal sends its signals to the program itself; a \
         second Ctrl-C makes ntrace detach from the program. With -p, Ctrl-C or SIGTERM ends the trace, and the process \
         continues.\n\n{STATUS}"
    )
}

/// What lines of events mean.
const EVENTS: &str = "\
Events: a system call has one line when it returns, with the time of its entry, all six argument registers, and the result or the error's \
name. Signals are told before they are delivered. A line of watched memory has the value after the access and the instruction that made it; \
accesses that the kernel makes for a system call are not seen.";

pub(super) fn count() -> String {
    format!(
        "{LOCATIONS}\n\n\
         Examples:\n  \
           ntrace count -b 'libc!malloc' -- ls -l /usr/lib\n  \
           ntrace count -b 'pthread_*' -p 1234        (Ctrl-C prints the counts)\n  \
           ntrace count --every-instruction -b main --format json -o counts.json -- ./prog\n  \
           ntrace count -b 'libc!malloc' --by caller --top 10 -- ls -l\n  \
           ntrace count -b 'libc!malloc' --hist arg0 -- ls -l\n  \
           ntrace count -b 'libc!malloc' --stack --format flamegraph -o ls.svg -- ls -l\n  \
           ntrace count -b 'libc!open*' --if 'path =~ \"/etc/*\"' -- ls -l\n  \
           ntrace count -b handle_request --serve :9464 --name shopd        (for Prometheus: docs/fleets.md)\n\n\
         {FILTERS}\n\n\
         JSON: one object. Keys: total, counts (hits, location, names, module, symbol, offset, address, file, line), refused \
         (location, module, address, reason: instructions that --every-instruction left without a breakpoint). Locations without \
         hits are listed too; those of --every-instruction only with --all. With --by, --hist or --top: total, counts (hits, error: how much \
         too large hits may be, by, values (sum, mean, minimum, maximum, histogram (from, to, count)), and the location as above), other \
         (hits without a row). With --stack: total, stacks (hits, the location, stack: the callers with the same keys, stack_cut: true if outer callers are missing), other.\n\n{STATUS}"
    )
}

pub(super) fn top() -> String {
    format!(
        "{LOCATIONS}\n\n\
         Examples:\n  \
           ntrace top -b 'libc!*alloc' -p 1234\n  \
           ntrace top -b 'prog!*' -- ./prog >out.txt\n\n\
         Keys: q or Ctrl-C ends, and the program goes on. r, h, l sort by hits a second, hits, location. / begins a filter: only locations with the \
         typed text are shown; Enter ends it, Esc removes it. p or the space bar pauses the view, not the program. Arrows, PgUp and PgDn scroll.\n\n\
         The program that ntrace starts has /dev/null in the place of the terminal; files and pipes stay. At the end the hits are printed as \
         by ntrace count, or written to the file of -o.\n\n\
         {FILTERS}\n\n\
         Exit status: 0 after q. Otherwise as for ntrace count. 2: there is no terminal, or the command line is wrong."
    )
}

/// How calls are timed.
const TIMES: &str = "\
Times: a call lasts from the function's first instruction to the instruction after the call. The time for which ntrace holds the \
thread is left out. What is left of ntrace's own work is that the thread stops and goes on, some microseconds for each hit: times \
below that mean little. A call that longjmp or an exception leaves has no time.";

pub(super) fn latency() -> String {
    format!(
        "{LOCATIONS}\n\n\
         Examples:\n  \
           ntrace latency -b 'libc!malloc' -b 'libc!free' -- ls -l /usr/lib\n  \
           ntrace latency -b handle_request --by caller --histogram -p 1234        (Ctrl-C prints the table)\n  \
           ntrace latency -b handle_request --serve :9464 --name shopd        (for Prometheus: docs/fleets.md)\n  \
           ntrace latency -b 'libc!read' --to 'libc!write' -- ./prog\n\n\
         The columns: how often, the sum of the times, the sum without the time in other functions of the table, the mean, the \
         times below which a half, 90 % and 99 % of all times are, and the longest time.\n\n\
         {TIMES}\n\n\
         {FILTERS}\n\n\
         JSON: one object. Keys: latencies (location, module, symbol, offset, address, file, line, by, count, total, own, mean, \
         minimum, p50, p90, p99, maximum in nanoseconds, histogram (from, to, count)), open (calls that had not returned), unseen \
         (calls whose return cannot be seen).\n\n{STATUS}"
    )
}

pub(super) fn calls() -> String {
    format!(
        "{LOCATIONS}\n\n\
         Examples:\n  \
           ntrace calls -b 'prog!*' -- ./prog\n  \
           ntrace calls -b 'libc!open*' --args --return -- ls -l\n  \
           ntrace calls -b 'prog!*' --depth 2 -o calls.txt -p 1234\n  \
           ntrace calls -b 'prog!*' --format flamegraph -o prog.svg -- ./prog\n  \
           ntrace calls -b 'prog!*' --format perfetto -o prog.json -- ./prog        (open it in ui.perfetto.dev)\n\n\
         A call has one line if it makes no other traced call. Otherwise it has a line that ends with {{ when it makes the first, and a \
         line that begins with }} and has the time when it returns.\n\n\
         {TIMES}\n\n\
         {FILTERS}\n\n\
         JSON: one object a line when a call returns. Keys: event (\"call\"), pid, tid, depth (1: no traced function made the call), \
         duration, own (nanoseconds), location, module, symbol, offset, address, file, line, and args and return (value, string) if asked \
         for.\n\n{STATUS}"
    )
}

pub(super) fn list() -> String {
    format!(
        "{LOCATIONS}\n\n\
         Examples:\n  \
           ntrace list 'mem*' -f /lib/x86_64-linux-gnu/libc.so.6\n  \
           ntrace list main 'libc!open*' -p 1234\n\n\
         The columns: the address (with -p in memory, else in the file), the size of the function in bytes, what is set there over ptrace \
         (jump, or trap where no jump can be set), and how a thread passes a breakpoint: emulated (without a copy), boosted (a copy that jumps back), trapped (a copy with a trap \
         after it), stepped (a copy that is single-stepped), or refused, with the reason.\n\n\
         JSON: one object a line. Keys: location, module, symbol, offset, address, in_file, size, names, indirect, file, line, \
         jump, no_jump, passed, reason.\n\n\
         Exit status: 0. 1: a location means nothing. 125: a file cannot be read, or the process cannot be traced. 127: there \
         is no such process. 2: the command line is wrong."
    )
}

pub(super) fn record() -> String {
    format!(
        "\
ntrace single-steps every instruction, and records what the processor did: address, bytes, next address.

Examples:
  ntrace record -o ls.ntrace -- ls -l
  ntrace record -o - --registers -p 1234 | zstd >trace.zst        (Ctrl-C ends the recording)
  ntrace record --check ls.ntrace
  ntrace record --print ls.ntrace | less

There is no --if: an expression is computed of a thread that a breakpoint holds, and a recording sets none. --after, --until and --limit choose \
what is recorded.

--check compares each step with the decoder's reading of its bytes: length, flow and target. It reports each mismatch with \
address, bytes, expected and actual value, and exits with status 1. FILE may be - in all three forms.

JSON of --print: one object a line. Keys: event (\"step\", \"mapping\", \"started\", \"bits\", \"syscall\", \"signal\", \"exec\", \
\"exited\", \"killed\", \"released\", \"moved\"), tid, pid; of a step pc, bytes, text, next, seen, module, offset, registers.

docs/recording.md describes the format.

{STATUS}"
    )
}

pub(super) const COVERAGE: &str = "\
Examples:
  ntrace coverage -- ./prog
  ntrace coverage --format lcov -o prog.info -- ./prog && genhtml prog.info -o html
  ntrace coverage -b 'libfoo.so!*' -- make check

The program is not changed, and need not be built for coverage: ntrace sets a breakpoint at each basic block, and removes it when a thread \
reaches it. Without -b the blocks are those of the program's own file; with -b they are those of the functions at the locations, also in \
libraries and in other programs that the program executes. Debug information gives source lines; without it there are functions and blocks.

JSON: one object. Keys: modules (module, build_id, blocks (executed, all), refused: blocks that can have no breakpoint, functions (name, \
address, file, line, blocks (executed, all)), files (file, lines: whether each line with code was executed)).";

pub(super) const EXPLAIN: &str = "\
Examples:
  ntrace explain '48 8b 05 10 00 00 00'
  ntrace explain --at 0x401000 --json e8fb0f0000
  objdump -d prog | cut -f2 | ntrace explain --json -

JSON: one object an instruction. Keys: hex, valid, error, length, text, flow, target, encoding, fields, operand_size, \
address_size, memory, implicit_memory, reads, writes, flags_read, flags_written, plan (\"emulate\", \"slot\", \"refuse\"), boosted, \
exit, scratch, reason, slot (bytes), slot_address, slot_text, jump (the bytes of the jump that counts there, if HEX has five bytes \
or more from the instruction on), no_jump (why there can be none), jump_text (jump, mirror and trampoline). A key that does not \
apply is null.

HEX may contain spaces, commas, 0x and \\x. Several instructions in one HEX are explained one after another. With -, each line \
of standard input is one instruction and gets one line, even if it is invalid; length is the number of bytes that the \
instruction has.

Exit status: 0. 1: HEX has no valid instruction. 2: HEX is not hexadecimal, or the command line is wrong.";

pub(super) const SURVEY: &str = "\
Examples:
  ntrace survey /bin/ls
  ntrace survey --json /lib/x86_64-linux-gnu/libc.so.6

Exit status: 0. 125: the file cannot be read or has no code. 2: the command line is wrong.";

pub(super) const COMPLETIONS: &str = "\
Examples:
  ntrace completions bash >~/.local/share/bash-completion/completions/ntrace
  ntrace completions zsh >~/.zfunc/_ntrace        (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  ntrace completions fish >~/.config/fish/completions/ntrace.fish";

pub(super) const CHANNEL: &str = "\
Lines:
  describe [NAME]       all commands and events of the channel, or one with its fields
  NAME VALUE...         a command; a value is a number, or for bytes hex:BYTES, words:NUMBER,NUMBER,... or text:TEXT
  send NAME VALUE...    the same, also for the module's own `describe`
  show [COUNT]          the events that are there; waits until COUNT more were shown, those before replies included

Examples:
  echo describe insert | ntrace channel
  printf '%s\\n' 'attach 4711 0' 'mappings 1' | ntrace channel";

pub(super) const MAN: &str = "\
Examples:
  ntrace man | man -l -
  ntrace man >/usr/local/share/man/man1/ntrace.1";
