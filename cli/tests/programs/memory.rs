//! Functions whose results lie in memory; prints the results as ntrace prints them. Most functions are known in this file alone, so that the
//! compiler need not return the address of the memory.

use std::hint::black_box;

pub struct Plain {
    pub id: u64,
    pub name: String,
    pub tail: i64,
}

pub enum Kind {
    Small(u32),
    Large { size: u64, name: String },
}

#[inline(never)]
fn plain(n: u64) -> Plain {
    Plain { id: n, name: "x".repeat(n as usize), tail: -5 }
}

#[inline(never)]
fn kind(n: u64) -> Kind {
    if n == 1 { Kind::Small(7) } else { Kind::Large { size: n, name: "abc".into() } }
}

#[inline(never)]
fn text(n: u64) -> Option<String> {
    (n > 0).then(|| "t".into())
}

#[inline(never)]
fn result(n: u64) -> Result<usize, String> {
    if n == 0 { Err("zero".into()) } else { Ok(n as usize) }
}

#[inline(never)]
#[unsafe(no_mangle)]
pub fn unit(n: u64) -> Result<(), u8> {
    if n == 0 { Err(3) } else { Ok(()) }
}

fn main() {
    for n in 0..black_box(3) {
        let Plain { id, name, tail } = plain(n);
        println!("memory::plain(n={n}) = {{id={id}, name={name:?}, tail={tail}}}");
        match kind(n) {
            Kind::Small(number) => println!("memory::kind(n={n}) = Small({number})"),
            Kind::Large { size, name } => println!("memory::kind(n={n}) = Large{{size={size}, name={name:?}}}"),
        }
        println!("memory::text(n={n}) = {:?}", text(n));
        println!("memory::result(n={n}) = {:?}", result(n));
        println!("unit(n={n}) = {}", format!("{:?}", unit(n)).replace("()", "{}"));
    }
}
