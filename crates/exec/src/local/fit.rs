//! How much a program can be given (Linux `fs/exec.c`: so many bytes for each argument and each
//! variable, and so many for all of them).

use argosy_model::{Diagnostic, limits};
use rustix::process::{Resource, getrlimit};

/// For each text: the byte that ends it, and its address.
const BESIDE: u64 = 9;

/// What to do.
const HELP: &str = "hand it over as an input artifact (`raw`), or as the source of a script";

/// Checks that a program can be given these, before anything is started.
///
/// # Errors
/// Which of them is too long, and what to do.
pub fn check(container: &str, argv: &[String], env: &[(String, String)]) -> Result<(), Diagnostic> {
    let arguments = argv.iter().enumerate().map(|(at, text)| {
        (text.len() as u64, move || format!("argument {at} of container {container:?}"))
    });
    for (length, what) in arguments {
        longest(length, what)?;
    }
    for (name, value) in env {
        let length = (name.len() + 1 + value.len()) as u64;
        longest(length, || format!("variable {name} of container {container:?}"))?;
    }
    let arguments = argv.iter().map(|text| text.len() as u64);
    let variables = env.iter().map(|(name, value)| (name.len() + 1 + value.len()) as u64);
    let sizes = arguments.chain(variables).map(|length| length + BESIDE);
    let what = format!("all arguments and variables of container {container:?} together");
    let limit = limits::Limit { max: most(), ..limits::ARGUMENTS_BYTES };
    limit.check(sizes.sum(), &what).map_err(|large| large.help(HELP))
}

fn longest(length: u64, what: impl Fn() -> String) -> Result<(), Diagnostic> {
    if length <= limits::ARGUMENT_BYTES.max {
        return Ok(());
    }
    let checked = limits::ARGUMENT_BYTES.check(length, &what());
    checked.map_err(|long| long.help(HELP))
}

/// A quarter of the stack, as far as it is less than usual, with room for what is added on the way.
fn most() -> u64 {
    const ROOM: u64 = 16 << 10;
    let stack = getrlimit(Resource::Stack).current.unwrap_or(u64::MAX);
    limits::ARGUMENTS_BYTES.max.min((stack / 4).saturating_sub(ROOM))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(count: usize, length: usize) -> Vec<String> {
        vec!["x".repeat(length); count]
    }

    #[test]
    fn one_text_may_have_what_linux_takes_and_no_more() {
        // MAX_ARG_STRLEN counts the byte that ends it.
        let most = 131_071;
        assert_eq!(check("main", &texts(1, most), &[]), Ok(()));
        let refused = check("main", &texts(1, most + 1), &[]).unwrap_err();
        assert_eq!(
            refused.line(),
            "[E0107] argument 0 of container \"main\": 131072 bytes is over the limit \
             `argument-bytes` of 131071; hand it over as an input artifact (`raw`), or as the \
             source of a script"
        );
        let variable = |length| [("NAME".to_owned(), "x".repeat(length - "NAME=".len()))];
        assert_eq!(check("main", &[], &variable(most)), Ok(()));
        let refused = check("main", &[], &variable(most + 1)).unwrap_err();
        assert!(refused.what.contains("variable NAME of container \"main\": 131072"), "{refused}");
    }

    #[test]
    fn all_texts_together_are_bounded() {
        let limit = usize::try_from(most()).unwrap();
        let (count, each) = (limit / 100_009, 100_000);
        let mut argv = texts(count, each);
        argv.push("x".repeat(limit - count * 100_009 - 9));
        assert_eq!(check("main", &argv, &[]), Ok(()));
        argv.push(String::new());
        let refused = check("main", &argv, &[]).unwrap_err();
        assert!(refused.what.contains("`arguments-bytes`"), "{refused}");
    }
}
