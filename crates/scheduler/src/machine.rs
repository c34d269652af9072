//! Machines and what is free on them.

use argosy_model::Resources;

/// A machine as it joins the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSpec {
    /// Its name.
    pub name: String,
    /// What it has for jobs.
    pub capacity: Resources,
    /// How many jobs it takes at once.
    pub slots: u64,
    /// Whether CPU is compressible there: a request above the machine is clamped to it, and
    /// requests never keep a job from starting (the local machine).
    pub compressible_cpu: bool,
}

/// A machine with what is free on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// As it joined.
    pub spec: MachineSpec,
    pub(crate) free: Resources,
    pub(crate) free_slots: u64,
}

impl Machine {
    pub(crate) fn new(spec: MachineSpec) -> Machine {
        Machine { free: spec.capacity, free_slots: spec.slots, spec }
    }

    /// What a request takes here.
    pub(crate) fn charged(&self, asked: &Resources) -> Resources {
        let cpu_milli = if self.spec.compressible_cpu { 0 } else { asked.cpu_milli };
        Resources { cpu_milli, ..*asked }
    }

    /// Whether a request could be met with nothing else on the machine.
    pub(crate) fn could_take(&self, asked: &Resources) -> bool {
        self.spec.slots > 0 && self.charged(asked).fits(&self.spec.capacity)
    }

    pub(crate) fn can_take(&self, asked: &Resources) -> bool {
        self.free_slots > 0 && self.charged(asked).fits(&self.free)
    }

    /// Takes a request; `false`, and nothing is taken, where it does not fit.
    pub(crate) fn take(&mut self, asked: &Resources) -> bool {
        let charged = self.charged(asked);
        match (self.free.minus(&charged), self.free_slots.checked_sub(1)) {
            (Some(free), Some(slots)) => {
                self.free = free;
                self.free_slots = slots;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn give_back(&mut self, asked: &Resources) {
        self.free = self.free.plus(&self.charged(asked));
        self.free_slots += 1;
        debug_assert!(self.free.fits(&self.spec.capacity), "more free than there is");
        debug_assert!(self.free_slots <= self.spec.slots, "more slots free than there are");
    }
}
