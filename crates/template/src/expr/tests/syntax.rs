use super::*;

#[test]
fn literals_are_their_values() {
    check(&[
        ("nil", json!(null)),
        ("true", json!(true)),
        ("42", json!(42)),
        ("9223372036854775807", json!(i64::MAX)),
        ("1_000", json!(1000)),
        ("0x1F", json!(31)),
        ("0b11", json!(3)),
        ("0o17", json!(15)),
        ("1.5", json!(1.5)),
        ("1e3", json!(1000.0)),
        (".25", json!(0.25)),
        (r#""a\"b""#, json!("a\"b")),
        (r"'a\n'", json!("a\n")),
        (r"`a\n`", json!("a\\n")),
        ("[1, 'a', nil,]", json!([1, "a", null])),
        ("{a: 1, 'b c': 2, 3: 4, (name): 5,}", json!({"a": 1, "b c": 2, "3": 4, "world": 5})),
        ("[]", json!([])),
        ("{}", json!({})),
        ("1 // comment", json!(1)),
        ("1 /* a */ + /* b */ 2", json!(3)),
    ]);
}

#[test]
fn arithmetic_keeps_integers_exact() {
    check(&[
        ("1 + 2 * 3", json!(7)),
        ("(1 + 2) * 3", json!(9)),
        ("7 - 2 - 1", json!(4)),
        ("7 % 3", json!(1)),
        ("-7 % 3", json!(-1)),
        ("4 / 2", json!(2.0)),
        ("1 / 2", json!(0.5)),
        ("2 ** 3", json!(8.0)),
        ("2 ^ 3", json!(8.0)),
        ("2 ** 3 ** 2", json!(512.0)),
        ("-2 ** 2", json!(-4.0)),
        ("1 + 1.5", json!(2.5)),
        ("big + 0", json!(9_007_199_254_740_993_i64)),
        ("big - 1", json!(9_007_199_254_740_992_i64)),
        ("+n", json!(3)),
        ("-n", json!(-3)),
        ("'a' + 'b'", json!("ab")),
        ("9223372036854775807 + 1", json!(i64::MIN)),
    ]);
}

#[test]
fn comparisons_and_logic() {
    check(&[
        ("1 == 1.0", json!(true)),
        ("1 == '1'", json!(false)),
        ("nil == nil", json!(true)),
        ("[1, {a: 2}] == [1, {a: 2.0}]", json!(true)),
        ("{a: 1} != {a: 2}", json!(true)),
        ("'a' < 'b'", json!(true)),
        ("'10' < '9'", json!(true)),
        ("1 < 2 < 3", json!(true)),
        ("1 < 3 < 2", json!(false)),
        ("3 >= 3", json!(true)),
        ("not true", json!(false)),
        ("!false && true", json!(true)),
        ("true or nope", json!(true)),
        ("false and nope", json!(false)),
        ("true || false && false", json!(true)),
        ("nil || true", json!(true)),
        ("1 in [1, 2]", json!(true)),
        ("1 not in [1, 2]", json!(false)),
        ("not (1 in [2])", json!(true)),
        ("'a' in {a: 1}", json!(true)),
        ("'b' in {a: 1}", json!(false)),
        ("1 in nil", json!(false)),
        ("'foobar' contains 'oba'", json!(true)),
        ("'foobar' not contains 'x'", json!(true)),
        ("'foobar' startsWith 'foo'", json!(true)),
        ("'foobar' endsWith 'bar'", json!(true)),
        ("'foobar' not endsWith 'bar'", json!(false)),
        ("'foobar' matches '^fo+b'", json!(true)),
        ("nil contains 'a'", json!(false)),
    ]);
}

#[test]
fn choices() {
    check(&[
        ("true ? 1 : 2", json!(1)),
        ("false ? 1 : 2", json!(2)),
        ("false ? 1 : true ? 2 : 3", json!(2)),
        ("n > 2 ? 'big' : 'small'", json!("big")),
        ("true ?: 2", json!(true)),
        ("false ?: 2", json!(2)),
        ("nil ?? 1", json!(1)),
        ("nil ?? nil ?? 2", json!(2)),
        ("0 ?? 1", json!(0)),
        ("(nil ?? 1) + 1", json!(2)),
        ("if n == 3 { 'three' } else { 'other' }", json!("three")),
        ("if n == 1 { 1 } else if n == 3 { 'yes' } else { 2 }", json!("yes")),
        ("let x = 2; x * x", json!(4)),
        ("let x = 1; let y = x + 1; [x, y]", json!([1, 2])),
        ("(let x = 1; x) + 1", json!(2)),
        ("1; 2; 3", json!(3)),
        ("1;", json!(1)),
    ]);
}

#[test]
fn members_indexes_and_slices() {
    check(&[
        ("list[0]", json!(1)),
        ("list[-1]", json!(3)),
        ("list[1:]", json!([2, 3])),
        ("list[:1]", json!([1])),
        ("list[:]", json!([1, 2, 3])),
        ("list[-2:]", json!([2, 3])),
        ("list[2:1]", json!([])),
        ("list[0:99]", json!([1, 2, 3])),
        ("'hello'[1:3]", json!("el")),
        ("'abc'[0]", json!(97)),
        ("{a: {b: 1}}.a.b", json!(1)),
        ("{a: 1}['a']", json!(1)),
        ("{a: 1}.b", json!(null)),
        ("{a: nil}.a?.b.c", json!(null)),
        ("{a: nil}?.a?.b", json!(null)),
        ("(nil)?.a", json!(null)),
        ("{a: nil}.a?.[0]", json!(null)),
        ("{'matches': 2}.matches", json!(2)),
        ("{'not': 1}?.not", json!(1)),
        ("people[0].name", json!("Ann")),
        ("people[n - 2]['name']", json!("Bob")),
    ]);
}

#[test]
fn ranges_and_pipes() {
    check(&[
        ("1..3", json!([1, 2, 3])),
        ("3..1", json!([])),
        ("1..1 + 2", json!([1, 2, 3])),
        ("-1..1", json!([-1, 0, 1])),
        ("'a,b' | split(',')", json!(["a", "b"])),
        ("'a,b' | split(',') | len()", json!(2)),
        ("list | filter(# > 1) | map(# * 2)", json!([4, 6])),
        ("'a,b' | split(',')[1]", json!("b")),
    ]);
}

#[test]
fn closures() {
    check(&[
        ("all(list, # > 0)", json!(true)),
        ("all(list, {# > 1})", json!(false)),
        ("none(list, # > 3)", json!(true)),
        ("any(list, # == 2)", json!(true)),
        ("one(list, # == 2)", json!(true)),
        ("one(list, # > 1)", json!(false)),
        ("filter(list, {# > 1})", json!([2, 3])),
        ("filter(people, .age > 25)", json!([{"name": "Ann", "age": 30}])),
        ("map(people, .name)", json!(["Ann", "Bob"])),
        ("map(people, {.name + '!'})", json!(["Ann!", "Bob!"])),
        ("map(list, #index)", json!([0, 1, 2])),
        ("map(list, {let y = #; y * y})", json!([1, 4, 9])),
        ("count(list, # > 1)", json!(2)),
        ("count([true, false, true])", json!(2)),
        ("sum(list)", json!(6)),
        ("sum(people, .age)", json!(50)),
        ("find(people, .age < 25).name", json!("Bob")),
        ("find(list, # > 9)", json!(null)),
        ("findIndex(list, # == 2)", json!(1)),
        ("findIndex(list, # == 9)", json!(-1)),
        ("findLast(list, # > 0)", json!(3)),
        ("findLastIndex(list, # < 3)", json!(1)),
        (
            "groupBy(people, .age)",
            json!({
                "20": [{"name": "Bob", "age": 20}],
                "30": [{"name": "Ann", "age": 30}],
            }),
        ),
        ("groupBy(list, # % 2)[1]", json!([1, 3])),
        ("sortBy(people, .age)[0].name", json!("Bob")),
        ("sortBy(people, .age, 'desc')[0].name", json!("Ann")),
        ("reduce(list, #acc + #)", json!(6)),
        ("reduce(list, #acc + #, 10)", json!(16)),
        ("reduce([], #acc + #, 1)", json!(1)),
        ("map([[1], [2, 3]], map(#, # + 1))", json!([[2], [3, 4]])),
        ("map(list, {# in [1] ? 'one' : 'more'})", json!(["one", "more", "more"])),
    ]);
}

#[test]
fn errors_stand_at_the_byte_that_causes_them() {
    check_failures(&[
        ("", 0),
        ("1 +", 3),
        ("1 2", 2),
        ("(1", 2),
        ("[1, 2", 5),
        ("{a 1}", 3),
        ("foo(1)", 0),
        ("len()", 0),
        ("len(1, 2)", 0),
        ("1 + len(2)", 4),
        ("'a' - 1", 4),
        ("1 < 'a'", 2),
        ("!1", 0),
        ("-'a'", 0),
        ("1 ? 2 : 3", 0),
        ("list[9]", 4),
        ("nil.a", 3),
        ("1 % 0", 2),
        ("'a' in 'abc'", 4),
        ("'a' matches '('", 4),
        ("#", 0),
        ("let len = 1; len", 4),
        ("let x 1; x", 6),
        ("a ?? b == c", 7),
        ("map(list)", 8),
        ("filter(list, # > 1; 2)", 18),
        ("all(1, true)", 4),
        ("{[1]: 2}", 1),
        ("1 not 2", 2),
        ("sprig.nope(1)", 6),
        ("reduce([], #acc)", 0),
        ("9223372036854775808", 0),
        ("if true { 1 }", 13),
    ]);
}
