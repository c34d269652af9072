//! The hidden command of the product's binary.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [command, flag, data] if command == "__spawner" && flag == "--data" => {
            argosy_spawn::run(Path::new(data), argosy_spawn::IDLE)
        }
        _ => Err(std::io::Error::other("unknown command")),
    }
}
