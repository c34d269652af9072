//! Which lines of logs are wanted: the options of Argo's clients (Kubernetes `PodLogOptions`), and
//! a step. An option that is not honoured is refused: what is asked to show less must not show all.

use std::collections::HashMap;

use argosy_exec::logs::Stream;
use argosy_model::{Code, Diagnostic};
use regex::Regex;

use super::error::{Answer, bad_request};
use super::query;
use super::select::Named;

/// Which lines are wanted.
#[derive(Clone, Default)]
pub(super) struct Wanted {
    /// Of this pod or step.
    pub(super) pod: Option<String>,
    /// Of this step, which is there.
    pub(super) step: Option<Named>,
    pub(super) container: Option<String>,
    pub(super) stream: Option<Stream>,
    /// Of those lines only the ones that match.
    pub(super) grep: Option<Regex>,
    /// Only the last lines of each container: of standard output, then of standard error.
    pub(super) tail: Option<u64>,
    /// Only so many bytes of each container.
    pub(super) limit: Option<u64>,
    pub(super) follow: bool,
}

impl Wanted {
    pub(super) fn of(query: &HashMap<String, String>, pod: Option<String>) -> Answer<Wanted> {
        refuse_others(query)?;
        let text = |name: &str| query::value(query, name).map(str::to_owned);
        let grep = text("grep").map(|source| Regex::new(&source)).transpose();
        Ok(Wanted {
            pod: pod.or_else(|| text("podName")),
            step: None,
            container: text("logOptions.container"),
            stream: stream(query)?,
            grep: grep.map_err(|error| bad_request(format!("grep: {error}")))?,
            tail: query::number(query, "logOptions.tailLines", 0)?,
            limit: query::number(query, "logOptions.limitBytes", 1)?,
            follow: query::flag(query, "logOptions.follow")?,
        })
    }
}

fn stream(query: &HashMap<String, String>) -> Answer<Option<Stream>> {
    match query::value(query, "logOptions.stream") {
        None | Some("All") => Ok(None),
        Some("Stdout") => Ok(Some(Stream::Out)),
        Some("Stderr") => Ok(Some(Stream::Err)),
        Some(other) => Err(bad_request(format!(
            "logOptions.stream: {other:?} is none of All, Stdout and Stderr"
        ))),
    }
}

/// Refuses options that are not honoured, the first one by name.
fn refuse_others(query: &HashMap<String, String>) -> Answer<()> {
    let mut given: Vec<_> = query.keys().filter(|name| !query[*name].is_empty()).collect();
    given.sort_unstable();
    given.into_iter().try_for_each(|name| refuse(query, name))
}

fn refuse(query: &HashMap<String, String>, name: &str) -> Answer<()> {
    const TIMES: &str = "it is not recorded when a line was written";
    let (why, help) = match name.strip_prefix("logOptions.") {
        None if name == "selector" => {
            ("pods have no labels here", "name one with podName, or a step with argosy.step")
        }
        // The last: there is no TLS on the way to a log.
        None
        | Some(
            "container"
            | "follow"
            | "limitBytes"
            | "stream"
            | "tailLines"
            | "insecureSkipTLSVerifyBackend",
        ) => return Ok(()),
        Some("timestamps") if query::flag(query, name)? => (TIMES, "leave it out"),
        Some("previous") if query::flag(query, name)? => {
            ("a container runs once in its pod", "each try of a step has a pod: name it")
        }
        Some("timestamps" | "previous") => return Ok(()),
        Some(option) if option == "sinceSeconds" || option.starts_with("sinceTime") => {
            (TIMES, "logOptions.tailLines gives the last lines")
        }
        Some(_) => return Err(bad_request(format!("there is no option {name:?} of logs"))),
    };
    Err(Diagnostic::new(Code::Unsupported, format!("{name}: {why}")).help(help).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(query: &[(&str, &str)]) -> Result<Wanted, String> {
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Wanted::of(&query.collect(), None).map_err(|refusal| refusal.0[0].line())
    }

    #[test]
    fn options_that_are_not_honoured_are_refused_by_name() {
        for (name, value, code) in [
            ("logOptions.sinceSeconds", "1", "E0211"),
            ("logOptions.sinceTime", "2026-01-01T00:00:00Z", "E0211"),
            ("logOptions.sinceTime.seconds", "5", "E0211"),
            ("logOptions.timestamps", "true", "E0211"),
            ("logOptions.timestamps", "yes", "E0409"),
            ("logOptions.previous", "1", "E0211"),
            ("selector", "a=b", "E0211"),
            ("logOptions.follow", "maybe", "E0409"),
            ("logOptions.tailLines", "-1", "E0409"),
            ("logOptions.tailLines", "two", "E0409"),
            ("logOptions.limitBytes", "0", "E0409"),
            ("logOptions.stream", "stdout", "E0409"),
            ("logOptions.other", "1", "E0409"),
        ] {
            let Err(refusal) = wanted(&[(name, value)]) else { panic!("{name}={value} is taken") };
            assert!(refusal.contains(code) && refusal.contains(name), "{refusal}");
        }
    }

    #[test]
    fn what_clients_send_without_meaning_it_is_taken() {
        let query = [
            ("logOptions.timestamps", "False"),
            ("logOptions.previous", "false"),
            ("logOptions.sinceSeconds", ""),
            ("logOptions.insecureSkipTLSVerifyBackend", "true"),
            ("logOptions.follow", "True"),
            ("logOptions.tailLines", "0"),
            ("logOptions.limitBytes", "1"),
            ("logOptions.stream", "Stderr"),
            ("selector", ""),
        ];
        let wanted = wanted(&query).unwrap_or_else(|refusal| panic!("{refusal}"));
        assert!(wanted.follow);
        assert_eq!((wanted.tail, wanted.limit), (Some(0), Some(1)));
        assert_eq!(wanted.stream, Some(Stream::Err));
    }
}
