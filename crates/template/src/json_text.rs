//! JSON as text, where a value must be shown as it was written (Go's `json.RawMessage`).

/// The document without white space between its parts, as Go's `json.Compact` leaves it.
#[must_use]
pub fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in json.chars() {
        if quoted || !c.is_ascii_whitespace() {
            out.push(c);
        }
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            _ => {}
        }
    }
    out
}

/// `<`, `>` and `&` as escapes, as `json.Marshal` writes them. They stand in strings only.
#[must_use]
pub fn escape_html(json: &str) -> String {
    let mut text = json.to_owned();
    for (plain, escape) in HTML {
        if text.contains(plain) {
            text = text.replace(plain, escape);
        }
    }
    text
}

/// The same undone (argo-workflows `util/json/fix.go`).
#[must_use]
pub fn unescape_html(json: &str) -> String {
    let mut text = json.to_owned();
    for (plain, escape) in HTML {
        if text.contains(escape) {
            text = text.replace(escape, plain.encode_utf8(&mut [0; 4]));
        }
    }
    text
}

const HTML: [(char, &str); 3] = [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_goes_but_in_strings() {
        for (json, expected) in [
            ("[ 1.0 ,\n\t2e3 ]", "[1.0,2e3]"),
            (r#"{ "a b" : "c \" d" , "e\\" : 1 }"#, r#"{"a b":"c \" d","e\\":1}"#),
        ] {
            assert_eq!(compact(json), expected);
        }
    }

    #[test]
    fn the_signs_of_html_are_escaped_and_back() {
        assert_eq!(escape_html(r#"["<&>"]"#), r#"["\u003c\u0026\u003e"]"#);
        assert_eq!(unescape_html(r#"["\u003c\u0026\u003e"]"#), r#"["<&>"]"#);
    }
}
