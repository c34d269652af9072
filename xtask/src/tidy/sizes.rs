//! Files and functions stay small.

use super::Source;

/// Lines of a file without its tests.
const FILE: usize = 600;

/// Lines of a function.
const FUNCTION: usize = 70;

pub(super) fn check(sources: &[Source]) -> Vec<String> {
    let mut broken = Vec::new();
    for source in sources {
        let lines = source.code().count();
        if lines > FILE {
            broken.push(format!("{}: {lines} lines, at most {FILE}", source.path.display()));
        }
        for (at, length) in functions(source) {
            if length > FUNCTION {
                broken.push(format!(
                    "{}:{at}: a function of {length} lines, at most {FUNCTION}",
                    source.path.display()
                ));
            }
        }
    }
    broken
}

/// Where functions begin, and how many lines they have. rustfmt puts the closing brace of a
/// function at the indentation of its first line, which is all that is needed to find it.
fn functions(source: &Source) -> Vec<(usize, usize)> {
    let lines: Vec<(usize, &str)> = source.code().collect();
    let mut found = Vec::new();
    for (index, (at, line)) in lines.iter().enumerate() {
        let body = line.trim_start();
        let indent = line.len() - body.len();
        let head = body.split('(').next().unwrap_or_default();
        let is_function =
            head.split_whitespace().any(|word| word == "fn") && !body.starts_with("//");
        if !is_function {
            continue;
        }
        let closing = format!("{}}}", " ".repeat(indent));
        let end = lines[index..].iter().position(|(_, line)| *line == closing);
        if let Some(length) = end {
            found.push((*at, length + 1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_reaches_to_its_own_brace() {
        let text = "impl X {\n    fn a() {\n        if b {\n        }\n    }\n}\nfn c() {}\n";
        let source = Source { path: "crates/x/src/lib.rs".into(), text: text.into() };
        assert_eq!(functions(&source), [(2, 4)]);
    }
}
