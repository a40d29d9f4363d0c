/// The whole words of `bytes`, in this machine's order.
pub fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes)).collect()
}
