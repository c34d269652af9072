//! A container set: processes that wait for each other, as one.

use super::crew::Ended;
use super::fault::cannot_start;
use super::plan::Member;
use argosy_model::Exit;
use argosy_model::process::SetMember;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use std::collections::{BTreeMap, BTreeSet};

/// Runs the members, each once those that it depends on have succeeded. Where one has failed, those
/// that depend on it are left out. The end is the first failure in the order of the set, else that
/// of the member `main`, else of the last one.
pub async fn run<'a, F: Future<Output = Ended>>(
    members: &'a [Member],
    set: &[SetMember],
    start: impl Fn(&'a Member) -> F,
) -> Ended {
    if let Err(what) = check(set) {
        return Ended::refused(cannot_start(what));
    }
    let mut waiting: BTreeSet<usize> = (0..members.len()).collect();
    let mut ended: BTreeMap<&str, Ended> = BTreeMap::new();
    let mut running = FuturesUnordered::new();
    let start = &start;
    loop {
        let ready: Vec<usize> = waiting
            .iter()
            .copied()
            .filter(|at| {
                let needed = set.get(*at).map(|one| &one.dependencies[..]).unwrap_or_default();
                needed.iter().all(|name| ended.get(&**name).is_some_and(Ended::is_success))
            })
            .collect();
        for at in ready {
            waiting.remove(&at);
            if let Some(member) = members.get(at) {
                running.push(async move { (&*member.container.name, start(member).await) });
            }
        }
        match running.next().await {
            Some((name, end)) => drop(ended.insert(name, end)),
            None => return sum(members, ended),
        }
    }
}

/// Whether all dependencies exist and none leads in a circle.
fn check(set: &[SetMember]) -> Result<(), String> {
    let mut done = BTreeSet::new();
    loop {
        let before = done.len();
        for SetMember { container, dependencies } in set {
            if dependencies.iter().all(|name| done.contains(&**name)) {
                done.insert(&*container.name);
            }
        }
        if done.len() == set.len() {
            return Ok(());
        }
        if done.len() == before {
            let stuck = set.iter().find(|one| !done.contains(&*one.container.name));
            let name = stuck.map_or("", |one| &one.container.name);
            return Err(format!(
                "container {name:?} of the set depends on one that does not exist, or on itself"
            ));
        }
    }
}

fn sum(members: &[Member], mut ended: BTreeMap<&str, Ended>) -> Ended {
    let names = members.iter().map(|member| &*member.container.name);
    let failed = names.clone().find(|name| ended.get(name).is_some_and(|end| !end.is_success()));
    let started_ms = ended.values().map(|end| end.started_ms).filter(|at| *at > 0).min();
    let ended_ms = ended.values().map(|end| end.ended_ms).max();
    let last = names.clone().next_back().unwrap_or_default();
    let decisive =
        failed.unwrap_or_else(|| names.clone().find(|name| *name == "main").unwrap_or(last));
    let mut end = ended.remove(decisive).unwrap_or_else(|| Ended::of(Exit::NotStarted));
    for other in ended.values() {
        end.usage.user_us += other.usage.user_us;
        end.usage.system_us += other.usage.system_us;
        end.usage.max_rss_bytes = end.usage.max_rss_bytes.max(other.usage.max_rss_bytes);
    }
    end.started_ms = started_ms.unwrap_or_default();
    end.ended_ms = ended_ms.unwrap_or_default();
    if failed.is_some() { end.named("container", decisive) } else { end }
}
