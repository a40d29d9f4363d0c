//! Breakpoints of the client: `wanted.rs` keeps them, `set.rs` takes them from requests, `place.rs` puts them into programs, and `hit.rs` says
//! what an arrival at one means.

mod hit;
mod hit_count;
mod place;
mod set;
mod wanted;

pub(super) use self::wanted::Wanted;
