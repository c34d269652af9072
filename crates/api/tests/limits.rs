//! The test of every limit: a value of exactly the limit passes, one more is refused by name.
//!
//! Those of the loader are made here from the table. For the others the table says which test of
//! which file is theirs, and that it is there.

use argosy_api::argo::{Kind, Shelf, SubmitOptions, load, to_run, yaml};
use argosy_model::limits::{self, Limit};
use argosy_model::{Code, Diagnostic};

/// How a limit is tested.
enum Tested {
    /// A manifest with so many.
    Manifest(fn(u64) -> String),
    /// A text of YAML or JSON that is no manifest.
    Yaml(fn(u64) -> String),
    /// By this test of this file, below `crates`.
    By(&'static str, &'static str),
}

/// A workflow with one template that takes `inputs`, and with what else stands in its spec.
fn workflow(metadata: &str, spec: &str, templates: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {metadata}\n\
         spec:\n  entrypoint: main\n{spec}  templates:\n{templates}"
    )
}

const LEAF: &str = "    - {name: main, suspend: {}}\n";

/// So many texts, one after the other.
fn each(count: u64, text: impl Fn(u64) -> String) -> String {
    (0..count).map(text).collect()
}

/// A step that runs under a condition or an expression.
fn when(expression: &str) -> String {
    workflow(
        "{name: wf}",
        "",
        &format!(
            "    - name: main\n      steps: [[{{name: a, template: b, when: \"{{{{={expression}}}}}\"}}]]\n\
             \x20   - {{name: b, suspend: {{}}}}\n"
        ),
    )
}

fn tested(limit: Limit) -> Tested {
    use Tested::{By, Manifest, Yaml};
    match limit.name {
        "manifest-bytes" => Manifest(|bytes| {
            let text = workflow("{name: wf}", "", LEAF) + "#";
            let rest = bytes as usize - text.len();
            text + &"x".repeat(rest)
        }),
        "yaml-depth" => Yaml(|levels| "[".repeat(levels as usize) + &"]".repeat(levels as usize)),
        // The list itself, one list that counts 1,000 in each place, and texts.
        "yaml-nodes" => Yaml(|nodes| {
            let (lists, texts) = ((nodes - 1) / 1_000, (nodes - 1) % 1_000);
            let first = format!("- &a [{}]\n", each(999, |_| "x, ".into()));
            first + &each(lists - 1, |_| "- *a\n".into()) + &each(texts, |_| "- x\n".into())
        }),
        "documents" => Yaml(|documents| each(documents, |_| "--- x\n".into())),
        "name-bytes" => Manifest(|bytes| {
            workflow(&format!("{{name: {}}}", "n".repeat(bytes as usize)), "", LEAF)
        }),
        "templates" => Manifest(|count| {
            let more = each(count - 1, |n| format!("    - {{name: t{n}, suspend: {{}}}}\n"));
            workflow("{name: wf}", "", &(LEAF.to_owned() + &more))
        }),
        "calls" => Manifest(|count| {
            let calls = each(count, |n| format!("        - {{name: c{n}, template: b}}\n"));
            let calls = calls.replacen("        - ", "      - - ", 1);
            let leaf = "    - {name: b, suspend: {}}\n";
            workflow("{name: wf}", "", &format!("    - name: main\n      steps:\n{calls}{leaf}"))
        }),
        "parameter-bytes" => Manifest(|bytes| {
            let value = "v".repeat(bytes as usize);
            let spec = format!("  arguments: {{parameters: [{{name: p, value: {value}}}]}}\n");
            workflow("{name: wf}", &spec, LEAF)
        }),
        "parameters" => Manifest(|count| {
            let list = each(count, |n| format!("      - {{name: p{n}, value: v}}\n"));
            workflow("{name: wf}", &format!("  arguments:\n    parameters:\n{list}"), LEAF)
        }),
        "items" => Manifest(|count| {
            let items = each(count, |_| "x, ".into());
            let call = format!("[[{{name: a, template: b, withItems: [{items}]}}]]");
            let leaf = "    - {name: b, suspend: {}}\n";
            workflow("{name: wf}", "", &format!("    - name: main\n      steps: {call}\n{leaf}"))
        }),
        "retries" => Manifest(|count| {
            let spec = format!("  retryStrategy: {{limit: {count}}}\n");
            let leaf = "    - {name: main, container: {image: i, command: [true]}}\n";
            workflow("{name: wf}", &spec, &leaf.replace("[true]", "[\"true\"]"))
        }),
        "labels" => Manifest(|count| {
            let labels = each(count, |n| format!("l{n}: v, "));
            workflow(&format!("{{name: wf, labels: {{{labels}}}}}"), "", LEAF)
        }),
        "expression-bytes" => Manifest(|bytes| {
            let expression = format!("'{}' == ''", "x".repeat(bytes as usize - 8));
            let retry = format!("  retryStrategy: {{expression: \"{expression}\"}}\n");
            let leaf = "    - {name: main, container: {image: i, command: [echo]}}\n";
            workflow("{name: wf}", &retry, leaf)
        }),
        // The innermost value is a level of its own.
        "expression-depth" => Manifest(|levels| {
            let brackets = levels as usize - 1;
            when(&("(".repeat(brackets) + "true" + &")".repeat(brackets)))
        }),
        // `true`, and something in front of it for each further level.
        "expression-chain" => {
            Manifest(|levels| when(&format!("'x'{} == 'x'", "|trim()".repeat(levels as usize - 2))))
        }
        // A list, its items, and a comparison with a text.
        "expression-nodes" => {
            Manifest(|nodes| when(&format!("[{}] == ''", each(nodes - 3, |_| "1,".into()))))
        }
        "steps" => By("engine/tests/bounds.rs", "exactly_as_many_steps_as_the_limit_are_let_begin"),
        "run-bytes" => {
            By("engine/tests/bounds.rs", "exactly_as_many_bytes_as_the_limit_are_let_go_on")
        }
        "call-depth" => By(
            "engine/tests/graphs.rs",
            "as_many_levels_as_the_limit_are_called_and_one_more_is_not",
        ),
        "connections" => By(
            "argosy/src/serve.rs",
            "as_many_connections_as_the_limit_are_served_and_one_more_is_told",
        ),
        "connection-idle" => {
            By("argosy/src/serve.rs", "a_connection_may_be_idle_up_to_the_limit_and_no_longer")
        }
        "connection-peer" => By(
            "argosy/src/serve.rs",
            "an_accepted_connection_sends_at_once_and_notices_a_client_that_vanished",
        ),
        "infrastructure-retries" => {
            By("engine/tests/lifecycle.rs", "a_step_that_is_lost_again_and_again_is_given_up")
        }
        "memo-key-bytes" => By("engine/tests/memo.rs", "a_key_may_be_as_long_as_its_limit"),
        "argument-bytes" | "arguments-bytes" => By(
            "exec/tests/local/life.rs",
            "what_no_program_can_be_given_is_refused_before_it_starts",
        ),
        "result-bytes" => By("exec/tests/local/artifacts.rs", "a_long_result_keeps_its_end"),
        "archive-entries" | "archive-bytes" | "archive-ratio" => {
            By("blob/tests/archive/hostile.rs", "an_archive_is_bounded_in_entries_bytes_and_ratio")
        }
        "archive-name-bytes" | "archive-depth" => {
            By("blob/tests/archive/hostile.rs", "names_are_bounded_in_length_and_depth")
        }
        "key-bytes" | "metadata-bytes" | "put-bytes" | "document-bytes" => By(
            "blob/tests/s3/objects.rs",
            "what_is_beyond_the_limits_or_not_supported_is_refused_by_name",
        ),
        "object-bytes" => By("blob/src/s3/multipart.rs", "parts_are_bounded_together"),
        other => panic!("the limit {other} has no test: name it here"),
    }
}

fn submit(text: &str) -> Result<(), Vec<Diagnostic>> {
    let loaded = load("a.yaml", text)?;
    let workflow = loaded.objects.iter().find(|object| object.kind == Kind::Workflow).unwrap();
    to_run(workflow, &SubmitOptions::default(), &Shelf::default()).map(drop)
}

fn refused_by_name(limit: Limit, refused: &[Diagnostic]) -> bool {
    let name = format!("`{}`", limit.name);
    // An expression is refused where it is read, with the code of what cannot be read.
    let code = if limit.name.starts_with("expression-") && limit.name != "expression-bytes" {
        Code::BadExpression
    } else {
        Code::TooLarge
    };
    refused.iter().any(|error| error.code == code && error.what.contains(&name))
}

fn check(limit: Limit) {
    let read: fn(&str) -> Result<(), Vec<Diagnostic>> = match tested(limit) {
        Tested::Yaml(_) => |text| yaml::parse("a.yaml", text).map(drop).map_err(|e| vec![e]),
        _ => submit,
    };
    let (Tested::Manifest(make) | Tested::Yaml(make)) = tested(limit) else { return };
    let first = |refused: Vec<Diagnostic>| refused.first().map(Diagnostic::line);
    let passed = read(&make(limit.max)).map_err(first);
    assert_eq!(passed, Ok(()), "{} of {}", limit.max, limit.name);
    let refused = read(&make(limit.max + 1)).expect_err(limit.name);
    assert!(refused_by_name(limit, &refused), "{}: {:?}", limit.name, refused.first());
}

/// Those that take their time have a test each, so that they run beside each other.
const SLOW: [&str; 4] = ["yaml-nodes", "templates", "calls", "items"];

fn named(name: &str) -> Limit {
    *limits::ALL.iter().find(|limit| limit.name == name).unwrap()
}

#[test]
fn every_limit_of_a_manifest_passes_its_value_and_refuses_one_more() {
    limits::ALL.iter().filter(|limit| !SLOW.contains(&limit.name)).for_each(|limit| check(*limit));
}

#[test]
fn as_many_values_as_the_limit_pass_and_one_more_is_refused() {
    check(named(SLOW[0]));
}

#[test]
fn as_many_templates_as_the_limit_pass_and_one_more_is_refused() {
    check(named(SLOW[1]));
}

#[test]
fn as_many_calls_as_the_limit_pass_and_one_more_is_refused() {
    check(named(SLOW[2]));
}

#[test]
fn as_many_items_as_the_limit_pass_and_one_more_is_refused() {
    check(named(SLOW[3]));
}

#[test]
fn every_other_limit_has_its_test() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for limit in limits::ALL {
        let Tested::By(file, test) = tested(*limit) else { continue };
        let text = std::fs::read_to_string(crates.join(file)).unwrap();
        assert!(text.contains(&format!("fn {test}")), "{}: {file} has no test {test}", limit.name);
    }
}
