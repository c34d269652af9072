//! What is worked out from a run's graph once: parsed texts, dependencies, names.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use argosy_model::RunSpec;
use argosy_model::graph::{Body, Call, Dag, Graph};
use argosy_model::run::Plan;
use argosy_template::{Expr, Text, When};

use crate::depends::Depends;
use crate::eager;
use crate::results::Results;
use crate::weights;

/// How many parsed texts are kept; a graph has far fewer distinct ones.
const MAX_CACHED: usize = 100_000;

/// Derived from a graph.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    dags: HashMap<u32, DagPlan>,
    /// Position of a call in its template by name: (group or 0, index).
    calls: HashMap<u32, HashMap<String, (u32, u32)>>,
    /// Position of a template by scope and name.
    templates: HashMap<(String, String), u32>,
    /// How many steps a call of each template comes to at least, if all goes well.
    weights: Vec<u64>,
    results: Results,
    texts: Mutex<HashMap<Box<str>, Arc<Text>>>,
    whens: Mutex<HashMap<Box<str>, Arc<When>>>,
    exprs: Mutex<HashMap<Box<str>, Arc<Expr>>>,
}

/// A DAG's edges.
#[derive(Debug, Default)]
pub(crate) struct DagPlan {
    /// For each task, what it waits for by position; `None` for a task that waits for nothing.
    pub(crate) depends: Vec<Option<Depends<u32>>>,
    /// For each task where that may be decided before all of it has ended, how.
    pub(crate) eager: HashMap<u32, eager::Plan>,
    /// For each task, the positions of the tasks that its `depends` names.
    pub(crate) needs: Vec<Vec<u32>>,
    /// For each task, the positions of the tasks that name it.
    pub(crate) dependents: Vec<Vec<u32>>,
}

impl DagPlan {
    fn new(dag: &Dag) -> DagPlan {
        let position: HashMap<&str, u32> =
            (0u32..).zip(&dag.tasks).map(|(at, task)| (task.name.as_str(), at)).collect();
        let mut plan =
            DagPlan { dependents: vec![Vec::new(); dag.tasks.len()], ..DagPlan::default() };
        for (at, task) in (0u32..).zip(&dag.tasks) {
            let depends = task.depends.as_deref().and_then(|text| Depends::parse(text).ok());
            let needs: Vec<u32> = depends
                .iter()
                .flat_map(Depends::tasks)
                .filter_map(|name| position.get(name).copied())
                .collect();
            for need in &needs {
                if let Some(list) = plan.dependents.get_mut(*need as usize) {
                    list.push(at);
                }
            }
            let find = &mut |name: &str| position.get(name).copied();
            let depends = depends.and_then(|depends| depends.looked_up(find));
            plan.needs.push(needs);
            if let Some(depends) = depends.as_ref().filter(|depends| depends.is_eager()) {
                plan.eager.insert(at, eager::Plan::new(depends));
            }
            plan.depends.push(depends);
        }
        plan
    }
}

impl Compiled {
    pub(crate) fn new(spec: &RunSpec) -> Compiled {
        match &spec.plan {
            Plan::Graph(graph) => Compiled::of_graph(graph),
            Plan::Task(_) => Compiled::default(),
        }
    }

    fn of_graph(graph: &Graph) -> Compiled {
        let mut compiled = Compiled::default();
        for (at, template) in (0u32..).zip(&graph.templates) {
            let key = (template.scope.clone(), template.name.clone());
            compiled.templates.entry(key).or_insert(at);
            let names = match &template.body {
                Body::Steps(groups) => {
                    (0u32..).zip(groups).flat_map(|(group, calls)| named(group, calls)).collect()
                }
                Body::Dag(dag) => {
                    compiled.dags.insert(at, DagPlan::new(dag));
                    named(0, &dag.tasks).collect()
                }
                _ => continue,
            };
            compiled.calls.insert(at, names);
        }
        compiled.weights = weights::of(graph, &compiled.dags);
        compiled.results = Results::of(graph);
        compiled
    }

    pub(crate) fn dag(&self, template: u32) -> Option<&DagPlan> {
        self.dags.get(&template)
    }

    /// How many tasks a template's DAG has; 0 where it is none.
    pub(crate) fn dag_size(&self, template: u32) -> usize {
        self.dags.get(&template).map_or(0, |dag| dag.needs.len())
    }

    /// How many steps a call of that template comes to at least, if all goes well.
    pub(crate) fn weight(&self, template: u32) -> u64 {
        self.weights.get(template as usize).copied().unwrap_or(1)
    }

    /// The same of one item of a loop.
    pub(crate) fn item_weight(&self, call: &Call) -> u64 {
        weights::item_weight(call, &self.weights)
    }

    /// Whether the result of a call of that name is read in its template.
    pub(crate) fn reads_result(&self, template: u32, call: &str) -> bool {
        self.results.is_read(template, call)
    }

    pub(crate) fn call(&self, template: u32, name: &str) -> Option<(u32, u32)> {
        self.calls.get(&template)?.get(name).copied()
    }

    pub(crate) fn template(&self, scope: &str, name: &str) -> Option<u32> {
        self.templates.get(&(scope.to_owned(), name.to_owned())).copied()
    }

    pub(crate) fn text(&self, source: &str) -> Result<Arc<Text>, argosy_template::Error> {
        cached(&self.texts, source, Text::parse)
    }

    pub(crate) fn when(&self, source: &str) -> Result<Arc<When>, argosy_template::Error> {
        cached(&self.whens, source, When::parse)
    }

    pub(crate) fn expr(&self, source: &str) -> Result<Arc<Expr>, argosy_template::Error> {
        cached(&self.exprs, source, Expr::parse)
    }
}

fn named(group: u32, calls: &[Call]) -> impl Iterator<Item = (String, (u32, u32))> {
    (0u32..).zip(calls).map(move |(index, call)| (call.name.clone(), (group, index)))
}

fn cached<T>(
    cache: &Mutex<HashMap<Box<str>, Arc<T>>>,
    source: &str,
    parse: impl Fn(&str) -> Result<T, argosy_template::Error>,
) -> Result<Arc<T>, argosy_template::Error> {
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = cache.get(source) {
        return Ok(Arc::clone(found));
    }
    let parsed = Arc::new(parse(source)?);
    if cache.len() < MAX_CACHED {
        cache.insert(source.into(), Arc::clone(&parsed));
    }
    Ok(parsed)
}
