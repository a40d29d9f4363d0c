//! Pictures that the command makes, looked at in a real browser.

mod browser;
#[path = "../common/mod.rs"]
mod common;

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use browser::Browser;
use common::{build, run, scratch, stderr};
use serde_json::Value;

/// Gives a page's frames: text behind the mouse, left edge, top edge and width.
const FRAMES: &str = "[...document.querySelectorAll('#frames g')].filter(g => g.style.display != 'none').map(g => {
    const box = g.querySelector('rect').getBBox();
    return { title: g.querySelector('title').textContent, left: box.x, top: box.y, width: box.width };
})";
/// The variable that names the folder of speedscope, a viewer that runs in a browser.
const SPEEDSCOPE: &str = "NTRACE_SPEEDSCOPE";

/// A frame of a flame graph, as the browser lays it out.
#[derive(Debug)]
struct Frame {
    function: String,
    /// The number in its title.
    amount: f64,
    left: f64,
    top: f64,
    width: f64,
}

/// The number of calls of `middle`, each of which calls `work`. A viewer puts no more rows on its page than it can show.
const ROUNDS: usize = 8;

/// Runs a command on the program of tests/programs/calls.c, and gives the file that it writes.
fn made(command: &[&str], extension: &str) -> PathBuf {
    let program = build("calls.c", &[]);
    let file = scratch("picture").with_extension(extension);
    let [written, program, rounds] = [file.to_str().unwrap(), program.to_str().unwrap(), &*ROUNDS.to_string()];
    let output = run(&[command, &["-o", written, "--", program, rounds]].concat());
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    file
}

/// Opens a file in a browser.
fn opened(test: &str, file: &Path) -> Option<Browser> {
    let browser = Browser::open(&format!("file://{}", file.display()));
    if browser.is_none() {
        crossing::skip(test, "no chromium");
    }
    browser
}

fn frames(browser: &mut Browser) -> Vec<Frame> {
    let all = browser.value(FRAMES);
    let frame = |frame: &Value| {
        let title = frame["title"].as_str().unwrap();
        let (function, rest) = title.rsplit_once(" (").unwrap();
        let amount = rest.split(' ').next().unwrap().replace(',', "").parse().unwrap();
        let number = |key: &str| frame[key].as_f64().unwrap();
        let (left, top, width) = (number("left"), number("top"), number("width"));
        Frame { function: function.rsplit('!').next().unwrap().into(), amount, left, top, width }
    };
    all.as_array().unwrap().iter().map(frame).collect()
}

/// Checks that frames are as wide as their amounts, and that each lies on that of its caller.
fn are_drawn_in_proportion(frames: &[Frame], functions: &[&str]) {
    let whole = frames.iter().find(|frame| frame.function == "all").unwrap();
    for function in functions {
        let frame = frames.iter().find(|frame| frame.function == *function).unwrap_or_else(|| panic!("{frames:?}"));
        let share = frame.amount / whole.amount;
        assert!((frame.width / whole.width - share).abs() < 0.01, "{frame:?} has {share} of {whole:?}");
    }
    for pair in functions.windows(2) {
        let [caller, called] =
            [pair[0], pair[1]].map(|name| frames.iter().find(|frame| frame.function == name).unwrap());
        assert!(called.top < caller.top, "{called:?} is not above {caller:?}");
        assert!(caller.left <= called.left + 0.5, "{called:?} is beside {caller:?}");
        assert!(called.left + called.width <= caller.left + caller.width + 0.5, "{called:?} is beside {caller:?}");
    }
}

#[test]
fn frames_of_a_flame_graph_are_as_wide_as_the_times_and_lie_on_their_callers() {
    let file = made(&["calls", "-b", "main", "-b", "middle", "-b", "work", "--format", "flamegraph"], "svg");
    let Some(mut browser) = opened("frames_of_a_flame_graph", &file) else { return };
    are_drawn_in_proportion(&frames(&mut browser), &["all", "main", "middle", "work"]);
}

#[test]
fn frames_of_counted_stacks_are_as_wide_as_the_hits() {
    let file = made(&["count", "-b", "work", "--stack", "--format", "flamegraph"], "svg");
    let Some(mut browser) = opened("frames_of_counted_stacks", &file) else { return };
    let frames = frames(&mut browser);
    are_drawn_in_proportion(&frames, &["all", "main", "middle", "work"]);
    assert_eq!(frames.iter().find(|frame| frame.function == "work").unwrap().amount, ROUNDS as f64);
}

#[test]
fn a_click_on_a_frame_gives_it_the_whole_width_and_another_takes_it_back() {
    let file = made(&["calls", "-b", "main", "-b", "middle", "-b", "work", "--format", "flamegraph"], "svg");
    let Some(mut browser) = opened("a_click_on_a_frame", &file) else { return };
    let width = |browser: &mut Browser, function: &str| {
        frames(browser).into_iter().find(|frame| frame.function == function).map_or(0.0, |frame| frame.width)
    };
    let (whole, before) = (width(&mut browser, "all"), width(&mut browser, "work"));
    let click = |what: &str| format!("{what}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))");
    let frame = "[...document.querySelectorAll('#frames g')].find(g => /!work /.test(g.textContent))";
    browser.value(&click(frame));
    assert!((width(&mut browser, "work") - whole).abs() < 1.0, "{:?}", frames(&mut browser));
    browser.value(&click("document.getElementById('unzoom')"));
    assert!((width(&mut browser, "work") - before).abs() < 1.0, "{:?}", frames(&mut browser));
}

#[test]
fn a_search_in_a_flame_graph_tells_the_share_of_what_it_finds() {
    let file = made(&["calls", "-b", "main", "-b", "middle", "-b", "work", "--format", "flamegraph"], "svg");
    let Some(mut browser) = opened("a_search_in_a_flame_graph", &file) else { return };
    let frames = frames(&mut browser);
    let amount = |name: &str| frames.iter().find(|frame| frame.function == name).unwrap().amount;
    let expected = format!("Matched: {:.1}%", 100.0 * amount("middle") / amount("all"));
    assert_eq!(browser.value("search('middle'), document.getElementById('matched').textContent"), *expected);
}

/// Opens a file in speedscope, and gives the rows of its table of functions: total, own, name.
fn table(test: &str, file: &Path) -> Option<Vec<[String; 3]>> {
    let Some(viewer) = std::env::var_os(SPEEDSCOPE).map(PathBuf::from) else {
        crossing::skip(test, format_args!("{SPEEDSCOPE} names no folder; `cargo xtask setup` brings it where npm is"));
        return None;
    };
    let name = file.file_name().unwrap().to_str().unwrap();
    let script = scratch("loads.js");
    let content = BASE64_STANDARD.encode(fs::read(file).unwrap());
    fs::write(&script, format!("speedscope.loadFileFromBase64({name:?}, {content:?})")).unwrap();
    let page = viewer.join("dist/release/index.html");
    let url = format!("file://{}#localProfilePath={}", page.display(), script.display());
    let Some(mut browser) = Browser::open(&url) else {
        crossing::skip(test, "no chromium");
        return None;
    };
    browser.until(&format!("document.title.startsWith({name:?})"));
    browser.value("window.dispatchEvent(new KeyboardEvent('keypress', { key: '3' })), true");
    browser.until("document.querySelector('tr td') != null");
    let rows = browser.value(
        "[...document.querySelectorAll('tr')].filter(row => row.querySelector('td')).map(row => [...row.querySelectorAll('td')].map(cell => cell.innerText.trim()))",
    );
    let row = |row: &Value| [0, 1, 2].map(|column| row[column].as_str().unwrap_or_default().to_owned());
    Some(rows.as_array().unwrap().iter().map(row).collect())
}

#[test]
fn a_viewer_in_a_browser_reads_folded_stacks_with_their_times() {
    let file = made(&["calls", "-b", "main", "-b", "middle", "-b", "work", "--format", "folded"], "folded");
    let Some(rows) = table("a_viewer_in_a_browser_reads_folded_stacks", &file) else { return };
    let text = fs::read_to_string(&file).unwrap();
    let own: Vec<u64> = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap()).collect();
    assert_eq!(own.len(), 3, "{text}");
    // Each function calls the next, so that its total is its own time and the total of the next.
    for (number, function) in ["main", "middle", "work"].iter().enumerate() {
        let row = rows.iter().find(|row| row[2].ends_with(&format!("!{function}")));
        let row = row.unwrap_or_else(|| panic!("{function}: {rows:?}"));
        let shown = |column: &str| column.split(' ').next().unwrap().replace(',', "").parse::<u64>().unwrap();
        assert_eq!([shown(&row[0]), shown(&row[1])], [own[number..].iter().sum(), own[number]], "{rows:?}");
    }
    assert_eq!(rows.len(), 3, "{rows:?}");
}

#[test]
fn a_viewer_in_a_browser_shows_each_slice_of_a_trace() {
    let file = made(&["calls", "-b", "main", "-b", "middle", "-b", "work", "--format", "perfetto"], "json");
    let Some(rows) = table("a_viewer_in_a_browser_shows_each_slice", &file) else { return };
    let trace: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let slices: Vec<&Value> = trace.iter().filter(|entry| entry["ph"] == "X").collect();
    assert_eq!(slices.len(), 1 + 2 * ROUNDS);
    // The viewer names a slice by its name and details, and takes equal ones together.
    for slice in slices {
        let name = format!("{} {}", slice["name"].as_str().unwrap(), slice["args"]);
        let row = rows.iter().find(|row| same(&row[2], &name)).unwrap_or_else(|| panic!("{name}: {rows:?}"));
        let (shown, dur) = (microseconds(&row[0]), slice["dur"].as_f64().unwrap());
        assert!((shown - dur).abs() <= dur / 100.0, "{row:?}: {dur} µs");
    }
}

/// The time of a text such as `1.79ms (100%)`.
fn microseconds(text: &str) -> f64 {
    let time = text.split(' ').next().unwrap();
    let unit = time.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = time[..time.len() - unit.len()].parse().unwrap();
    match unit {
        "ns" => number / 1e3,
        "µs" => number,
        "ms" => number * 1e3,
        "s" => number * 1e6,
        other => panic!("no unit {other} in {text}"),
    }
}

/// Whether two names of slices are of one function, line and time. The keys of the details may stand in another order.
fn same(shown: &str, expected: &str) -> bool {
    let parts = |text: &str| {
        let (name, details) = text.split_once(' ')?;
        Some((name.to_owned(), serde_json::from_str::<Value>(details).ok()?))
    };
    parts(shown).is_some() && parts(shown) == parts(expected)
}
