//! What a session does with its events, as data: aggregates of their values.

mod aggregate;

pub use self::aggregate::{Aggregate, Bucket, Buckets, Ranked, Table, Top, Values};
