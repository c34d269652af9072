use proptest::prelude::*;
use serde_json::json;

use super::*;

fn document() -> serde_json::Value {
    json!({
        "a": {"b": 1, "c d": "x", "k.k": true},
        "list": [{"n": 1, "t": "one"}, {"n": 2, "t": "two"}, {"n": 3}],
        "empty": [],
        "n": null,
        "limit": 2
    })
}

#[test]
fn paths_lead_to_their_values() {
    let cases = [
        ("$", json!([document()])),
        (".", json!([document()])),
        ("$.a.b", json!([1])),
        (".a.b", json!([1])),
        ("a.b", json!([1])),
        ("$['a']['c d']", json!(["x"])),
        ("$.a[\"k.k\"]", json!([true])),
        (r"$.a.k\.k", json!([true])),
        ("$.list[0].n", json!([1])),
        ("$.list[-1].n", json!([3])),
        ("$.list[9]", json!([])),
        ("$.list[0:2].n", json!([1, 2])),
        ("$.list[1:].n", json!([2, 3])),
        ("$.list[:-1].n", json!([1, 2])),
        ("$.list[::2].n", json!([1, 3])),
        ("$.list[::-1].n", json!([3, 2, 1])),
        ("$.list[*].n", json!([1, 2, 3])),
        ("$.list.*.t", json!(["one", "two"])),
        ("$.a.*", json!([1, "x", true])),
        ("$..n", json!([null, 1, 2, 3])),
        ("$..['t']", json!(["one", "two"])),
        ("$.list[0,2].n", json!([1, 3])),
        ("$.a['b','c d']", json!([1, "x"])),
        ("$.list[?(@.n>1)].n", json!([2, 3])),
        ("$.list[?(@.n>1 && @.n<3)].t", json!(["two"])),
        ("$.list[?(@.n==1 || @.n==3)].n", json!([1, 3])),
        ("$.list[?(@.t=='two')].n", json!([2])),
        ("$.list[?(@.t==\"two\")].n", json!([2])),
        ("$.list[?(@.t)].n", json!([1, 2])),
        ("$.list[?(!@.t)].n", json!([3])),
        ("$.list[?(@.n >= $.limit)].n", json!([2, 3])),
        ("$.list[?(@.t =~ '^t')].n", json!([2])),
        ("$.list[?((@.n != 2))].n", json!([1, 3])),
        ("$.empty[*]", json!([])),
        ("$.n", json!([null])),
        ("$.missing.deeper", json!([])),
    ];
    for (path, expected) in cases {
        let found = JsonPath::parse(path).unwrap().find(&document(), &mut Env::new(0, 0)).unwrap();
        assert_eq!(json!(found), expected, "{path}");
    }
}

#[test]
fn other_texts_are_not_paths() {
    for path in
        ["$.", "$[", "$[a]", "$['a", "$[?(@.a>)]", "$[?(@.a", "$.a b", "$[1:2:0]", "$..", "$[-]"]
    {
        assert!(JsonPath::parse(path).is_err(), "{path}");
    }
    let deep = format!("$[?({}", "(".repeat(100_000));
    assert!(JsonPath::parse(&deep).is_err());
    let negated = format!("$[?({}", "!".repeat(100_000));
    assert!(JsonPath::parse(&negated).is_err());
}

#[test]
fn templates_of_kubectl_give_text() {
    let cases = [
        ("{.a.b}", "1"),
        ("{$.a.b}", "1"),
        ("n={.a.b}, t={.list[0].t}.", "n=1, t=one."),
        ("{.list[*].n}", "1 2 3"),
        ("{.list[?(@.n==2)].t}", "two"),
        ("{.list[0]}", r#"{"n":1,"t":"one"}"#),
        ("{.a['k.k']}{\"\\n\"}", "true\n"),
        (".a.b", "1"),
        ("{.list[?(@.t=='}')].n}", ""),
    ];
    for (template, expected) in cases {
        let text = JsonPath::render(template, &document(), &mut Env::new(0, 0)).unwrap();
        assert_eq!(text, expected, "{template}");
    }
    assert!(JsonPath::render("{.a.zzz}", &document(), &mut Env::new(0, 0)).is_err());
    assert!(JsonPath::render("{.a", &document(), &mut Env::new(0, 0)).is_err());
}

#[test]
fn repeated_descent_runs_out_of_fuel() {
    let path = JsonPath::parse(&"..*".repeat(20)).unwrap();
    let wide = json!([[[[1, 2, 3], [1, 2, 3]], [[1, 2, 3]]], [[[1], [2]]]]);
    let wider = json!(vec![wide; 30]);
    let deep = json!([[wider.clone(), wider]]);
    let result = path.find(&deep, &mut Env::new(0, 0).with_fuel(10_000));
    assert_eq!(result, Err(crate::Error::OutOfFuel));
}

proptest! {
    #[test]
    fn no_path_makes_the_parser_panic(source in "[$.\\[\\]'\"*?@()<>=!&|:,a-c0-9 \\-\\\\é]{0,40}") {
        if let Ok(path) = JsonPath::parse(&source) {
            drop(path.find(&document(), &mut Env::new(0, 0)));
        }
        drop(JsonPath::render(&format!("{{{source}}}"), &document(), &mut Env::new(0, 0)));
    }
}
