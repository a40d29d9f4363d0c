//! `--if` and `--sample`: the hits are those for which the program itself says that the condition held.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::{build, count, ntrace, run, scratch, source, stderr, stdout, trace};

/// Expressions, each with the name under which the program prints how often it held.
const EXPRESSIONS: [(&str, &str); 36] = [
    ("negative", "n < 0"),
    ("negative", "(i32)arg0 < 0"),
    ("negative", "0 > n"),
    ("large", "size > 4000000000"),
    ("large", "arg1 > 4000000000 && (u32)arg1 != 0"),
    ("either", "n == 3 || n == 5 && size != 0"),
    ("not", "!(n == 3 || size > 100)"),
    ("not", "!(thread.id == 0 || n == 3 || size > 100)"),
    ("named", "name == \"beta\""),
    ("named", "arg2 == \"beta\""),
    ("like", "name =~ \"a*\""),
    ("all_bits", "(flags & 0x41) == 0x41"),
    ("some_bits", "flags & 0x6"),
    ("some_bits", "(flags & 0x6) != 0 && (flags ^ 0) < 256"),
    ("global", "(i32)level > 2"),
    ("global", "*(i32*)&level > 2"),
    ("memory", "*(u32*)(item + 4) == 7"),
    ("memory", "*(u32*)(arg3 + 2 * 2) == 7"),
    ("memory", "item->weight == 7"),
    ("memory", "!(item->weight != 7) && n >= -100"),
    ("behind", "item->place.y == -3"),
    ("next", "item->next->weight > 4"),
    ("next", "item->next->weight >= 2 + 3"),
    ("label", "item->label == \"beta\""),
    ("unnamed", "item->low == 9"),
    ("sum", "n + size == 9"),
    ("odd", "n % 2 == 1"),
    ("color", "color == 2"),
    ("color", "color == \"BLUE\""),
    ("member", "pair.right == 4"),
    ("fraction", "ratio * 2 > 5"),
    ("worker", "thread.name == \"worker\""),
    ("mixed", "n > 0 && thread.name == \"worker\""),
    ("call", "size >= 0"),
    ("call", "time < 1h && process.id == process.id && process.name =~ \"*filt*\""),
    ("call", "*(u8*)0 == 1 || 1"),
];

/// How often the program says that a condition held.
fn said(output: &str, label: &str) -> u64 {
    let of = |line: &str| line.strip_prefix(label)?.strip_prefix(' ')?.parse().ok();
    output.lines().find_map(of).unwrap_or_else(|| panic!("no {label} in {output:?}"))
}

#[test]
fn hits_are_counted_for_which_the_program_says_that_the_condition_held() {
    let program = build("filtered.c", &["-lpthread"]);
    let undisturbed = stdout(&Command::new(&program).output().unwrap());
    for (label, expression) in EXPRESSIONS {
        for method in ["auto", "trap"] {
            let counts = count(&["work"], &["--if", expression, "--method", method], &program, &[]);
            assert_eq!(stdout(&counts.output), undisturbed, "{expression}");
            assert_eq!(counts.output.status.code(), Some(3), "{expression}: {}", stderr(&counts.output));
            assert_eq!(counts.total, said(&undisturbed, label), "{expression} {method}: {}", stderr(&counts.output));
        }
    }
}

/// The number of lines that a command writes to a file.
fn lines(command: &str, flags: &[&str], program: &Path) -> (Vec<String>, Output) {
    let file = scratch("filtered");
    let mut ntrace = ntrace();
    let output =
        ntrace.args([command, "-b", "work", "-o"]).arg(&file).args(flags).arg("--").arg(program).output().unwrap();
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    (text.lines().map(str::to_string).collect(), output)
}

#[test]
fn lines_calls_and_times_are_those_of_wanted_hits() {
    let program = build("filtered.c", &["-lpthread"]);
    let undisturbed = stdout(&Command::new(&program).output().unwrap());
    for (label, expression) in
        [("either", "n == 3 || n == 5 && size != 0"), ("mixed", "n > 0 && thread.name == \"worker\"")]
    {
        let expected = said(&undisturbed, label) as usize;
        for flags in [&[][..], &["--method", "trap"], &["--args"], &["--stack"], &["--stack", "--method", "jump"]] {
            let (hits, output) = trace(&[&["-b", "work", "--if", expression], flags].concat(), &program, &[]);
            assert_eq!(hits.len(), expected, "{expression} {flags:?}: {}", stderr(&output));
            assert_eq!(stdout(&output), undisturbed, "{expression} {flags:?}");
        }
        let (calls, output) = lines("calls", &["--if", expression], &program);
        assert_eq!((calls.len(), stdout(&output)), (expected, undisturbed.clone()), "{expression}");
        let (rows, output) = lines("latency", &["--if", expression], &program);
        assert_eq!(stdout(&output), undisturbed, "{expression}");
        assert!(rows[1].trim_start().starts_with(&format!("{expected} ")), "{rows:?}");
        let (rows, _) = lines("count", &["--by", "thread", "--if", expression], &program);
        assert_eq!(rows.last().unwrap().trim(), format!("{expected}  in all"), "{rows:?}");
    }
}

#[test]
fn hits_of_a_location_are_numbered_from_one() {
    let program = build("filtered.c", &["-lpthread"]);
    for method in ["auto", "trap"] {
        let (hits, _) =
            trace(&["-b", "work", "--args", "--method", method, "--if", "hits == 3 || hits == 5"], &program, &[]);
        let first = |hit: &serde_json::Value| hit["args"][0]["value"].as_i64().unwrap();
        assert_eq!(hits.iter().map(first).collect::<Vec<_>>(), [-2, 0], "{method}");
    }
}

#[test]
fn a_sample_has_the_first_hit_and_each_nth_after_it() {
    let program = build("filtered.c", &["-lpthread"]);
    let first = |hit: &serde_json::Value| hit["args"][0]["value"].as_i64().unwrap();
    for flags in [&["--method", "auto"][..], &["--method", "trap"], &["--method", "auto", "--stack"]] {
        let sample = |more: &[&str]| {
            let (hits, output) =
                trace(&[&["-b", "work", "--args", "--sample", "1/5"], flags, more].concat(), &program, &[]);
            assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
            hits.iter().map(first).collect::<Vec<_>>()
        };
        assert_eq!(sample(&[]), [-4, 1, 6, 11, 0, 5, 10], "{flags:?}");
        assert_eq!(sample(&["--if", "n < 0"]), [-4, -3], "{flags:?}");
        assert_eq!(sample(&["--if", "thread.name != \"worker\""]), [-4, 1, 6, 11], "{flags:?}");
    }
    let refused = run(&["count", "-b", "work", "--sample", "1/5", "--", program.to_str().unwrap()]);
    assert_eq!((refused.status.code(), stdout(&refused)), (Some(2), String::new()));
}

#[test]
fn what_is_wrong_with_an_expression_is_shown_below_it_before_the_program_starts() {
    let program = build("filtered.c", &["-lpthread"]);
    let program = program.to_str().unwrap();
    for (expression, caret, what) in [
        ("n >", 3, "a value is missing here"),
        ("n b", 2, "an operator is missing before this, such as && or =="),
        ("name == \"x", 8, "the text has no closing \""),
        ("n == 2x", 5, "'2x' is no number; write 10, 0x1f, or a time such as 2s, 10ms, 5min"),
        ("n # 2", 2, "this character has no meaning here; put text between \""),
        ("n\t# 2", 3, "this character has no meaning here; put text between \""),
        ("*n == 2", 0, "memory is written *(TYPE*)ADDRESS, with u8, u16, u32, u64, i8, i16, i32 or i64 for TYPE"),
        ("time > 4096", 5, "a time is compared with a number; write a time with its unit, such as 2s or 10ms"),
        ("thread.name == 3", 12, "a number is compared with a text; put text between \""),
        ("hits == \"b\"", 5, "a number of 8 bytes is compared with a text; compare it with a number"),
        ("thread.name < \"b\"", 12, "texts are compared by ==, != and =~ alone"),
        (
            "thread.nam == \"b\"",
            0,
            "there is no 'thread.nam'; there are thread.id, thread.name, process.id, process.name, hits, time",
        ),
        ("name", 0, ""),
        ("thread.name", 0, "this is a text, which is neither true nor false; compare it with =="),
        (
            "flags & 4 == 4",
            10,
            "this is the result of a comparison, where a number is needed; put parentheses around the other operator: (flags & 4) == 4",
        ),
    ] {
        let output = run(&["count", "-b", "work", "--if", expression, "--", program]);
        if what.is_empty() {
            assert_eq!(output.status.code(), Some(3), "{expression}");
            continue;
        }
        let shown = expression.replace('\t', "\\t");
        let expected = format!("ntrace:   {shown}\nntrace:   {:caret$}^\nntrace: --if: {what}\n", "");
        assert_eq!((stderr(&output), stdout(&output)), (expected, String::new()), "{expression}");
        assert_eq!(output.status.code(), Some(2), "{expression}");
    }
}

#[test]
fn what_a_function_does_not_have_is_told_before_the_program_starts() {
    let program = build("filtered.c", &["-lpthread"]);
    let program = program.to_str().unwrap();
    for (expression, caret, what) in [
        ("sise > 3", 0, "'sise' is no argument, no register and no variable: did you mean 'size'?"),
        (
            "1 && nosuch",
            5,
            "'nosuch' is no argument, no register and no variable: the arguments are n, size, name, item, color, flags, pair, ratio; or write arg0 to arg5, or a register",
        ),
        ("size == \"x\"", 5, "a number of 4 bytes is compared with a text; compare it with a number"),
        ("n == \"x\"", 2, "a number of 4 bytes is compared with a text; compare it with a number"),
        ("flags == 256", 9, "a number of 1 byte from 0 to 255 is compared with 256"),
        (
            "size == -1",
            8,
            "a number of 4 bytes from 0 to 4294967295 is compared with -1; write (i64)VALUE or (i32)VALUE for a signed number",
        ),
        ("pair", 0, "'pair' is no number and no text; it has pair.left, pair.right"),
        (
            "item->wait == 1",
            0,
            "there is no member 'wait' in item: it has kind, weight, place, label, next, bits, share",
        ),
        (
            "item->next->place == 1",
            0,
            "'item->next->place' has the type place, neither a number without fraction nor a pointer; it has x, y",
        ),
        ("n->x == 1", 0, "'n' has the type int, which is no pointer"),
        ("item->weight->x == 1", 0, "'item->weight' has the type unsigned int, which is no pointer"),
        ("nosuch->x == 1", 0, "'nosuch' is no argument here"),
        ("item->bits == 5", 0, "'bits' of item is a bit-field, which filters do not read"),
        ("item->share > 0", 0, "'item->share' has the type float, neither a number without fraction nor a pointer"),
        ("ratio & 1", 0, "this is a number with a fraction, where a number is needed"),
        ("*(u8*)&nosuch", 6, "no file of the program has a variable or function 'nosuch'"),
    ] {
        let output = run(&["count", "-b", "work", "--if", expression, "--", program]);
        let expected = format!("ntrace:   {expression}\nntrace:   {:caret$}^\nntrace: --if: filtered", "");
        let text = stderr(&output);
        let end = format!("!work: {what}\nntrace: --if: the expression makes no sense at any location\n");
        let name = Path::new(program).file_name().unwrap().to_str().unwrap();
        let text = text.replace(name, "filtered");
        assert!(text.starts_with(&expected) && text.ends_with(&end), "{expression}: {text}");
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{expression}");
    }
}

#[test]
fn what_functions_of_a_library_do_not_have_is_told_once_each_and_summed_up() {
    let output = run(&["count", "-b", "libc!str*", "-b", "libc!fd*", "--if", "nosuch", "--", "true"]);
    let text = stderr(&output);
    let places = text.lines().filter(|line| line.contains("'nosuch' is no argument")).count();
    assert_eq!((places, output.status.code()), (4, Some(125)), "{text}");
    assert!(text.contains("--if: the expression makes no sense at ") && text.contains(" more locations"), "{text}");
}

#[test]
fn hits_begin_after_a_location_and_end_at_one() {
    let program = build("filtered.c", &["-lpthread"]);
    let undisturbed = stdout(&Command::new(&program).output().unwrap());
    // The program begins its second thread when the first has made half of the calls.
    for method in ["auto", "trap"] {
        for (flags, expected) in [
            (&["--after", "pthread_create"][..], 16),
            (&["--until", "pthread_create"], 16),
            (&["--after", "work", "--until", "pthread_create", "--if", "n > 0"], 11),
            (&["--after", "pthread_create", "--if", "thread.name == \"worker\""], 16),
            (&["--after", "pthread_create", "--until", "main"], 16),
            (&["--after", "abort"], 0),
        ] {
            let counts = count(&["work"], &[flags, &["--method", method]].concat(), &program, &[]);
            assert_eq!(counts.total, expected, "{flags:?} {method}: {}", stderr(&counts.output));
            assert_eq!(stdout(&counts.output), undisturbed, "{flags:?} {method}");
            let (hits, output) = trace(&[&["-b", "work", "--method", method], flags].concat(), &program, &[]);
            assert_eq!(hits.len() as u64, expected, "{flags:?} {method}: {}", stderr(&output));
            assert_eq!((stdout(&output), output.status.code()), (undisturbed.clone(), Some(3)), "{flags:?} {method}");
        }
    }
    let (calls, _) = lines("calls", &["--after", "pthread_create"], &program);
    assert_eq!(calls.len(), 16, "{calls:?}");
}

#[test]
fn a_location_of_after_that_is_not_there_fails() {
    let program = build("filtered.c", &["-lpthread"]);
    let program = program.to_str().unwrap();
    let output = run(&["count", "-b", "work", "--after", "nosuch", "--", program]);
    let text = stderr(&output);
    assert!(text.contains("--after: 'nosuch'") && text.contains("nothing was traced"), "{text}");
    assert_eq!(output.status.code(), Some(125), "{text}");
    let output = run(&["count", "-b", "work", "--until", "0x1234", "--", program]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
}

/// The line of the program `inside.c` that gets breakpoints.
const INSIDE_LINE: u32 = 24;

/// Conditions inside of a function, each with the number of times that the program says that it holds at `inside`.
const INSIDE: [(&str, u64); 10] = [
    ("i == 97", 1),
    ("i >= 90 && total != 3", 10),
    ("mine.y == 4", 25),
    ("mine.x < 0 - mine.y", 0),
    ("at->y == 4 && i < 50", 12),
    ("both.second.y == 3 && both.first.x == i", 25),
    ("calls == 100", 1),
    ("calls == i + 1", 100),
    ("small == 5", 39),
    ("name == \"even\"", 50),
];

#[test]
fn variables_in_scope_have_their_values_inside_of_a_function() {
    let line = format!("inside.c:{INSIDE_LINE}");
    for flags in [&["-g", "-O0"][..], &["-g", "-O0", "-fomit-frame-pointer"]] {
        let program = build("inside.c", flags);
        let undisturbed = Command::new(&program).output().unwrap();
        for (expression, expected) in INSIDE {
            for method in ["auto", "trap"] {
                let flags = ["--if", expression, "--method", method];
                let counts = count(&[&line], &flags, &program, &[]);
                assert_eq!(counts.total, expected, "{expression} {method}: {}", stderr(&counts.output));
                assert_eq!(counts.output.status.code(), undisturbed.status.code());
                assert_eq!(counts.output.stdout, undisturbed.stdout);
            }
        }
        let wrong = run(&["count", "-b", &line, "--if", "nothing == 3", "--", program.to_str().unwrap()]);
        let said = stderr(&wrong);
        assert!(said.contains("the variables are ") && said.contains("small"), "{said}");
    }
}

#[test]
fn a_32_bit_program_has_no_variables_in_filters_and_none_is_guessed() {
    let Some(program) = common::build_narrow("inside.c", &["-g", "-O0"]) else { return };
    let line = format!("inside.c:{INSIDE_LINE}");
    let output = run(&["count", "-b", &line, "--if", "i == 97", "--", program.to_str().unwrap()]);
    assert!(stderr(&output).contains("'i' is no argument"), "{}", stderr(&output));
    assert_ne!(output.status.code(), Some(4));
}

#[test]
fn a_variable_of_each_thread_has_the_value_of_the_thread_at_the_location() {
    for flags in [&["-pthread"][..], &["-pthread", "-fno-pie", "-no-pie"], &["-pthread", "-static"]] {
        let program = build("own.c", flags);
        for (expression, hits) in [
            ("level == 7", 2),
            ("level == 200 && number == 2", 2),
            ("level != 7 && level < 300", 2),
            ("aligned == 6", 2),
            ("aligned > 4 && *(i64*)&aligned < 6", 2),
            ("*(u8*)&text == 3", 2),
            ("*(u8*)(&text + 1) == 0", 6),
            ("errno == 33", 2),
            ("errno > 30", 6),
        ] {
            // A file whose code the loader has not mapped yet has no variables.
            let location = if expression.starts_with("errno") { "getppid" } else { "reached" };
            let counts = count(&[location], &["--if", expression], &program, &[]);
            assert_eq!(counts.total, hits, "{expression} {flags:?}: {}", stderr(&counts.output));
        }
        let text = std::fs::read_to_string(source("own.c")).unwrap();
        let line = 1 + text.lines().position(|line| line.contains("/* HERE")).unwrap();
        let (hits, output) = trace(&["-b", &format!("own.c:{line}"), "--locals"], &program, &[]);
        let calls = |hit: &serde_json::Value| {
            let all = hit["locals"].as_array().unwrap();
            all.iter().find(|local| local["name"] == "calls").map(|local| local["value"].to_string())
        };
        let calls: Vec<Option<String>> = hits.iter().map(calls).collect();
        let expected = ["1", "2", "2", "4", "3", "6"].map(|value| Some(value.to_owned()));
        assert_eq!(calls, expected, "{flags:?}: {hits:?} {}", stderr(&output));
    }
}

#[test]
fn what_is_wrong_with_a_variable_of_each_thread_is_told() {
    let program = build("own.c", &["-pthread"]);
    let output = run(&["count", "-b", "reached", "--if", "text == 1", "--", program.to_str().unwrap()]);
    let told = stderr(&output);
    assert!(told.contains("'text' has 24 bytes; write *(u32*)&text for a part of it"), "{told}");
}
