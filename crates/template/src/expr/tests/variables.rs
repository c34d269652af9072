use super::*;

#[test]
fn chains_resolve_by_their_longest_known_part() {
    check(&[
        ("name", json!("world")),
        ("inputs.parameters.a", json!("1")),
        ("inputs.parameters['with-dash']", json!("x")),
        ("inputs['parameters'].a", json!("1")),
        ("inputs.parameters", json!({"a": "1", "with-dash": "x"})),
        ("keys(inputs.parameters)", json!(["a", "with-dash"])),
        ("item.os", json!("debian")),
        ("item.nested.deep[1]", json!(20)),
        ("inputs.parameters['with' + '-dash']", json!("x")),
    ]);
}

#[test]
fn a_variable_may_share_its_name_with_a_function() {
    check(&[("len", json!(5)), ("len + len([1])", json!(6)), ("::len([1])", json!(1))]);
}

#[test]
fn unknown_names_are_reported_in_full() {
    let cases = [
        ("nope", "nope"),
        ("steps.a.outputs.result + 'x'", "steps.a.outputs.result"),
        ("item.zzz", "item.zzz"),
        ("nope ?? 1", "nope"),
    ];
    for (source, name) in cases {
        assert_eq!(eval(source), Err(Error::Unresolved { name: name.into() }), "{source}");
    }
}

#[test]
fn guards_make_a_missing_member_nil() {
    check(&[
        ("item.zzz ?? 'default'", json!("default")),
        ("item?.zzz", json!(null)),
        ("item.zzz?.deeper", json!(null)),
        ("steps.b.outputs.result ?? 'none'", json!("none")),
        ("tasks.skipped.outputs.result", json!(null)),
        ("tasks.skipped.outputs.result == nil", json!(true)),
        ("tasks.skipped.outputs.result ?? 'skipped'", json!("skipped")),
        ("fromJSON('{}').a.b ?? 1", json!(1)),
    ]);
}

#[test]
fn names_are_free_variables_only() {
    let cases: [(&str, &[&str]); 8] = [
        ("1 + 2", &[]),
        ("a.b.c + a.b", &["a.b", "a.b.c"]),
        ("a['b-c'][0].d", &["a.b-c"]),
        ("a[x].c", &["a", "x"]),
        ("let y = z; y + y.w", &["z"]),
        ("map(xs, .name + # + q)", &["q", "xs"]),
        ("sprig.trim(s) | len()", &["s"]),
        ("c?.d ?? {k: v}", &["c.d", "v"]),
    ];
    for (source, expected) in cases {
        assert_eq!(Expr::parse(source).unwrap().names(), expected, "{source}");
    }
}
