//! Why a job waits, as data. The words are made in [`Reason::sentence`], the only place.

use argosy_model::Resources;
use argosy_template::go::time;
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
        /// What counts of what it asks for (a gang: of one member).
        asked: Resources,
        /// How many machines there are.
        machines: usize,
        /// The most that one machine has of each resource.
        largest: Resources,
    },
    /// The machines that are large enough are busy.
    Busy {
        /// What counts of what it asks for.
        asked: Resources,
        /// How many machines there are.
        machines: usize,
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
    /// Ask for at most this much, or, where there are several, add a larger machine.
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
            Reason::Backoff { until_ms } => {
                let at = time::format_ms(time::RFC3339, *until_ms);
                format!("waits for its backoff to pass, at {at}")
            }
            Reason::GangIncomplete { have, need } => {
                format!("waits for its gang: {have} of {need} members are here")
            }
            Reason::NoMachineFits { asked, machines, largest } => {
                let (needs, has) = lacking(asked, largest);
                match machines {
                    0 => "there is no machine".to_owned(),
                    1 => format!("needs {needs}, the machine has {has}: ask for less"),
                    _ => format!(
                        "needs {needs}, the largest of {machines} machines has {has}: ask for less \
                         or add a machine"
                    ),
                }
            }
            Reason::Busy { free_slots: 0, machines, .. } => match machines {
                1 => "waits for another job to end: no job slot is free".to_owned(),
                _ => "waits for another job to end: no job slot is free on any machine".to_owned(),
            },
            Reason::Busy { asked, machines, free, .. } => {
                let (needs, has) = lacking(asked, free);
                let who =
                    if *machines == 1 { "the machine has" } else { "no machine has more than" };
                format!("waits for another job to end: needs {needs}, {who} {has} free")
            }
            Reason::Behind { ahead: 1 } => "waits behind another job".to_owned(),
            Reason::Behind { ahead } => format!("waits behind {ahead} other jobs"),
        }
    }
}

/// What is asked for and what there is, of each resource that there is not enough of; of all that
/// are asked for where each of them is somewhere, but not all on one machine.
fn lacking(asked: &Resources, there: &Resources) -> (String, String) {
    let all = [
        (
            asked.cpu_milli,
            there.cpu_milli,
            format!("{}m of CPU", asked.cpu_milli),
            format!("{}m", there.cpu_milli),
        ),
        (
            asked.memory_bytes,
            there.memory_bytes,
            format!("{} MiB of memory", asked.memory_bytes.div_ceil(MIB)),
            format!("{} MiB", there.memory_bytes / MIB),
        ),
        (asked.gpus, there.gpus, format!("{} GPUs", asked.gpus), there.gpus.to_string()),
    ];
    let short = all.iter().any(|(asked, there, ..)| asked > there);
    let told = all.into_iter().filter(|(asked, there, ..)| *asked > if short { *there } else { 0 });
    let (needs, has): (Vec<_>, Vec<_>) = told.map(|(_, _, needs, has)| (needs, has)).unzip();
    (needs.join(" and "), has.join(" and "))
}

const MIB: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cpu_milli: u64, mib: u64, gpus: u64) -> Resources {
        Resources { cpu_milli, memory_bytes: mib << 20, gpus }
    }

    #[test]
    fn a_sentence_names_what_there_is_not_enough_of() {
        let fits = |machines, asked, largest| Reason::NoMachineFits { asked, machines, largest };
        let busy =
            |machines, asked, free, free_slots| Reason::Busy { asked, machines, free, free_slots };
        for (reason, sentence) in [
            (
                fits(1, of(500, 2048, 0), of(2000, 1024, 0)),
                "needs 2048 MiB of memory, the machine has 1024 MiB: ask for less",
            ),
            (
                fits(3, of(4000, 1, 2), of(2000, 1024, 1)),
                "needs 4000m of CPU and 2 GPUs, the largest of 3 machines has 2000m and 1: ask for \
                 less or add a machine",
            ),
            // Each is somewhere, and not both on one machine.
            (
                fits(2, of(2000, 1024, 0), of(2000, 1024, 0)),
                "needs 2000m of CPU and 1024 MiB of memory, the largest of 2 machines has 2000m \
                 and 1024 MiB: ask for less or add a machine",
            ),
            (fits(0, of(1, 1, 0), of(0, 0, 0)), "there is no machine"),
            (
                busy(1, of(0, 700, 0), of(2000, 512, 0), 3),
                "waits for another job to end: needs 700 MiB of memory, the machine has 512 MiB free",
            ),
            (
                busy(2, of(0, 700, 0), of(2000, 512, 0), 3),
                "waits for another job to end: needs 700 MiB of memory, no machine has more than \
                 512 MiB free",
            ),
            (
                busy(1, of(0, 1, 0), of(2000, 512, 0), 0),
                "waits for another job to end: no job slot is free",
            ),
            (Reason::Behind { ahead: 1 }, "waits behind another job"),
            (Reason::Behind { ahead: 2 }, "waits behind 2 other jobs"),
            (
                Reason::Backoff { until_ms: 60_000 },
                "waits for its backoff to pass, at 1970-01-01T00:01:00Z",
            ),
        ] {
            assert_eq!(reason.sentence(), sentence);
        }
        // A byte more than there is, is more.
        let more = Resources { memory_bytes: (1 << 20) + 1, ..of(0, 0, 0) };
        let told = fits(1, more, of(0, 1, 0)).sentence();
        assert_eq!(told, "needs 2 MiB of memory, the machine has 1 MiB: ask for less");
    }
}
