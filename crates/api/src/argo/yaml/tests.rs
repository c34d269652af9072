use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(text: &str) -> Vec<serde_json::Value> {
    let documents = parse("a.yaml", text).expect("the text is YAML");
    documents.iter().map(Node::to_json).collect()
}

fn refused(text: &str) -> String {
    let refused = parse("a.yaml", text).expect_err("the text is refused");
    let place = refused.place.as_ref().expect("a refusal has a place");
    format!("{} {}:{}", refused.code, place.line, place.column)
}

#[test]
fn documents_are_read_as_kubernetes_reads_them() {
    for (text, documents) in [
        ("a: 1\n---\n---\nb: [x, 'y']\n", vec![json!({"a": 1}), json!({"b": ["x", "y"]})]),
        ("\u{feff}a: 1\r\nb: |\r\n  x\r\n  y\r\n", vec![json!({"a": 1, "b": "x\ny\n"})]),
        ("on: 1\n1: 2\n", vec![json!({"true": 1, "1": 2})]),
        ("a: !!str 5\nb: \"5\"\nc: 5", vec![json!({"a": "5", "b": "5", "c": 5})]),
        (
            "{\"a\": \"\\ud83d\\ude00\",\n\t\"b\": [1.0, null]}",
            vec![json!({"a": "😀", "b": [1.0, null]})],
        ),
        ("{a: [b, {c: d}]}", vec![json!({"a": ["b", {"c": "d"}]})]),
        ("# nothing\n", vec![]),
    ] {
        assert_eq!(read(text), documents, "{text}");
    }
}

#[test]
fn anchors_and_merge_keys_are_followed() {
    let text = "base: &b {x: 1, w: 2}\none:\n  <<: *b\n  w: 3\ntwo:\n  <<: [{z: 9}, *b]\n";
    let expected = json!({
        "base": {"x": 1, "w": 2},
        "one": {"w": 3, "x": 1},
        "two": {"z": 9, "x": 1, "w": 2},
    });
    assert_eq!(read(text), vec![expected]);
}

#[test]
fn refusals_name_the_place() {
    let deep = format!("{}1{}", "[".repeat(101), "]".repeat(101));
    for (text, refusal) in [
        ("a: 1\nb: 2\na: 3\n", "E0106 3:1"),
        ("{\"a\": 1,\n \"a\": 2}", "E0106 2:2"),
        ("a: \"x\\0y\"\n", "E0108 1:4"),
        ("a: 1\nb: x\0y", "E0108 2:5"),
        ("{\"a\": \"\\u0000\"}", "E0108 1:7"),
        ("a: &x [*x]\n", "E0101 1:8"),
        ("a: .nan\n", "E0101 1:4"),
        ("<<: 1\n", "E0101 1:5"),
        ("? [a]\n: 1\n", "E0101 1:3"),
        (&*deep, "E0107 1:101"),
    ] {
        assert_eq!(refused(text), refusal, "{text}");
    }
    assert!(parse("a.yaml", "a:\n\tb: 1\n").expect_err("a tab").help.contains("spaces"));
}

#[test]
fn a_bomb_is_refused_before_it_is_built() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let list = vec![format!("*a{}", level - 1); 10].join(",");
        bomb.push_str(&format!("a{level}: &a{level} [{list}]\n"));
    }
    assert!(refused(&bomb).starts_with("E0107"), "{}", refused(&bomb));
}

#[test]
fn anchors_inside_of_anchors_are_counted() {
    let open: String = (0..90).map(|level| format!("&a{level} [")).collect();
    let text = format!("{open}{}{}", "x,".repeat(30_000), "]".repeat(90));
    // 90 copies of 30,000 nodes are over the limit of 2,000,000.
    assert!(refused(&text).starts_with("E0107"), "{}", refused(&text));
}

#[test]
fn scalars_print_as_upstream_prints_them() {
    for (text, shown) in [
        ("v: 1.10", "1.1"),
        ("v: 10", "10"),
        ("v: 1e3", "1000"),
        ("v: 0x10", "16"),
        ("v: yes", "true"),
        ("v: '1.10'", "1.10"),
        ("v: 1e21", "1000000000000000000000"),
        ("v: 0.000001", "0.000001"),
    ] {
        let documents = parse("a.yaml", text).expect("the text is YAML");
        assert_eq!(documents[0].any("v").as_deref(), Some(shown), "{text}");
    }
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "[ \\-:{}\\[\\]&*!|>'\"%#?,a0\n\t\\\\~<]{0,80}|\\PC{0,60}") {
        let _ = parse("a.yaml", &text);
    }
}
