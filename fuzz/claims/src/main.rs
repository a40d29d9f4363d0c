//! Checks one input again: `claims CLAIM FILE...`, on any toolchain.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let claim = arguments.split_first().and_then(|(name, files)| Some((claims::find(name)?, files)));
    let Some((claim, files)) = claim else {
        eprintln!("usage: claims CLAIM FILE...");
        claims::CLAIMS.iter().for_each(|claim| eprintln!("  {}", claim.name));
        return ExitCode::from(2);
    };
    for file in files {
        match std::fs::read(file) {
            Ok(data) => (claim.check)(&data),
            Err(error) => {
                eprintln!("claims: {file}: {error}");
                return ExitCode::FAILURE;
            }
        }
        println!("{file}: holds");
    }
    ExitCode::SUCCESS
}
