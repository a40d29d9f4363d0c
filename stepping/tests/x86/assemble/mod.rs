mod boosted;
mod branch;
mod exit;
mod independent;
mod rip_relative;
mod syscall;
mod transaction;
mod translation;
