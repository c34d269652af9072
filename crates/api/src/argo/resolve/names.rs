//! Rules for names (argo-workflows `workflow/validate/validate.go`; Kubernetes' RFC 1123 names).

/// Whether a name is allowed, and if not, what would be.
pub(crate) type Rule = fn(&str) -> Result<(), &'static str>;

/// Templates, steps and tasks.
pub(crate) fn field(name: &str) -> Result<(), &'static str> {
    let fits = name.len() <= 128
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && !name.starts_with('-');
    fits.then_some(())
        .ok_or("use letters, digits and `-`, at most 128 of them, and begin with a letter or digit")
}

/// Tasks of a DAG, whose names stand in `depends`.
pub(crate) fn task(name: &str) -> Result<(), &'static str> {
    field(name)?;
    let digit = name.starts_with(|c: char| c.is_ascii_digit());
    if digit { Err("a task's name does not begin with a digit") } else { Ok(()) }
}

/// Parameters and artifacts.
pub(crate) fn parameter(name: &str) -> Result<(), &'static str> {
    let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    fits.then_some(()).ok_or("use letters, digits, `-` and `_`")
}

/// Runs and stored objects.
pub(crate) fn object(name: &str) -> Result<(), &'static str> {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    let fits = name.len() <= 253 && name.split('.').all(part);
    fits.then_some(()).ok_or(
        "use small letters, digits, `-` and `.`, at most 253 of them, and begin and end with a letter or digit",
    )
}

/// Keys of configuration maps and secrets.
pub(crate) fn key(name: &str) -> Result<(), &'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = !name.is_empty() && name.len() <= 253 && name.chars().all(plain);
    let climbs = name == "." || name.starts_with("..");
    (fits && !climbs).then_some(()).ok_or(
        "use letters, digits, `-`, `_` and `.`, at most 253 of them, and do not begin with two dots",
    )
}

/// Keys of outputs in a cache (argo-workflows `workflow/controller/cache`).
pub(crate) fn memo_key(name: &str) -> Result<(), &'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let fits = name.chars().all(plain) && !name.is_empty() && !name.starts_with('-');
    fits.then_some(()).ok_or("use letters, digits and `-`, and begin with a letter or digit")
}

/// Mutexes, whose names stand in messages.
pub(crate) fn mutex(name: &str) -> Result<(), &'static str> {
    let fits = name.len() <= 253 && !name.chars().any(char::is_control);
    fits.then_some(()).ok_or("use at most 253 characters, and none that is a control character")
}

/// Containers and spaces.
pub(crate) fn label(name: &str) -> Result<(), &'static str> {
    let fits = name.len() <= 63 && !name.contains('.') && object(name).is_ok();
    fits.then_some(()).ok_or("use small letters, digits and `-`, at most 63 of them")
}

/// What a template calls its steps (`workflow/controller/operator.go` `displayNameRegex`).
pub(crate) fn display(name: &str) -> Result<(), &'static str> {
    argosy_engine::names::is_given_name(name).then_some(()).ok_or(
        "use letters, digits, `-` and `.`, from 2 to 63 of them, and begin and end with a letter or digit",
    )
}

/// Keys of labels: a name, perhaps behind a domain and a slash (apimachinery
/// `pkg/util/validation/validation.go` `IsQualifiedName`).
pub(crate) fn label_key(text: &str) -> Result<(), &'static str> {
    let (domain, name) = text.rsplit_once('/').unwrap_or(("", text));
    let domain_fits =
        domain.is_empty() != text.contains('/') && (domain.is_empty() || object(domain).is_ok());
    (domain_fits && !name.is_empty() && is_label_text(name)).then_some(()).ok_or(
        "use letters, digits, `-`, `_` and `.`, at most 63 of them, begin and end with a letter or digit, and set a domain and `/` before them if at all",
    )
}

/// Values of labels, which may be empty (`IsValidLabelValue`).
pub(crate) fn label_value(text: &str) -> Result<(), &'static str> {
    (text.is_empty() || is_label_text(text)).then_some(()).ok_or(
        "use letters, digits, `-`, `_` and `.`, at most 63 of them, and begin and end with a letter or digit",
    )
}

fn is_label_text(text: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.len() <= 63
        && text.chars().all(inner)
        && ends(text.chars().next())
        && ends(text.chars().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_upstream_judges_them() {
        let long = "a".repeat(128);
        let rules: [(Rule, &[&str], &[&str]); 8] = [
            (label_key, &["a", "A_b.c", "a.io/b"], &["", "/a", "a/", "a/b/c", "A_/x", "-a", "a b"]),
            (label_value, &["", "x", "A_1.b", &long[..63]], &["é", "a b", "-a", "a.", &long[..64]]),
            (field, &["a", "1-A", &long], &["-a", "a_b", "a.b", "../a", "ü", "a/b"]),
            (task, &["a1"], &["1a"]),
            (parameter, &["a_b", "-", "A-1"], &["a.b", "a b", "../x"]),
            (object, &["a.b-c", "0"], &["A", "a..b", "-a", "a-", "a/b", "..", ""]),
            (label, &["main"], &["a.b", "Main", "", "..", "a/b", "a\u{1b}"]),
            (key, &["a", ".a", "A_b.c-d", "1"], &["", ".", "..", "..a", "a/b", "a b", "a\n"]),
        ];
        for (rule, good, bad) in rules {
            good.iter().for_each(|name| assert!(rule(name).is_ok(), "{name}"));
            bad.iter().for_each(|name| assert!(rule(name).is_err(), "{name}"));
        }
        assert!(field(&"a".repeat(129)).is_err());
    }
}
