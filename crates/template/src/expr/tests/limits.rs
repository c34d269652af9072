use proptest::prelude::*;

use super::*;
use crate::env::MAX_NODES;

fn with_fuel(source: &str, fuel: u64) -> Result<Json> {
    Expr::parse(source)?.eval(&scope(), &mut Env::new(0, 0).with_fuel(fuel))
}

#[test]
fn work_is_bounded_before_it_is_done() {
    let sources = [
        "1..100000000",
        "1..9223372036854775807",
        "map(1..2000, map(1..2000, #))",
        "reduce(1..999999, #acc + #)",
        "uniq(1..2000)",
    ];
    for source in sources {
        assert_eq!(eval(source), Err(Error::OutOfFuel), "{source}");
    }
    assert_eq!(with_fuel("1 + 1", 3), Ok(json!(2)));
    assert_eq!(with_fuel("1 + 1", 2), Err(Error::OutOfFuel));
}

#[test]
fn text_is_bounded_before_it_is_made() {
    for source in ["repeat('abcdefgh', 9000000)", "reduce(1..40, #acc + #acc, 'abcd')"] {
        assert_eq!(eval(source), Err(Error::OutputTooLarge), "{source}");
    }
}

#[test]
fn values_that_share_parts_count_every_part() {
    let doubled = "reduce(1..60, [#acc, #acc], [1])";
    for source in [doubled.to_owned(), format!("toJSON({doubled})"), format!("string({doubled})")] {
        assert!(matches!(eval(&source), Err(Error::Evaluation { .. })), "{source}");
    }
    assert!(eval("reduce(1..1000, [#acc], 1)").is_err());
}

#[test]
fn deep_and_long_sources_are_refused() {
    let n = 100_000;
    let sources = [
        "(".repeat(n),
        "[".repeat(n),
        "-".repeat(n),
        "not ".repeat(n),
        "{a:".repeat(n),
        "a.".repeat(n),
        "a[".repeat(n),
        "1+".repeat(n),
        "1**".repeat(n),
        "1<".repeat(n) + "1",
        "true?".repeat(n),
        "if true {".repeat(n),
        "let a=1;".repeat(n),
        "map(".repeat(n),
        format!("1{}", "|len()".repeat(n)),
        format!("1{}", "+1".repeat(n)),
        format!("[{}1]", "1,".repeat(MAX_NODES)),
        format!("fromJSON('{}')", "[".repeat(n)),
    ];
    for source in sources {
        assert!(eval(&source).is_err(), "{}", &source[..10]);
    }
}

#[test]
fn the_deepest_sources_are_still_evaluated() {
    let nested = |open: &str, close: &str, levels| {
        eval(&format!("{}1{}", open.repeat(levels), close.repeat(levels)))
    };
    assert_eq!(nested("(", ")", 63), Ok(json!(1)));
    assert!(matches!(nested("(", ")", 64), Err(Error::Syntax { .. })));
    assert!(nested("[", "]", 63).is_ok());
    assert_eq!(nested("if true { ", " } else { 2 }", 60), Ok(json!(1)));
    assert_eq!(nested("sum(map([1], {", "}))", 30), Ok(json!(1)));
    assert!(nested("", " | len()", 300).is_err());
}

#[test]
fn a_long_row_of_operators_is_not_a_deep_one() {
    let row = |op: &str, terms: usize| eval(&vec!["1"; terms].join(op));
    // A term and its operator are two nodes, but for the first.
    let most = MAX_NODES / 2;
    assert_eq!(row(" + ", most), Ok(json!(5_000)));
    assert!(matches!(row(" + ", most + 1), Err(Error::Syntax { .. })));
    assert_eq!(row(" - ", 200), Ok(json!(1 - 199)));
    let ends = |op: &str, last: &str| eval(&format!("{}{last}", format!("true {op} ").repeat(200)));
    assert_eq!(ends("and", "false"), Ok(json!(false)));
    assert_eq!(ends("or", "nowhere.x"), Ok(json!(true)), "what is decided is not looked at");
    // Rows in rows are deep.
    assert_eq!(eval("1 - (2 - 3) * 4 + 5 - 6"), Ok(json!(1 + 4 + 5 - 6)));
    let message = eval(&format!("{}1{}", "(1 + ".repeat(64), ")".repeat(64))).unwrap_err();
    assert!(message.to_string().contains("`expression-depth` of 64"), "{message}");
}

#[test]
fn nested_choices_do_not_multiply() {
    let source = format!("{}true{}", "(".repeat(60), " ?: false)".repeat(60));
    assert_eq!(eval(&source), Ok(json!(true)));
    let source = format!("{}1{}", "(1 < (".repeat(15), ") < 2 ? 1 : 2)".repeat(15));
    assert!(eval(&source).is_ok());
}

proptest! {
    #[test]
    fn no_source_makes_the_parser_panic(source in ".{0,60}") {
        drop(eval(&source));
    }

    #[test]
    fn no_sequence_of_tokens_panics(words in prop::collection::vec(prop::sample::select(vec![
        "1", "2.5", "'a'", "name", "list", "people", "item", "nil", "true", "(", ")", "[", "]",
        "{", "}", ",", ":", ".", "?.", "..", "?", "??", "+", "-", "*", "/", "%", "**", "<", "==",
        "in", "not", "and", "or", "|", "len(", "map(", "filter(", "reduce(", "#", "#acc", "let",
        "=", ";", "if", "else", "sprig.", "trim(", "date(", "matches", "get(", "sort(",
    ]), 0..14)) {
        drop(eval(&words.join(" ")));
    }
}
