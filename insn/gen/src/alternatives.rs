//! Lines of a data file that stand for several lines.

/// One line per alternative of `[a|b]`, and of each of these one per alternative of its `{a|b}` groups.
pub(crate) fn alternatives(line: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for outer in expand(line, '[', ']')? {
        all.extend(expand(&outer, '{', '}')?);
    }
    Ok(all)
}

/// One line per alternative of the groups between `open` and `close`, taken in parallel.
fn expand(line: &str, open: char, close: char) -> Result<Vec<String>, String> {
    let mut pieces: Vec<Vec<&str>> = Vec::new();
    let mut rest = line;
    let mut count = 1;
    while let Some(start) = rest.find(open) {
        let end = rest.find(close).ok_or("group without an end")?;
        pieces.push(vec![&rest[..start]]);
        let group = split_outside(&rest[start + 1..end]);
        if group.len() > 1 {
            if count > 1 && group.len() != count {
                return Err(format!("{count} and {} alternatives", group.len()));
            }
            count = group.len();
        }
        pieces.push(group);
        rest = &rest[end + 1..];
    }
    pieces.push(vec![rest]);
    Ok((0..count).map(|i| pieces.iter().map(|p| if p.len() == 1 { p[0] } else { p[i] }).collect::<String>()).collect())
}

/// Splits at bars that are not inside a group of the other kind.
fn split_outside(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == '|' && depth == 0
    })
    .collect()
}
