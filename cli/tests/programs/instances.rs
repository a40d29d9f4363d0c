//! Several functions with one name.
use std::hint::black_box;

trait Go {
    fn go(&self) -> u64;
}

struct Alone(u64);

impl Go for Alone {
    #[inline(never)]
    fn go(&self) -> u64 {
        black_box(self.0)
    }
}

impl Go for u32 {
    #[inline(never)]
    fn go(&self) -> u64 {
        black_box(u64::from(*self) + 1)
    }
}

mod app {
    use std::hint::black_box;

    #[inline(never)]
    pub fn same<T: Copy>(value: T) -> T {
        black_box(value)
    }

    pub struct Around<T>(pub T);

    impl<T: Copy + std::fmt::Debug> Around<T> {
        #[inline(never)]
        pub fn take(&self) -> usize {
            black_box(format!("{:?}", self.0)).len()
        }
    }
}

#[inline(never)]
fn call(function: &dyn Fn(u64) -> u64, value: u64) -> u64 {
    black_box(function)(value)
}

#[inline(never)]
fn größe(value: u64) -> u64 {
    black_box(value * 3)
}

fn main() {
    let more = black_box(3u64);
    let mut sum = 0;
    for i in 0..3u64 {
        sum += call(&move |value| black_box(value + more), i) + größe(i);
        sum += Alone(i).go() + black_box(5u32).go();
        sum += app::same::<u8>(3) as u64 + app::same::<f64>(3.0) as u64 + app::same("abc").len() as u64;
        sum += (app::Around(7u16).take() + app::Around("x").take()) as u64;
    }
    println!("{sum}");
}
