//! Artifacts of a run that are deleted by themselves
//! (argo-workflows `workflow/controller/artifact_gc.go` `findArtifactsToGC`).

use std::collections::BTreeMap;

use argosy_model::graph::{Graph, Template};
use argosy_model::{Keep, Location, Step};

use crate::run::Run;

impl Run {
    /// Keys of the space's own store under which attempts of this run have kept artifacts that are
    /// to be deleted, and when. Only what an attempt has written counts: an input, and outputs that
    /// were taken from another run's, are not this run's to delete. (Upstream deletes the latter.)
    #[must_use]
    pub fn garbage(&self) -> BTreeMap<&str, Keep> {
        let mut found = BTreeMap::new();
        let Some(graph) = self.graph().filter(|graph| deletes(graph)) else { return found };
        for step in &self.steps {
            let template = graph.templates.get(step.template as usize);
            for (name, key) in written(step) {
                let keep = template.and_then(|template| said(template, name));
                let keep = keep.unwrap_or(graph.keep);
                let longest = found.entry(key).or_insert(keep);
                *longest = keep.max(*longest);
            }
        }
        found.retain(|_, keep| *keep != Keep::Always);
        found
    }
}

/// Whether anything is deleted at all.
fn deletes(graph: &Graph) -> bool {
    let outputs = graph.templates.iter().flat_map(|template| &template.outputs.artifacts);
    let said = outputs.filter_map(|output| output.keep);
    said.chain([graph.keep]).any(|keep| keep != Keep::Always)
}

/// What a template says of an artifact. Logs that are kept as one are not declared.
fn said(template: &Template, name: &str) -> Option<Keep> {
    template.outputs.artifacts.iter().find(|output| output.name == name)?.keep
}

/// Artifacts that the attempts of a step have kept: (name, key).
fn written(step: &Step) -> impl Iterator<Item = (&str, &str)> {
    let ends = step.attempts.iter().filter_map(|attempt| attempt.end.as_deref());
    ends.flat_map(|end| &end.outputs.artifacts).filter_map(|(name, artifact)| {
        let Location::Blob { key } = &artifact.at else { return None };
        Some((&**name, &**key))
    })
}

#[cfg(test)]
mod tests {
    use argosy_model::attempt::{Attempt, End, Exit};
    use argosy_model::{Archive, Artifact, Outputs, RunId, RunSpec};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Prepared, submit};

    fn artifact(key: &str) -> Artifact {
        let at = Location::Blob { key: key.into() };
        Artifact { at, archive: Archive::Default, sub_path: String::new() }
    }

    /// A run of one step, whose attempts have kept these artifacts.
    fn run(keep: &Value, declared: &Value, attempts: &[&[(&str, &str)]]) -> Run {
        let graph = json!({"keep": keep, "templates": [
            {"name": "main", "body": {"Process": {}}, "outputs": {"artifacts": declared}}]});
        let spec = json!({"space": "s", "name": "wf", "uid": "u", "door": "test",
            "plan": {"Graph": graph}});
        let spec: RunSpec = serde_json::from_value(spec).unwrap();
        let mut run = submit(RunId(1), Prepared::from(spec), 1).0;
        let ends = attempts.iter().map(|kept| {
            let kept = kept.iter().map(|(name, key)| ((*name).into(), artifact(key)));
            let outputs = Outputs { artifacts: kept.collect(), ..Outputs::default() };
            let end = Box::new(End { outputs, ..End::bare(Exit::Code(1)) });
            Attempt { end: Some(end), ..Attempt::queued(1, 0) }
        });
        let attempts = ends.collect();
        run.steps.get_mut(0).unwrap().attempts = attempts;
        run
    }

    fn found(run: &Run) -> Vec<(&str, Keep)> {
        run.garbage().into_iter().collect()
    }

    #[test]
    fn an_artifact_says_for_itself_and_the_run_for_the_others() {
        let declared = json!([{"name": "end", "keep": "UntilEnd"}, {"name": "run"},
            {"name": "deletion", "keep": "UntilDeletion"}, {"name": "always", "keep": "Always"}]);
        let kept: &[(&str, &str)] = &[
            ("end", "k/end"),
            ("run", "k/run"),
            ("deletion", "k/deletion"),
            ("always", "k/always"),
            ("main-logs", "k/main.log"),
        ];
        let own = [("k/deletion", Keep::UntilDeletion), ("k/end", Keep::UntilEnd)];
        assert_eq!(found(&run(&json!("Always"), &declared, &[kept])), own);
        for (text, keep) in [("UntilEnd", Keep::UntilEnd), ("UntilDeletion", Keep::UntilDeletion)] {
            let all = [own[0], own[1], ("k/main.log", keep), ("k/run", keep)];
            assert_eq!(found(&run(&json!(text), &declared, &[kept])), all, "{text}");
        }
    }

    #[test]
    fn every_try_counts_and_the_same_key_is_kept_for_as_long_as_any_says() {
        let declared = json!([{"name": "a"}, {"name": "b", "keep": "Always"}]);
        let attempts: [&[(&str, &str)]; 2] =
            [&[("a", "k/a"), ("b", "shared")], &[("a", "k/1/a"), ("a", "shared")]];
        let run = run(&json!("UntilEnd"), &declared, &attempts);
        assert_eq!(found(&run), [("k/1/a", Keep::UntilEnd), ("k/a", Keep::UntilEnd)]);
    }

    #[test]
    fn inputs_and_outputs_of_other_runs_are_left_alone() {
        let mut run = run(&json!("UntilEnd"), &json!([{"name": "a"}]), &[]);
        // As after a look-up of memoized outputs: no attempt has made them.
        let artifacts = vec![("a".into(), artifact("theirs"))];
        let outputs = Outputs { artifacts, ..Outputs::default() };
        run.steps.get_mut(0).unwrap().outputs = Some(Box::new(outputs));
        assert_eq!(found(&run), []);
    }
}
