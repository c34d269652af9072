//! What works on this machine.

use std::process::ExitCode;

use serde_json::json;

use super::Context;
use crate::embed;
use crate::failure::Failure;

pub(super) async fn doctor(context: &Context) -> Result<ExitCode, Failure> {
    let data = &context.config.data;
    let server = embed::live_server(data);
    let checks = embed::abilities(data).await?;
    let (machine, resources) = argosy_exec::machine();
    let value = json!({
        "data": data, "server": server, "machine": machine,
        "cpus": resources.cpu_milli / 1000, "memoryMiB": resources.memory_bytes >> 20,
        "checks": checks.iter().map(|check| json!({
            "name": check.name, "works": check.works, "why": check.why, "remedy": check.remedy,
        })).collect::<Vec<_>>()});
    if context.print(&value)? {
        return Ok(ExitCode::SUCCESS);
    }
    anstream::println!("data directory  {}", data.display());
    anstream::println!("server          {}", server.as_deref().unwrap_or("none"));
    anstream::println!(
        "machine         {machine}: {} CPUs, {} MiB for jobs",
        resources.cpu_milli / 1000,
        resources.memory_bytes >> 20
    );
    for check in checks {
        let mark = if check.works { "✔" } else { "✖" };
        anstream::println!("{mark} {:<14}{}", check.name, check.why);
        if !check.remedy.is_empty() {
            anstream::println!("  {}", check.remedy);
        }
    }
    Ok(ExitCode::SUCCESS)
}
