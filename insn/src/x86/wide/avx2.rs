//! Vectors of AVX2.
#![allow(unused_unsafe, reason = "intrinsics that take no pointer are unsafe in Rust 1.85, and safe since 1.87")]

use core::arch::x86_64::*;

use super::super::walk::Walk;
use super::lengths;
use super::vectors::{BLOCK, Vectors};

/// The proof that the processor has AVX2.
#[derive(Clone, Copy)]
pub(in super::super) struct Finder(());

impl Finder {
    /// A finder, if the processor has AVX2 and the operating system keeps its registers.
    pub(in super::super) fn new() -> Option<Finder> {
        std::arch::is_x86_feature_detected!("avx2").then_some(Finder(()))
    }

    /// What [`lengths::lengths`] does.
    pub(in super::super) fn lengths(self, bytes: &[u8], lens: &mut [u8], walk: &mut Walk<'_>) {
        // SAFETY: a `Finder` exists only where the processor has AVX2, which is all that the function asks for.
        unsafe { with_avx2(self, bytes, lens, walk) }
    }
}

/// The same, compiled for AVX2.
///
/// # Safety
/// The processor has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn with_avx2(finder: Finder, bytes: &[u8], lens: &mut [u8], walk: &mut Walk<'_>) {
    lengths::lengths(finder, bytes, lens, walk);
}

/// Defines methods of [`Vectors`] by intrinsics that take no pointer.
macro_rules! intrinsics {
    ($($name:ident($($operand:ident),*) = $does:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, $($operand: __m256i),*) -> __m256i {
            // SAFETY: a `Finder` exists only where the processor has AVX2, which is all that these intrinsics ask for.
            unsafe { $does }
        }
    )*};
}

impl Vectors for Finder {
    type Block = __m256i;

    #[inline(always)]
    fn prefetch(self, bytes: &[u8]) {
        // SAFETY: a prefetch changes nothing and cannot fault, wherever the address leads.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn load(self, bytes: &[u8; BLOCK]) -> __m256i {
        // SAFETY: the processor has AVX2, as for all methods; the 32 bytes may be read, and the load needs no alignment.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, block: __m256i, bytes: &mut [u8; BLOCK]) {
        // SAFETY: the processor has AVX2, as for all methods; the 32 bytes may be written, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), block) }
    }

    #[inline(always)]
    fn each(self, byte: u8) -> __m256i {
        // SAFETY: the processor has AVX2, as for all methods.
        unsafe { _mm256_set1_epi8(byte as i8) }
    }

    #[inline(always)]
    fn table(self, table: &[u8; 16]) -> __m256i {
        // SAFETY: the processor has AVX2, as for all methods; the 16 bytes may be read, and the load needs no alignment.
        unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast())) }
    }

    intrinsics! {
        look_up(table, indices) = _mm256_shuffle_epi8(table, indices);
        and(a, b) = _mm256_and_si256(a, b);
        or(a, b) = _mm256_or_si256(a, b);
        xor(a, b) = _mm256_xor_si256(a, b);
        without(a, b) = _mm256_andnot_si256(b, a);
        add(a, b) = _mm256_add_epi8(a, b);
        subtract(a, b) = _mm256_sub_epi8(a, b);
        equal(a, b) = _mm256_cmpeq_epi8(a, b);
        signs(a) = _mm256_cmpgt_epi8(_mm256_setzero_si256(), a);
        high_nibbles(a) = _mm256_and_si256(_mm256_srli_epi16::<4>(a), _mm256_set1_epi8(0x0f));
        // The halves are shifted apart; the second operand has for each half the bytes that follow it.
        ahead(a, next) = _mm256_alignr_epi8::<1>(_mm256_permute2x128_si256::<0x21>(a, next), a);
    }
}
