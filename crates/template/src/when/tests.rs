use proptest::prelude::*;

use super::*;
use crate::scope::MapScope;

fn scope() -> MapScope {
    MapScope::new()
        .with("x", "foo")
        .with("n", "3")
        .with("negative", "-2")
        .with("flag", "true")
        .with("empty", "")
        .with("quotes", "it's \"x\"")
        .with("evil", "foo || true")
        .with("condition", "1 < 2 && foo == foo")
        .with("text", "no condition at all")
        .with("number", 5)
        .with("steps.flip.outputs.result", "heads")
        .without("gone")
}

fn holds(source: &str) -> Result<bool> {
    When::parse(source)?.eval(&scope(), &mut Env::new(0, 0))
}

#[test]
fn conditions_without_tags() {
    let cases = [
        ("", true),
        ("  ", true),
        ("foo == foo", true),
        ("foo != foo", false),
        ("foo == bar", false),
        ("foo != bar", true),
        ("'a/b/c' == 'a/b/c'", true),
        ("'a/b/c' != 'a/b/c'", false),
        ("1 == 1", true),
        ("1 == 2", false),
        ("1 != 2", true),
        ("1 < 2", true),
        ("1 > 2", false),
        ("1 <= 1", true),
        ("1 <= 0", false),
        ("1/2 == 0.5", true),
        ("1/2 != 0.5", false),
        ("a < b", true),
        ("a > b", false),
        ("(foo == bar) || (foo == foo)", true),
        ("(foo == bar) || (bar == foo)", false),
        ("(1 > 0) && (1 < 2)", true),
        ("(1 > 0) && (11 < 2)", false),
        ("Error in (Failed, Error)", true),
        ("Succeeded in (Failed, Error)", false),
        ("!(Succeeded in (Failed, Error))", true),
        ("!(Error in (Failed, Error))", false),
        ("x IN (x)", true),
        ("true == true", true),
        ("false == true", false),
        ("true", true),
        ("!true", false),
        ("3 == '3'", false),
        ("'true' == true", false),
        ("0x10 == 16", true),
        ("foo =~ '^f'", true),
        ("foo !~ '^f'", false),
        ("'10' < '9'", true),
        ("10 < 9", false),
        ("1 + 2 * 3 == 7", true),
        ("10 - 3 - 2 == 5", true),
        ("7 % 4 == 3", true),
        ("2 ** 3 ** 2 == 64", true),
        ("-1 < 0", true),
        ("6 & 3 == 2", true),
        ("1 << 3 == 8", true),
        ("16 >> 2 == 4", true),
        ("~0 == -1", true),
        ("true ? true : false", true),
        ("false ? true : false", false),
        ("a + b == ab", true),
        ("a + 1 == a1", true),
        ("[with space] == 'with space'", true),
        (r"a\-b == 'a-b'", true),
        ("\"it's\" == \"it's\"", true),
        (r"'it\'s' == [it's]", true),
        ("a.b == a.b", true),
        ("false && foo", false),
        ("true || foo", true),
    ];
    for (source, expected) in cases {
        assert_eq!(holds(source), Ok(expected), "{source}");
    }
}

#[test]
fn conditions_with_tags() {
    let cases = [
        ("{{x}} == foo", true),
        ("{{x}} == 'foo'", true),
        ("'{{x}}' == 'foo'", true),
        ("\"{{x}}\" != bar", true),
        ("{{n}} == 3", true),
        ("{{n}} == '3'", false),
        ("'{{n}}' == '3'", true),
        ("{{n}} > 2 && {{n}} < 4", true),
        ("{{n}} =~ '^[0-9]$'", true),
        ("{{number}} >= 5", true),
        ("{{negative}} < 0", true),
        ("{{flag}} == true", true),
        ("{{flag}}", true),
        ("!{{flag}}", false),
        ("{{empty}} == ''", true),
        ("{{quotes}} == 'foo'", false),
        ("'{{quotes}}' =~ 'x'", true),
        ("{{evil}} == foo", false),
        ("'{{evil}}' == 'foo'", false),
        ("{{x}}bar == foobar", true),
        ("{{x}}{{n}} == foo3", true),
        ("{{x}} in (bar, foo)", true),
        ("bar in ({{x}}, {{flag}})", false),
        ("{{steps.flip.outputs.result}} == heads", true),
        ("{{steps.flip.outputs.result}} =~ hea", true),
        ("{{=n == '3'}}", true),
        (" {{= asInt(n) > 3 }} ", false),
        ("{{=asInt(n) + 1}} == 4", true),
        ("{{condition}}", true),
        ("({{x}} == foo)", true),
    ];
    for (source, expected) in cases {
        assert_eq!(holds(source), Ok(expected), "{source}");
    }
}

#[test]
fn a_result_must_be_boolean() {
    for (source, got) in [("foo", "foo"), ("1 + 1", "2"), ("{{x}}", "foo"), ("(a, b)", "[a b]")] {
        match holds(source) {
            Err(Error::NotBoolean { got: found, .. }) => assert_eq!(found, got, "{source}"),
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn errors_tell_the_byte() {
    let cases = [
        ("foo ==", 6),
        ("foo bar", 4),
        ("(foo == foo", 11),
        ("foo == 'bar", 7),
        ("foo @ bar", 4),
        ("foo = bar", 4),
        ("foo && true", 4),
        ("1 < foo", 2),
        ("{{x}} && true", 6),
        ("{{x}} {{n}}", 6),
        ("foo =~ '('", 4),
        ("{{text}}", 3),
        ("== foo", 0),
    ];
    for (source, expected) in cases {
        match holds(source) {
            Err(Error::Syntax { at, .. } | Error::Evaluation { at, .. }) => {
                assert_eq!(at, expected, "{source}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn names_without_a_value_are_errors() {
    assert_eq!(holds("{{nope}} == 1"), Err(Error::Unresolved { name: "nope".into() }));
    assert_eq!(holds("{{gone}} == 1"), Err(Error::Absent { name: "gone".into() }));
    assert_eq!(holds("{{=gone == nil}}"), Ok(true));
    assert_eq!(When::parse("{{a.b}} == '{{=c}}'").unwrap().names(), ["a.b", "c"]);
}

#[test]
fn a_long_row_of_operators_is_not_a_deep_one() {
    let row =
        |op: &str, last: &str| holds(&format!("{}{last}", format!("1 == 1 {op} ").repeat(500)));
    assert_eq!(row("&&", "1 == 2"), Ok(false));
    assert_eq!(row("&&", "2 == 2"), Ok(true));
    assert_eq!(row("||", "{{nope}} == 1"), Ok(true), "what is decided is not looked at");
    let deep = holds(&format!("{}true{}", "(".repeat(64), ")".repeat(64))).unwrap_err();
    assert!(deep.to_string().contains("`expression-depth` of 64"), "{deep}");
}

#[test]
fn hostile_conditions_are_refused() {
    let n = 100_000;
    for source in ["(".repeat(n), "!".repeat(n), format!("1{}", "+1".repeat(n)), "a ".repeat(n)] {
        assert!(holds(&source).is_err());
    }
}

proptest! {
    #[test]
    fn no_condition_panics(source in ".{0,60}") {
        drop(holds(&source));
    }

    #[test]
    fn no_value_can_change_the_condition(value in ".{0,40}") {
        let scope = MapScope::new().with("v", value.clone());
        let run = |source: &str| When::parse(source).unwrap().eval(&scope, &mut Env::new(0, 0));
        prop_assert_eq!(run("'{{v}}' == 'secret'"), Ok(value == "secret"));
        prop_assert_eq!(run("{{v}} == secret"), Ok(value == "secret"));
    }
}
