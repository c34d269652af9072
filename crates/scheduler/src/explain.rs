//! Why a job waits, as data. The words are made in [`Reason::sentence`], the only place.

use argosy_model::Resources;
use serde::Serialize;

/// Why a job waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Reason {
    /// Its backoff has not passed.
    Backoff {
        /// Unix ms at which it has.
        until_ms: i64,
    },
    /// Its gang is not complete.
    GangIncomplete {
        /// Members that are here.
        have: u32,
        /// Members that there must be.
        need: u32,
    },
    /// No machine is large enough, even empty.
    NoMachineFits {
        /// What it asks for (a gang: of one member).
        asked: Resources,
        /// How many machines there are.
        machines: usize,
        /// The most that one machine has of each resource.
        largest: Resources,
    },
    /// The machines that are large enough are busy.
    Busy {
        /// What it asks for.
        asked: Resources,
        /// The most that one machine has free of each resource.
        free: Resources,
        /// The most job slots that one machine has free.
        free_slots: u64,
    },
    /// Other jobs go first.
    Behind {
        /// How many.
        ahead: usize,
    },
}

/// What would let the job start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "remedy", rename_all = "kebab-case")]
pub enum Remedy {
    /// Nothing to do: time passes.
    Wait,
    /// Submit the missing members.
    SubmitMembers {
        /// How many.
        count: u32,
    },
    /// Ask for at most this much, or add a larger machine.
    AskForLess {
        /// The most that one machine has.
        at_most: Resources,
    },
}

impl Reason {
    /// What would let the job start.
    #[must_use]
    pub fn remedy(&self) -> Remedy {
        match self {
            Reason::GangIncomplete { have, need } => {
                Remedy::SubmitMembers { count: need.saturating_sub(*have) }
            }
            Reason::NoMachineFits { largest, .. } => Remedy::AskForLess { at_most: *largest },
            Reason::Backoff { .. } | Reason::Busy { .. } | Reason::Behind { .. } => Remedy::Wait,
        }
    }

    /// One sentence for a person.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Reason::Backoff { .. } => "waits for its backoff to pass".to_owned(),
            Reason::GangIncomplete { have, need } => {
                format!("waits for its gang: {have} of {need} members are here")
            }
            Reason::NoMachineFits { asked, machines, largest } => format!(
                "asks for {}; the largest of {machines} machines has {}: ask for less or add a machine",
                shown(asked),
                shown(largest)
            ),
            Reason::Busy { asked, free, free_slots } => format!(
                "asks for {}; at most {} and {free_slots} job slots are free on one machine",
                shown(asked),
                shown(free)
            ),
            Reason::Behind { ahead } => format!("waits behind {ahead} other jobs"),
        }
    }
}

fn shown(resources: &Resources) -> String {
    format!(
        "cpu {}m, memory {} MiB, gpu {}",
        resources.cpu_milli,
        resources.memory_bytes >> 20,
        resources.gpus
    )
}
