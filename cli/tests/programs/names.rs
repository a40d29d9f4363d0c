//! A path of modules in a Rust program.
mod deep {
    pub mod inner {
        #[inline(never)]
        pub fn work(n: u32) -> u32 {
            std::hint::black_box(n) + 1
        }
    }
}

fn main() {
    let sum: u32 = (0..6).map(deep::inner::work).sum();
    println!("{sum}");
}
