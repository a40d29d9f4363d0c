//! Surveys parts of the code in threads, one for each processor.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::survey::Survey;

/// Whether a part may end between two neighbouring pieces of code, each an address and bytes.
type MayEnd = fn((u64, &[u8]), (u64, &[u8])) -> bool;
/// Pieces of code with their addresses.
type Pieces<'a> = [(u64, &'a [u8])];

/// The longest time between two calls of `progress`.
const TICK: Duration = Duration::from_millis(100);
/// The bytes of code after which a part may end.
const PART: usize = 1 << 20;

/// Surveys `code` by `look`, which adds what it finds in a part. Parts end where `may_end` allows it between two pieces. `progress` is called
/// repeatedly with the number of bytes done.
pub(crate) fn survey(
    code: &Pieces<'_>,
    may_end: MayEnd,
    look: impl Fn(&Pieces<'_>, &mut Survey) + Sync,
    mut progress: impl FnMut(u64),
) -> Survey {
    let parts = split(code, may_end);
    let look_at = |part: &Pieces<'_>| {
        let mut found = Survey::default();
        look(part, &mut found);
        found
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(parts.len());
    if threads < 2 {
        return parts.into_iter().map(look_at).fold(Survey::default(), Survey::followed_by);
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    let mut found: Vec<Option<Survey>> = parts.iter().map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, parts, look_at) = (sender.clone(), &next, &parts, &look_at);
            scope.spawn(move || {
                let mine = std::iter::from_fn(|| {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    Some((number, *parts.get(number)?))
                });
                // The receiver lives until every part has arrived.
                mine.for_each(|(number, part)| _ = sender.send((number, look_at(part))));
            });
        }
        drop(sender);
        let mut done = 0;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok((number, survey)) => {
                    done += parts.get(number).map_or(0, |part| bytes_of(part));
                    if let Some(place) = found.get_mut(number) {
                        *place = Some(survey);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            progress(done as u64);
        }
    });
    found.into_iter().flatten().fold(Survey::default(), Survey::followed_by)
}

fn bytes_of(part: &Pieces<'_>) -> usize {
    part.iter().map(|(_, bytes)| bytes.len()).sum()
}

/// Splits code into parts of about the same size.
fn split<'c, 'b>(code: &'c Pieces<'b>, may_end: MayEnd) -> Vec<&'c Pieces<'b>> {
    let mut size = 0;
    code.chunk_by(|before, after| {
        size += before.1.len();
        let ends = size >= PART && may_end(*before, *after);
        size = if ends { 0 } else { size };
        !ends
    })
    .collect()
}
