//! Draws the view.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Row as Cells, Table as Widget};

use super::table::{PAST, Sort, Table};

/// A view that is narrower has no bars.
const NARROW: u16 = 70;

/// The bars of rising heights.
const UNICODE: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '.', '.', ':', ':', '-', '=', '+', '#'];

/// Draws the table in the whole area.
pub(super) fn draw(frame: &mut Frame<'_>, table: &mut Table, is_unicode: bool) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
    frame.render_widget(Line::from(summary(table)).bold(), head);
    let is_wide = frame.area().width >= NARROW;
    let height = usize::from(body.height).saturating_sub(1);
    let count = table.wanted().len();
    table.above = table.above.min(count.saturating_sub(height));
    let bars = if is_unicode { &UNICODE } else { &ASCII };
    let rows = table.wanted().into_iter().skip(table.above).take(height).map(|row| {
        let numbers = [row.rate, row.hits].map(|number| Cell::from(Line::from(number.to_string()).right_aligned()));
        let bars = is_wide.then(|| Cell::from(sparkline(row.past.iter().copied(), bars)));
        Cells::new(numbers.into_iter().chain(bars).chain([Cell::from(row.location.clone()).cyan()]))
    });
    let wide = is_wide.then_some(Constraint::Length(PAST as u16));
    let widths = [Constraint::Length(10), Constraint::Length(14)].into_iter().chain(wide).chain([Constraint::Min(10)]);
    let widget = Widget::new(rows, widths).header(header(table.sort, is_wide)).column_spacing(2);
    frame.render_widget(widget, body);
    frame.render_widget(Line::from(footer(table)).dim(), foot);
}

fn summary(table: &Table) -> String {
    let (hits, rate, time) = table.totals();
    let paused = if table.is_paused() { ", paused" } else { "" };
    let processes = if table.processes == 1 { "process" } else { "processes" };
    let noun = if hits == 1 { "hit" } else { "hits" };
    format!("ntrace top: {hits} {noun}, {rate}/s, {} {processes}, {time:.0} s{paused}", table.processes)
}

fn header(sort: Sort, is_wide: bool) -> Cells<'static> {
    let title = |text: &'static str, of: Option<Sort>, is_right: bool| {
        let line = Line::from(text);
        let line = if is_right { line.right_aligned() } else { line };
        Cell::from(line).style(if of == Some(sort) { Style::new().reversed() } else { Style::new().bold() })
    };
    let cells = [title("HITS/S", Some(Sort::Rate), true), title("HITS", Some(Sort::Hits), true)];
    let past = is_wide.then(|| title("UNTIL NOW", None, false));
    Cells::new(cells.into_iter().chain(past).chain([title("LOCATION", Some(Sort::Location), false)]))
}

fn footer(table: &Table) -> String {
    match (table.is_typing, table.filter.is_empty()) {
        (true, _) => format!("filter: {}_   Enter: done  Esc: none", table.filter),
        (false, false) => format!("q quit  p pause  r h l sort  / filter: {}  Esc: none", table.filter),
        (false, true) => "q quit  p pause  r h l sort by rate, hits, location  / filter".into(),
    }
}

/// Bars of the heights of numbers, the last one at the right.
fn sparkline(past: impl ExactSizeIterator<Item = u64> + Clone, bars: &[char; 9]) -> String {
    let most = past.clone().max().unwrap_or(0).max(1);
    let empty = PAST.saturating_sub(past.len());
    let bar = |number: u64| {
        // The smallest number above zero is visible.
        let height = (u128::from(number) * 8).div_ceil(u128::from(most));
        bars.get(height as usize).copied().unwrap_or(' ')
    };
    std::iter::repeat_n(' ', empty).chain(past.map(bar)).collect()
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::feed::Snapshot;
    use super::super::keys::Key;
    use super::*;

    fn lines(table: &mut Table, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, table, true)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_string();
        (0..height).map(line).collect()
    }

    fn table() -> Table {
        let mut table = Table::default();
        let new = (0..30).map(|number| format!("prog!f{number:02}")).collect();
        let hits = |factor: u64| (0..30).map(|number| (number, (30 - number as u64) * factor)).collect();
        table.update(Snapshot { time: 1.0, processes: 2, new, hits: hits(1) });
        table.update(Snapshot { time: 2.0, processes: 2, new: Vec::new(), hits: hits(9) });
        table
    }

    #[test]
    fn the_view_has_a_head_rows_and_the_keys() {
        let shown = lines(&mut table(), 80, 10);
        assert_eq!(shown[0], "ntrace top: 4185 hits, 3720/s, 2 processes, 2 s");
        assert!(shown[1].contains("HITS/S") && shown[1].ends_with("LOCATION"), "{shown:?}");
        assert!(shown[2].starts_with("       240             270") && shown[2].contains("▁█  prog!f00"), "{shown:?}");
        assert!(shown[8].ends_with("prog!f06") && shown[9].starts_with("q quit"), "{shown:?}");
    }

    #[test]
    fn the_view_fits_any_size_and_does_not_scroll_beyond_the_last_row() {
        let mut table = table();
        for (width, height) in [(1, 1), (2, 3), (40, 5), (300, 100), (0, 0)] {
            lines(&mut table, width, height);
        }
        let narrow = lines(&mut table, 50, 5);
        assert!(narrow[2].ends_with("270  prog!f00"), "{narrow:?}");
        assert!((0..10).all(|_| table.press(Key::PageDown)));
        let end = lines(&mut table, 50, 5);
        assert!(end[2].ends_with("prog!f28") && end[3].ends_with("prog!f29"), "{end:?}");
        table.press(Key::Up);
        assert!(lines(&mut table, 50, 5)[2].ends_with("prog!f27"));
    }

    #[test]
    fn a_bar_is_as_high_as_its_number_is_large() {
        assert_eq!(sparkline([0, 1, 50, 100].into_iter(), &UNICODE).trim_start(), "▁▄█");
        assert_eq!(sparkline(std::iter::repeat_n(7, PAST), &ASCII), "#".repeat(PAST));
    }
}
