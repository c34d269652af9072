//! The one way out: whatever a command prints goes through here.
//!
//! Where somebody looks, control characters of what others wrote (names, messages, logs) are shown
//! and not carried out. Elsewhere data is written as it is.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use argosy_model::{Code, Diagnostic};

use crate::failure::Failure;
use crate::show;

/// Prints a line for people on standard output.
macro_rules! say {
    ($($part:tt)*) => { $crate::out::text(&format!("{}\n", format_args!($($part)*))) };
}

/// Prints a line for people on standard error, if anybody is there.
macro_rules! note {
    ($($part:tt)*) => { $crate::out::aside(&format!("{}\n", format_args!($($part)*))) };
}

pub(crate) use {note, say};

/// Prints a text for people: coloured where that is wanted.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let shown = visible(text, io::stdout().is_terminal());
    done(write(&mut anstream::stdout(), shown.as_bytes()))
}

/// Prints data: the same bytes, but for a screen.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let shown = visible(text, io::stdout().is_terminal());
    done(write(&mut io::stdout(), shown.as_bytes()))
}

/// Prints what a program wrote: the same bytes, but for a screen.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return data(&String::from_utf8_lossy(bytes));
    }
    done(write(&mut io::stdout(), bytes))
}

/// Prints over the last so many lines of a screen.
pub(crate) fn over(lines: usize, picture: &str) -> Result<(), Failure> {
    if lines > 0 {
        done(write(&mut io::stdout(), format!("\x1b[{lines}A\x1b[J").as_bytes()))?;
    }
    text(picture)
}

/// Says something on standard error. When that fails there is nobody to be told.
pub(crate) fn aside(text: &str) {
    let shown = visible(text, io::stderr().is_terminal());
    let _ = write(&mut anstream::stderr(), shown.as_bytes());
}

/// Whether somebody looks at standard output.
pub(crate) fn is_screen() -> bool {
    io::stdout().is_terminal()
}

fn write(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    // Flushed at once, as an error of a later flush would be lost.
    to.write_all(bytes).and_then(|()| to.flush())
}

fn done(written: io::Result<()>) -> Result<(), Failure> {
    written.map_err(|error| match error.kind() {
        // Whoever read this has seen enough.
        io::ErrorKind::BrokenPipe => Failure::closed(),
        _ => {
            let what = format!("standard output cannot be written: {error}");
            let help = "make room, or print to another place; what was ordered is done";
            Diagnostic::new(Code::NotPrinted, what).help(help).into()
        }
    })
}

/// A text as it may be written to a screen: control characters become visible, with the exception
/// of line ends, tabs and our own colours. The escapes are those of JSON, so that JSON stays JSON.
fn visible(text: &str, screen: bool) -> Cow<'_, str> {
    if !screen || !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(acts) {
        let (plain, from) = rest.split_at(at);
        shown.push_str(plain);
        let own = show::COLOURS.iter().find(|colour| from.starts_with(**colour));
        let length = match own {
            Some(colour) => {
                shown.push_str(colour);
                colour.len()
            }
            None => escape(from, &mut shown),
        };
        rest = from.get(length..).unwrap_or_default();
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Writes the first character of a text as an escape; its length.
fn escape(text: &str, shown: &mut String) -> usize {
    let Some(c) = text.chars().next() else { return 0 };
    match c {
        '\r' => shown.push_str("\\r"),
        _ => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
    }
    c.len_utf8()
}

/// Whether a character does something to a screen, or to the order in which it shows others.
fn acts(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && !matches!(c, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_shows_control_characters_and_everything_else_gets_them() {
        for (text, shown) in [
            ("a\tb\nä", "a\tb\nä"),
            ("50%\r100%", "50%\\r100%"),
            // The title of a window, and a screen that is cleared.
            ("\x1b]0;x\x07", "\\u001b]0;x\\u0007"),
            ("\x1b[2J\x1b[31", "\\u001b[2J\\u001b[31"),
            // One character that begins a sequence, and one that turns the order round.
            ("\u{9b}2J \u{202e}x", "\\u009b2J \\u202ex"),
        ] {
            assert_eq!(visible(text, true), shown);
            assert_eq!(visible(text, false), text);
        }
    }

    #[test]
    fn our_own_colours_pass() {
        let painted = show::paint("Failed", "no");
        assert!(painted.starts_with('\x1b'), "{painted:?}");
        assert_eq!(visible(&painted, true), painted);
        for phase in ["Succeeded", "Failed", "Error", "Running", "Pending"] {
            let painted = show::paint(phase, "");
            assert_eq!(visible(&painted, true), painted, "{phase}");
        }
    }
}
