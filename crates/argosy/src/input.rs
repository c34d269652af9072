//! Files that a person names, read as far as one may be long.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use argosy_model::{Code, Diagnostic, limits};

/// The text of a file (`-` is standard input), whose name messages give.
///
/// # Errors
/// That it is not there, cannot be read, is too large, or is no text. Of a file without an end only
/// so much is read as one may be long.
pub(crate) fn text(file: &Path) -> Result<String, Diagnostic> {
    let name = file.display();
    let bytes = if file.as_os_str() == "-" {
        bounded(io::stdin())
    } else {
        File::open(file).and_then(bounded)
    };
    let bytes = bytes.map_err(|error| {
        let code = match error.kind() {
            io::ErrorKind::NotFound => Code::NotFound,
            _ => Code::BadRequest,
        };
        Diagnostic::new(code, format!("{name}: {error}"))
    })?;
    if let Err(large) = limits::MANIFEST_BYTES.check(bytes.len() as u64, &name.to_string()) {
        return Err(large.help("more of it was not read; split it into several files"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let what = format!("{name}: byte {at} is not UTF-8");
        Diagnostic::new(Code::BadText, what).help("save the file as UTF-8")
    })
}

/// All bytes, or one more than there may be.
fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limits::MANIFEST_BYTES.max.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
