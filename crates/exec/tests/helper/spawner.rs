//! The hidden command of the product's binary, and the programs that it is under other names.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
    let arguments: Vec<String> = arguments.collect();
    if let Some(code) = argosy_exec::images::multicall(&program, &arguments) {
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    let done = match &arguments[..] {
        [command, flag, data] if command == "__spawner" && flag == "--data" => {
            argosy_spawn::run(Path::new(data), argosy_spawn::IDLE)
        }
        _ => Err(std::io::Error::other("unknown command")),
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
