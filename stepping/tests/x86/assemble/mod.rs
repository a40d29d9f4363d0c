mod boosted;
mod independent;
mod rip_relative;
mod syscall;
mod transaction;
mod translation;
