//! What works on this machine.

use std::process::ExitCode;

use serde_json::json;

use super::Context;
use crate::embed;
use crate::failure::Failure;
use crate::out::say;

pub(super) async fn doctor(context: &Context) -> Result<ExitCode, Failure> {
    let data = &context.config.data;
    let there = embed::is_there(data);
    let state = match &there {
        Ok(true) => String::new(),
        Ok(false) => " (not made yet)".to_owned(),
        Err(Failure(why)) => why.iter().map(|why| format!(" ({})", why.line())).collect(),
    };
    let is_ours = there.is_ok_and(|is| is);
    let server = embed::live_server(data);
    let checks = embed::abilities(is_ours.then_some(data)).await?;
    let (machine, resources) = argosy_exec::machine();
    let value = json!({
        "data": data, "dataState": state.trim(), "server": server, "machine": machine,
        "cpus": resources.cpu_milli / 1000, "memoryMiB": resources.memory_bytes >> 20,
        "checks": checks.iter().map(|check| json!({
            "name": check.name, "works": check.works, "why": check.why, "remedy": check.remedy,
        })).collect::<Vec<_>>()});
    if context.print(&value)? {
        return Ok(ExitCode::SUCCESS);
    }
    say!("data directory  {}{state}", data.display())?;
    say!("server          {}", server.as_deref().unwrap_or("none"))?;
    say!(
        "machine         {machine}: {} CPUs, {} MiB for jobs",
        resources.cpu_milli / 1000,
        resources.memory_bytes >> 20
    )?;
    for check in checks {
        let mark = if check.works { "✔" } else { "✖" };
        say!("{mark} {:<14}{}", check.name, check.why)?;
        if !check.remedy.is_empty() {
            say!("  {}", check.remedy)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
