//! What slots hold.

mod address;
mod branch;
mod memory;
mod reach;
mod translation;
