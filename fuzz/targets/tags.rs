//! Texts with tags: values are inserted and never scanned again.
#![no_main]

use argosy_template::{Env, MapScope, Text};
use libfuzzer_sys::fuzz_target;

/// What looks like a tag and must come out as it is.
const DATA: &str = "{{=1+1}}{{item}}";

fuzz_target!(|bytes: &[u8]| {
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    let Ok(parsed) = Text::parse(source) else { return };
    let _ = parsed.names();
    let scope = MapScope::new().with("item", DATA).with("inputs.parameters.a", "x");
    let mut env = Env::new(1_700_000_000_123, 42).with_fuel(100_000);
    let rendered = parsed.render(&scope, &mut env);
    if let Some(literal) = parsed.as_literal() {
        assert_eq!(rendered.as_deref().ok(), Some(literal));
    }
    // A text before and a value behind: the value comes out untouched.
    if let (Ok(rendered), Ok(longer)) = (rendered, Text::parse(&format!("{source}|{{{{item}}}}"))) {
        let mut env = Env::new(1_700_000_000_123, 42).with_fuel(100_000);
        if let Ok(longer) = longer.render(&scope, &mut env)
            && !source.contains("{{")
        {
            assert_eq!(longer, format!("{rendered}|{DATA}"));
        }
    }
});
