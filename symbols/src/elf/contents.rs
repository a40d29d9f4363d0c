//! The decompressed bytes of sections. Their memory is limited, whatever the file states.

use std::io::Read;
use std::sync::Arc;

use liblzma::read::XzDecoder;
use liblzma::stream::Stream;
use object::ObjectSection;
use object::read::{CompressedData, CompressedFileRange, CompressionFormat};

use crate::files::Source;
use crate::reader::{Paged, Reader};

/// The largest ratio of decompressed to compressed size. Symbols and debug information usually shrink to a fourth.
const MOST_EXPANSION: u64 = 64;
/// The largest memory of the xz decoder in bytes. The dictionary of `xz -9` takes half of it.
const MOST_FOR_UNPACKING: u64 = 128 << 20;

/// Returns the bytes of a section of `source`. The result is empty if they cannot be read, or if they decompress to too many bytes.
pub(crate) fn contents<'data>(source: &Source, section: &impl ObjectSection<'data>) -> Arc<[u8]> {
    read(source, section).unwrap_or_default()
}

/// The largest section of debug information that is read whole. Larger ones are read in blocks.
const MOST_AT_ONCE: u64 = 4 << 20;

/// Returns the reader of a section of debug information.
pub(super) fn reader<'data>(source: &Source, section: &impl ObjectSection<'data>) -> Reader {
    let range = section.compressed_file_range().ok();
    let is_large =
        |range: &CompressedFileRange| range.format == CompressionFormat::None && range.uncompressed_size > MOST_AT_ONCE;
    let extent = range.filter(is_large).and_then(|range| source.extent(range.offset, range.uncompressed_size));
    let paged = extent.and_then(Paged::new).map(Reader::Paged);
    paged.unwrap_or_else(|| Reader::whole(contents(source, section)))
}

fn read<'data>(source: &Source, section: &impl ObjectSection<'data>) -> Option<Arc<[u8]>> {
    let range = section.compressed_file_range().ok()?;
    if range.format == CompressionFormat::None {
        return source.take(range.offset, range.uncompressed_size);
    }
    let most = MOST_EXPANSION.saturating_mul(range.compressed_size);
    if range.uncompressed_size > most || !source.allow_expanded(range.uncompressed_size) {
        return None;
    }
    let data = source.take(range.offset, range.compressed_size)?;
    let packed = CompressedData { format: range.format, data: &data, uncompressed_size: range.uncompressed_size };
    packed.decompress().ok().map(|data| Arc::from(&*data))
}

/// Returns the 32-bit words of bytes in the order of memory, least significant byte first. Bytes after the last whole word are left out.
pub(super) fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).filter_map(|word| word.first_chunk()).map(|word| u32::from_le_bytes(*word))
}

/// Decompresses an xz file. `None` if it is malformed or decompresses to too many bytes.
pub(super) fn unxz(source: &Source, packed: &[u8]) -> Option<Vec<u8>> {
    let most = MOST_EXPANSION.saturating_mul(packed.len() as u64);
    let stream = Stream::new_stream_decoder(MOST_FOR_UNPACKING, 0).ok()?;
    let mut data = Vec::new();
    XzDecoder::new_stream(packed, stream).take(most).read_to_end(&mut data).ok()?;
    ((data.len() as u64) < most && source.allow_expanded(data.len() as u64)).then_some(data)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn xz(data: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_was_packed_comes_back() {
        let data: Vec<u8> = (0..10_000u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(unxz(&Source::memory([]), &xz(&data)), Some(data));
    }

    #[test]
    fn a_little_file_does_not_become_a_huge_one() {
        let bomb = xz(&vec![0; 10 << 20]);
        assert!(bomb.len() < 10_000);
        assert_eq!(unxz(&Source::memory([]), &bomb), None);
    }
}
