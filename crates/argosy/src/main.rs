//! The command line.

mod blobs;
mod cli;
mod client;
mod commands;
mod config;
mod embed;
mod failure;
mod input;
mod out;
mod serve;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// The hidden command under which this binary becomes the spawner.
const SPAWNER: &str = "__spawner";

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let program = args.next().map(PathBuf::from).unwrap_or_default();
    let rest: Vec<_> = args.collect();
    if let Some(code) = tool(&program, &rest) {
        return code;
    }
    if rest.first().is_some_and(|first| first == SPAWNER) {
        return spawner(&rest);
    }
    let cli = cli::Cli::parse();
    // The engine and the database have threads of their own.
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = match builder.worker_threads(workers.clamp(1, 8)).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failure::Failure::other(format!("no runtime: {error}")).report(),
    };
    match runtime.block_on(commands::dispatch(cli)) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// The binary under another name is one of the programs that images need.
fn tool(program: &std::path::Path, args: &[std::ffi::OsString]) -> Option<ExitCode> {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let code = argosy_exec::images::multicall(program.to_str()?, &args)?;
    Some(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Becomes the spawner, before any thread exists.
fn spawner(args: &[std::ffi::OsString]) -> ExitCode {
    let dir = args.iter().skip_while(|arg| *arg != "--data").nth(1);
    let Some(dir) = dir.map(PathBuf::from) else { return ExitCode::from(2) };
    match argosy_spawn::run(&dir, argosy_spawn::IDLE) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
