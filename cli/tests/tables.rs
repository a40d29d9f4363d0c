//! Tables as comma-separated values, and commands whose arguments a file keeps.

mod common;

use common::{build, run, scratch, stderr, stdout};

/// The fields of a line without quotes inside.
fn fields(line: &str) -> Vec<&str> {
    line.split(',').collect()
}

#[test]
fn tables_are_printed_as_comma_separated_values_too() {
    let program = build("calls.c", &[]);
    let program = program.to_str().unwrap();
    let lines = |command: &[&str]| {
        let file = scratch("table.csv");
        let path = file.to_str().unwrap();
        let output = run(&[command, &["--format", "csv", "-o", path, "--", program, "3"]].concat());
        assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
        let text = std::fs::read_to_string(&file).unwrap();
        text.lines().map(str::to_string).collect::<Vec<_>>()
    };
    let count = lines(&["count", "-b", "work", "quiet"]);
    assert_eq!(count[0], "hits,location,module,symbol,offset,address,file,line");
    assert_eq!(count.len(), 3, "{count:?}");
    for (line, name) in count[1..].iter().zip(["quiet", "work"]) {
        let fields = fields(line);
        assert_eq!((fields[0], fields[2], fields[3], fields.len()), ("3", program, name, 8), "{line}");
    }
    let rows = lines(&["count", "-b", "work", "--by", "arg0", "--hist", "arg0"]);
    assert_eq!(rows[0], "hits,error,location,by,sum,mean,minimum,maximum");
    assert!(rows[3].ends_with("!work,arg0=0x2,2,2,2,2"), "{rows:?}");
    let times = lines(&["latency", "-b", "work"]);
    assert_eq!(times[0], "location,by,count,total,own,mean,minimum,p50,p90,p99,maximum");
    let fields = fields(&times[1]);
    assert_eq!((fields[1], fields[2], fields.len(), times.len()), ("", "3", 11, 2), "{times:?}");
    assert_eq!(fields[3], fields[4]);
}

#[test]
fn a_name_with_commas_and_quotes_is_one_field() {
    let Some(program) = common::build_with("g++", "instances.cpp", &["-O0", "-g"]) else { return };
    let output = run(&["count", "--format", "csv", "-b", "*", "-o", "/dev/stdout", "--", program.to_str().unwrap()]);
    let text = stdout(&output);
    let quoted = text.lines().find(|line| line.contains("\",")).unwrap_or_else(|| panic!("{text}{}", stderr(&output)));
    let outside: String = quoted.split('"').step_by(2).collect();
    assert_eq!(outside.matches(',').count(), 7, "{quoted}");
}

#[test]
fn run_does_what_a_set_of_a_file_says() {
    let program = build("calls.c", &[]);
    let program = program.to_str().unwrap();
    let file = scratch("sets.toml");
    let text = format!(
        "[few]\ncommand = \"trace\"\nlocations = [\"work\"]\nargs = true\nif = 'n > 1'\ntime = \"none\"\nprogram = [{program:?}, \"3\"]\n\n\
         [all]\ncommand = \"count\"\nlocations = \"work\"\nformat = \"csv\"\nlimt = 3\n"
    );
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let output = run(&["run", path, "few"]);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let direct = ["trace", "-b", "work", "--args", "--if", "n > 1", "--time", "none", "--", program, "3"];
    // The program writes to standard error too, at a time of its own.
    let lines = |output| {
        let text = stderr(output).replace(|c: char| c.is_ascii_digit() || c == ' ', "");
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&output), lines(&run(&direct)));
    // The program of the command line takes the place of the set's.
    let other = run(&["run", path, "few", "--", program, "4"]);
    assert_eq!(stderr(&other).matches("!work(").count(), 2, "{}", stderr(&other));
    let wrong = run(&["run", path, "all"]);
    let expected = format!("ntrace: {path}:13:1: 'limt' is no option of ntrace count: did you mean 'quiet'?\n");
    let (start, _) = expected.rsplit_once(':').unwrap();
    assert!(stderr(&wrong).starts_with(start) && wrong.status.code() == Some(2), "{}", stderr(&wrong));
}
