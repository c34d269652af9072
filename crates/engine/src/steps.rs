//! The steps of a run, by key, in pages. One long list would be moved as a whole whenever it grows,
//! which for half a million steps takes longer than a turn may. Whoever reads a run or writes it
//! down takes the pages as they are, and a page is copied when it changes meanwhile.

use std::ops::Index;
use std::sync::Arc;

use argosy_model::Step;
use serde::{Serialize, Serializer};

use crate::snapshot::PAGE_STEPS;

/// Steps in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// All but the last have [`PAGE_STEPS`].
    pages: Vec<Arc<Vec<Step>>>,
}

impl Steps {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        let full = self.pages.len().saturating_sub(1) * PAGE_STEPS;
        full + self.pages.last().map_or(0, |page| page.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The step at a position.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&Step> {
        self.pages.get(at / PAGE_STEPS)?.get(at % PAGE_STEPS)
    }

    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut Step> {
        Arc::make_mut(self.pages.get_mut(at / PAGE_STEPS)?).get_mut(at % PAGE_STEPS)
    }

    /// The first.
    #[must_use]
    pub fn first(&self) -> Option<&Step> {
        self.get(0)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Step> {
        self.into_iter()
    }

    /// Those of one page; none where there is no such page.
    pub(crate) fn page(&self, number: usize) -> Arc<Vec<Step>> {
        self.pages.get(number).map(Arc::clone).unwrap_or_default()
    }

    pub(crate) fn push(&mut self, step: Step) {
        match self.pages.last_mut() {
            Some(page) if page.len() < PAGE_STEPS => Arc::make_mut(page).push(step),
            Some(_) => {
                let mut page = Vec::with_capacity(PAGE_STEPS);
                page.push(step);
                self.pages.push(Arc::new(page));
            }
            // Most runs are small.
            None => self.pages.push(Arc::new(vec![step])),
        }
    }
}

/// All steps in order.
type StepIter<'s> = std::iter::FlatMap<
    std::slice::Iter<'s, Arc<Vec<Step>>>,
    std::slice::Iter<'s, Step>,
    fn(&Arc<Vec<Step>>) -> std::slice::Iter<'_, Step>,
>;

impl Index<usize> for Steps {
    type Output = Step;

    fn index(&self, at: usize) -> &Step {
        &self.pages[at / PAGE_STEPS][at % PAGE_STEPS]
    }
}

impl<'s> IntoIterator for &'s Steps {
    type Item = &'s Step;
    type IntoIter = StepIter<'s>;

    fn into_iter(self) -> StepIter<'s> {
        fn steps(page: &Arc<Vec<Step>>) -> std::slice::Iter<'_, Step> {
            page.iter()
        }
        self.pages.iter().flat_map(steps)
    }
}

impl FromIterator<Step> for Steps {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Steps {
        let mut all = Steps::default();
        steps.into_iter().for_each(|step| all.push(step));
        all
    }
}

impl Serialize for Steps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}
