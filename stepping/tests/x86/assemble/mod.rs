mod boosted;
mod branch;
mod independent;
mod rip_relative;
mod syscall;
mod transaction;
mod translation;
