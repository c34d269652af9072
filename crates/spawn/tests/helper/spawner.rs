//! The hidden command of the product's binary, and a server that can be killed.

use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["__spawner", "--data", data] => argosy_spawn::run(Path::new(data), argosy_spawn::IDLE),
        ["__spawner", "--data", data, "--idle-ms", idle] => {
            let idle = Duration::from_millis(idle.parse().map_err(std::io::Error::other)?);
            argosy_spawn::run(Path::new(data), idle)
        }
        ["serve", data] => {
            argosy_spawn::launch(Path::new(data), &std::env::current_exe()?)?;
            let _connection = argosy_spawn::connect(Path::new(data))?;
            std::io::stdout().write_all(b"\n").and_then(|()| std::io::stdout().flush())?;
            std::io::stdin().read_to_end(&mut Vec::new()).map(drop)
        }
        _ => Err(std::io::Error::other("unknown command")),
    }
}
