//! Programs that images of Argo's examples consist of.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Names under which the product's binary is one of these programs.
pub const NAMES: [&str; 2] = ["argosay", "cowsay"];

/// Runs one of the built-in programs if `argv0` is called as one: its exit code, else `None`. To
/// be asked first thing in `main`. `args` are those after the program's name.
#[must_use]
pub fn multicall(argv0: &str, args: &[String]) -> Option<i32> {
    let name = Path::new(argv0).file_name()?.to_str()?;
    let mut out = io::stdout().lock();
    let done = match name {
        "argosay" => argosay(args, &mut out),
        "cowsay" => cowsay(args, &mut out),
        _ => return None,
    };
    Some(done.unwrap_or_else(|error| {
        // If standard error is closed, the exit code has to do.
        let _ = writeln!(io::stderr(), "{name}: {error}");
        1
    }))
}

/// `argoproj/argosay:v2`, verb by verb as its script does it.
fn argosay(args: &[String], out: &mut impl Write) -> io::Result<i32> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [] | ["echo"] => writeln!(out, "hello argo")?,
        ["echo", text] => writeln!(out, "{text}")?,
        ["echo", text, file] => {
            Path::new(file).parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(file, format!("{text}\n"))?;
        }
        ["cat", ref files @ ..] => {
            for file in files {
                io::copy(&mut fs::File::open(file)?, out)?;
            }
        }
        ["assert_contains", file, text] => {
            let content = fs::read_to_string(file)?;
            let mut found = content.lines().filter(|line| line.contains(text)).peekable();
            if found.peek().is_none() {
                return Ok(1);
            }
            for line in found {
                writeln!(out, "{line}")?;
            }
        }
        ["exit"] => {}
        ["exit", code] => return code.parse().map_err(|_| unknown(code)),
        ["sleep", time] => sleep(duration(time).ok_or_else(|| unknown(time))?),
        ["sh", ref script @ ..] => {
            return Ok(Command::new("sh").args(script).status()?.code().unwrap_or(1));
        }
        _ => return Ok(1),
    }
    out.flush().map(|()| 0)
}

fn unknown(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("cannot read {text:?}"))
}

/// A number of seconds, or one with a unit as `sleep` and Go know them.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}

/// Columns of a balloon's text.
const BALLOON: usize = 40;

fn cowsay(args: &[String], out: &mut impl Write) -> io::Result<i32> {
    let lines = wrap(&args.join(" "));
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    writeln!(out, " {}", "_".repeat(width + 2))?;
    let last = lines.len() - 1;
    for (at, line) in lines.iter().enumerate() {
        let [left, right] = match at {
            _ if last == 0 => ['<', '>'],
            0 => ['/', '\\'],
            _ if at == last => ['\\', '/'],
            _ => ['|', '|'],
        };
        writeln!(out, "{left} {line:<width$} {right}")?;
    }
    writeln!(out, " {}", "-".repeat(width + 2))?;
    out.write_all(COW.as_bytes())?;
    out.flush().map(|()| 0)
}

/// Words on lines of at most [`BALLOON`] characters, as far as the words allow; at least one line.
fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let fits = |line: &String| {
            line.is_empty() || line.chars().count() + 1 + word.chars().count() <= BALLOON
        };
        if !lines.last().is_some_and(fits) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

const COW: &str = r"        \   ^__^
         \  (oo)\_______
            (__)\       )\/\
                ||----w |
                ||     ||
";

#[expect(clippy::disallowed_methods, reason = "sleeping is what this tool is asked to do")]
fn sleep(time: std::time::Duration) {
    std::thread::sleep(time);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(args: &[&str]) -> (i32, String) {
        let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut out = Vec::new();
        let code = argosay(&args, &mut out).unwrap_or(1);
        (code, String::from_utf8(out).unwrap())
    }

    #[test]
    fn argosay_does_what_the_script_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/file");
        let file = file.to_str().unwrap();
        for (args, code, text) in [
            (&[][..], 0, "hello argo\n"),
            (&["echo"], 0, "hello argo\n"),
            (&["echo", "a b"], 0, "a b\n"),
            (&["echo", "one", file], 0, ""),
            (&["cat", file], 0, "one\n"),
            (&["cat", "/none"], 1, ""),
            (&["assert_contains", file, "n"], 0, "one\n"),
            (&["assert_contains", file, "x"], 1, ""),
            (&["exit"], 0, ""),
            (&["exit", "3"], 3, ""),
            (&["sleep", "0s"], 0, ""),
            (&["sh", "-c", "exit 4"], 4, ""),
            (&["what"], 1, ""),
        ] {
            assert_eq!(run(args), (code, text.to_owned()), "{args:?}");
        }
    }

    #[test]
    fn times_are_read_with_and_without_unit() {
        for (text, ms) in
            [("1", Some(1_000)), ("0.5s", Some(500)), ("20ms", Some(20)), ("2m", Some(120_000))]
        {
            assert_eq!(duration(text), ms.map(Duration::from_millis), "{text}");
        }
        for text in ["", "s", "-1", "1x"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_cow_says_short_and_long_things() {
        let say = |text: &str| {
            let mut out = Vec::new();
            cowsay(&[text.to_owned()], &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert!(say("hello").starts_with(" _______\n< hello >\n -------\n        \\   ^__^\n"));
        let long = say(&"word ".repeat(20));
        let edges: Vec<_> = long.lines().skip(1).take(3).map(|line| &line[..1]).collect();
        assert_eq!(edges, ["/", "|", "\\"]);
    }

    #[test]
    fn other_names_are_not_ours() {
        assert_eq!(multicall("/usr/bin/argosy", &[]), None);
    }
}
