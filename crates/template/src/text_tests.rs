use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::scope::MapScope;

fn scope() -> MapScope {
    MapScope::new()
        .with("inputs.parameters.name", "world")
        .with("inputs.parameters.with-dash", "d")
        .with("inputs.parameters.n", "3")
        .with("workflow.labels.app.kubernetes.io/name", "label")
        .with("item", json!({"os": "debian", "v": 9.1, "<": "&"}))
        .with("item.os", "debian")
        .with("key", "name")
        .with("number", 7)
        .with("float", 2.0)
        .with("flag", true)
        .with("list", json!(["a", 1]))
        .with("braces", "{{number}}")
        .without("steps.skipped.outputs.result")
}

fn render(source: &str) -> Result<String> {
    Text::parse(source)?.render(&scope(), &mut Env::new(0, 0))
}

#[test]
fn tags_are_replaced_by_values() {
    let cases = [
        ("", ""),
        ("plain } text }}", "plain } text }}"),
        ("hello {{inputs.parameters.name}}!", "hello world!"),
        ("{{ inputs.parameters.name }}", "world"),
        ("{{inputs.parameters.with-dash}}", "d"),
        ("{{workflow.labels.app.kubernetes.io/name}}", "label"),
        ("{{item.os}}", "debian"),
        ("{{item}}", r#"{"\u003c":"\u0026","os":"debian","v":9.1}"#),
        ("{{number}}{{flag}}", "7true"),
        ("{{float}}", "2"),
        ("{{list}}", r#"["a",1]"#),
        ("{{inputs.parameters.{{key}}}}", "world"),
        ("{{inputs.parameters.{{ key }}}}", "world"),
        ("{{=inputs.parameters.name}}", "world"),
        ("{{= asInt(inputs.parameters.n) * 10 }}", "30"),
        ("{{=inputs.parameters['with-dash'] + 'x'}}", "dx"),
        ("{{=toJson({'a': {'b': 1}})}}", r#"{"a":{"b":1}}"#),
        ("{{={'a': {'b': '<'}}}}", r#"{"a":{"b":"\u003c"}}"#),
        ("{{='a}}b'}}", "a}}b"),
        ("{{=1 == 1}}", "true"),
        ("{{=4 / 2}}", "2"),
        ("{{='<&>'}}", "<&>"),
    ];
    for (source, expected) in cases {
        assert_eq!(render(source).unwrap(), expected, "{source}");
    }
}

#[test]
fn inserted_values_are_not_read_again() {
    assert_eq!(render("{{braces}}").unwrap(), "{{number}}");
    assert_eq!(render("{{=braces + '}}'}}").unwrap(), "{{number}}}}");
}

#[test]
fn braces_that_are_not_closed_are_text() {
    let cases = [
        ("{{", "{{"),
        ("a {{ b", "a {{ b"),
        ("a {{ b }", "a {{ b }"),
        ("{{=1 + 1", "{{=1 + 1"),
        ("{{ open {{number}} end", "{{ open 7 end"),
        ("}} {{number}}", "}} 7"),
    ];
    for (source, expected) in cases {
        assert_eq!(render(source).unwrap(), expected, "{source}");
    }
}

#[test]
fn names_without_a_value_are_errors_that_name_them() {
    let unresolved = |name: &str| Error::Unresolved { name: name.to_owned() };
    assert_eq!(render("{{nope}}"), Err(unresolved("nope")));
    assert_eq!(render("a {{ steps.x.ip }} b"), Err(unresolved("steps.x.ip")));
    assert_eq!(
        render("{{inputs.parameters.{{item.os}}}}"),
        Err(unresolved("inputs.parameters.debian"))
    );
    assert_eq!(render("{{=steps.x.ip}}"), Err(unresolved("steps.x.ip")));
    assert_eq!(
        render("{{steps.skipped.outputs.result}}"),
        Err(Error::Absent { name: "steps.skipped.outputs.result".into() })
    );
    assert_eq!(
        render("{{= steps.skipped.outputs.result }}"),
        Err(Error::Nil { source_text: "steps.skipped.outputs.result".into() })
    );
    assert_eq!(render("{{=steps.skipped.outputs.result ?? 'none'}}").unwrap(), "none");
}

#[test]
fn errors_of_expressions_stand_at_their_byte_in_the_text() {
    assert!(matches!(render("ab {{=1 +}}"), Err(Error::Syntax { at: 9, .. })));
    assert!(matches!(render("ab {{='a' - 1}}"), Err(Error::Evaluation { at: 10, .. })));
}

#[test]
fn names_are_known_without_rendering() {
    let source = "{{a.b}} {{= c.d['e-f'] + (x ?? y) }} {{inputs.parameters.{{item}}}} {{{{q}}}}";
    let expected = ["a.b", "c.d.e-f", "inputs.parameters", "item", "q", "x", "y"];
    assert_eq!(Text::parse(source).unwrap().names(), expected);
}

#[test]
fn a_text_without_tags_is_a_literal() {
    let literal = |source| Text::parse(source).unwrap().as_literal().map(str::to_owned);
    assert_eq!(literal("a {{ b"), Some("a {{ b".to_owned()));
    assert_eq!(literal(""), Some(String::new()));
    assert_eq!(literal("{{a}}"), None);
}

#[test]
fn hostile_texts_are_refused_in_bounded_time() {
    let deep = "{{".repeat(100_000);
    assert!(matches!(Text::parse(&deep), Err(Error::Syntax { .. })));
    let long = format!("{{{{={}", "}}".repeat(100_000));
    assert!(Text::parse(&long).is_err());
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(source in "[{}= a-z.'é]{0,40}") {
        if let Ok(text) = Text::parse(&source) {
            drop(text.names());
            drop(text.render(&scope(), &mut Env::new(0, 0)));
        }
    }

    #[test]
    fn a_text_without_opening_braces_is_kept(source in "[^{]{0,40}") {
        prop_assert_eq!(render(&source), Ok(source));
    }
}
