//! The words of a command line of bash, and words as bash reads them.

use std::iter::Peekable;
use std::str::CharIndices;

/// The ends of words that go on, such as the name of a module.
const UNFINISHED: [char; 4] = ['!', ':', '/', '.'];
/// The characters that need no quoting anywhere in a word.
const PLAIN: &str = "_./:,+%@^=-";

/// A command line, cut at the cursor.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// All words, unquoted. Of the one at the cursor only the part before the cursor.
    pub(super) words: Vec<String>,
    /// The number of the word at the cursor.
    pub(super) at: usize,
    /// The word at the cursor as it was typed.
    pub(super) raw: String,
    /// The quote that is open at the cursor.
    pub(super) open: Option<char>,
}

/// A word.
struct Word {
    text: String,
    start: usize,
    open: Option<char>,
}

impl Line {
    /// The command line whose text is before and behind the cursor.
    pub(super) fn of(before: &str, behind: &str) -> Line {
        let mut all = split(before);
        let is_new = all.last().is_none_or(|last| last.open.is_none() && ends_with_space(before));
        if is_new {
            all.push(Word { text: String::new(), start: before.len(), open: None });
        }
        let (at, last) = (all.len() - 1, all.last());
        let (raw, open) = last.map_or(("", None), |last| (&before[last.start..], last.open));
        let (raw, open) = (raw.to_string(), open);
        // What follows the cursor without a space between is of the same word.
        let rest = behind.find(char::is_whitespace).map_or("", |end| &behind[end..]);
        let words = all.into_iter().chain(split(rest)).map(|word| word.text).collect();
        Line { words, at, raw, open }
    }
}

/// Whether a text ends with a space that belongs to no word.
fn ends_with_space(text: &str) -> bool {
    let bare = text.trim_end();
    bare.len() < text.len() && (bare.len() - bare.trim_end_matches('\\').len()) % 2 == 0
}

fn split(text: &str) -> Vec<Word> {
    let (mut words, mut letters) = (Vec::new(), text.char_indices().peekable());
    while let Some(&(start, letter)) = letters.peek() {
        if letter.is_whitespace() {
            letters.next();
            continue;
        }
        words.push(word(start, &mut letters));
    }
    words
}

/// Reads a word up to a space outside of quotes.
fn word(start: usize, letters: &mut Peekable<CharIndices<'_>>) -> Word {
    let mut word = Word { text: String::new(), start, open: None };
    while let Some((_, letter)) = letters.next_if(|(_, letter)| word.open.is_some() || !letter.is_whitespace()) {
        match (word.open, letter) {
            (None, '\'' | '"') => word.open = Some(letter),
            (Some(quote), letter) if letter == quote => word.open = None,
            (None, '\\') => word.text.extend(letters.next().map(|(_, letter)| letter)),
            (Some('"'), '\\') => match letters.next_if(|(_, next)| matches!(next, '"' | '\\' | '$' | '`')) {
                Some((_, next)) => word.text.push(next),
                None => word.text.push('\\'),
            },
            (_, letter) => word.text.push(letter),
        }
    }
    word
}

/// How a word is written that takes the place of the one at the cursor.
pub(super) struct Quoting {
    /// The quote that is open at the cursor.
    pub(super) open: Option<char>,
    /// The word at the cursor as it was typed.
    pub(super) raw: String,
    /// The end of it that readline replaces: what follows the last of the characters at which readline ends words, such as a colon.
    pub(super) replaced: String,
}

impl Quoting {
    /// The text that readline puts in the place of the end of the word, so that the word becomes `word`. `None`: no text does that.
    pub(super) fn quoted(&self, word: &str) -> Option<String> {
        let kept = self.raw.strip_suffix(self.replaced.as_str()).unwrap_or_default();
        let kept = split(kept).into_iter().next().map(|word| word.text).unwrap_or_default();
        let rest = word.strip_prefix(&*kept)?;
        // bash itself does not end the quotation of a word that is no file's name.
        let ended = |quote: char| match word.ends_with(UNFINISHED) {
            true => rest.to_string(),
            false => format!("{rest}{quote}"),
        };
        match self.open {
            Some('\'') => (!rest.contains('\'')).then(|| ended('\'')),
            Some(quote) => (!rest.contains(['"', '\\', '$', '`'])).then(|| ended(quote)),
            None => Some(rest.chars().fold(String::new(), |mut text, letter| {
                let is_plain = letter.is_alphanumeric() || PLAIN.contains(letter);
                text.extend((!is_plain).then_some('\\').into_iter().chain([letter]));
                text
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(before: &str, behind: &str) -> (Vec<String>, usize, String, Option<char>) {
        let Line { words, at, raw, open } = Line::of(before, behind);
        (words, at, raw, open)
    }

    #[test]
    fn words_lose_their_quotes_and_the_one_at_the_cursor_ends_there() {
        let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        assert_eq!(
            line("ntrace count -b 'libc!m", "x' -- ls"),
            (words(&["ntrace", "count", "-b", "libc!m", "--", "ls"]), 3, "'libc!m".into(), Some('\''))
        );
        assert_eq!(line("a b\\ c \"d\\\"e\" ", "f"), (words(&["a", "b c", "d\"e", ""]), 3, String::new(), None));
        assert_eq!(line("a b\\ ", ""), (words(&["a", "b "]), 1, "b\\ ".into(), None));
        assert_eq!(line("a 'b ", ""), (words(&["a", "b "]), 1, "'b ".into(), Some('\'')));
        assert_eq!(line("", ""), (words(&[""]), 0, String::new(), None));
    }

    #[test]
    fn a_word_is_written_as_bash_reads_it_and_without_what_readline_keeps() {
        let quoted = |before: &str, replaced: &str, word: &str| {
            let Line { raw, open, .. } = Line::of(before, "");
            Quoting { open, raw, replaced: replaced.into() }.quoted(word)
        };
        for (before, replaced, word, expected) in [
            ("n -b mal", "mal", "malloc", Some("malloc")),
            ("n -b libc!m", "libc!m", "libc!malloc", Some("libc\\!malloc")),
            ("n -b libc\\!m", "libc\\!m", "libc!malloc", Some("libc\\!malloc")),
            ("n -b 'libc!m", "'libc!m", "libc!malloc", Some("libc!malloc'")),
            ("n -b 'libc!m", "libc!m", "libc!malloc", Some("libc!malloc'")),
            ("n -b 'li", "li", "libc!", Some("libc!")),
            ("n -b \"libc!m", "\"libc!m", "libc!malloc", Some("libc!malloc\"")),
            ("n -b ns::ad", "ad", "ns::add", Some("add")),
            ("n --break=ns::ad", "ad", "--break=ns::add", Some("add")),
            ("n -b ns::A<", "A<", "ns::A<int>", Some("A\\<int\\>")),
            ("n -b 'a", "'a", "a'b", None),
        ] {
            assert_eq!(quoted(before, replaced, word).as_deref(), expected, "{before}");
        }
    }
}
