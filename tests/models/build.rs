//! Tells the kernel module's files that they are compiled for a model: loom's numbers cannot be constants.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(model)");
    println!("cargo::rustc-cfg=model");
    println!("cargo::rerun-if-changed=build.rs");
}
