//! The expression languages: every source is refused or evaluates within its fuel, twice to the
//! same value.
#![no_main]

use argosy_template::{Env, Expr, MapScope, When};
use libfuzzer_sys::fuzz_target;

fn scope() -> MapScope {
    MapScope::new()
        .with("item", "7")
        .with("inputs.parameters.a", "x")
        .with("inputs.parameters.list", "[1,2,3]")
        .with("steps.b.outputs.result", "{\"c\": [true, null, 1.5]}")
        .without("tasks.skipped.outputs.result")
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    let env = || Env::new(1_700_000_000_123, 42).with_fuel(100_000);
    if let Ok(parsed) = Expr::parse(source) {
        let _ = parsed.names();
        let first = parsed.eval(&scope(), &mut env()).map_err(|error| error.to_string());
        let again = parsed.eval(&scope(), &mut env()).map_err(|error| error.to_string());
        assert_eq!(first, again);
    }
    if let Ok(parsed) = When::parse(source) {
        let _ = parsed.names();
        let first = parsed.eval(&scope(), &mut env()).map_err(|error| error.to_string());
        let again = parsed.eval(&scope(), &mut env()).map_err(|error| error.to_string());
        assert_eq!(first, again);
    }
});
