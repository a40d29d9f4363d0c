//! Many short texts in one piece of memory.

/// Texts, one behind the other: half a million names take as much memory as they have bytes.
#[derive(Debug, Default)]
pub(super) struct Texts(String);

/// The place of a text among [`Texts`]. The default is that of the empty text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    start: u32,
    length: u32,
}

impl Texts {
    /// Adds a text. `None`: all texts together would have more than 4 GiB.
    pub(super) fn add(&mut self, text: &str) -> Option<Text> {
        let start = u32::try_from(self.0.len()).ok()?;
        let length = u32::try_from(text.len()).ok()?;
        start.checked_add(length)?;
        self.0.push_str(text);
        Some(Text { start, length })
    }

    /// The text at a place that [`Texts::add`] returned.
    pub(super) fn get(&self, text: Text) -> &str {
        let start = text.start as usize;
        self.0.get(start..start.saturating_add(text.length as usize)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_comes_back_and_the_empty_one_has_the_default_place() {
        let mut texts = Texts::default();
        let words = ["malloc", "", "gödel", "malloc"];
        let places = words.map(|word| texts.add(word).unwrap());
        assert_eq!(places.map(|place| texts.get(place)), words);
        assert_eq!(texts.get(Text::default()), "");
    }
}
