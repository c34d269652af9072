//! JSON as people like to read it, made from JSON without spaces while that comes.

/// A value that is being printed, as `serde_json::to_string_pretty` prints one.
#[derive(Debug, Default)]
pub(crate) struct Pretty {
    line: Vec<u8>,
    depth: usize,
    place: Place,
}

/// Where the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Between,
    /// Behind a bracket: what follows is in a line of its own, unless nothing does.
    Opened,
    Text,
    /// Behind a backslash in a text.
    Escaped,
}

impl Pretty {
    /// The lines that these bytes complete. A text has no line end in it, so lines have whole
    /// characters.
    pub(crate) fn lines(&mut self, bytes: &[u8]) -> String {
        bytes.iter().for_each(|byte| self.take(*byte));
        let whole = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let rest = self.line.split_off(whole);
        into_text(std::mem::replace(&mut self.line, rest))
    }

    /// The last line.
    pub(crate) fn end(self) -> String {
        into_text(self.line) + "\n"
    }

    fn take(&mut self, byte: u8) {
        match (self.place, byte) {
            (Place::Escaped, _) => self.put(byte, Place::Text),
            (Place::Text, b'\\') => self.put(byte, Place::Escaped),
            (Place::Text, b'"') => self.put(byte, Place::Between),
            (Place::Text, _) => self.put(byte, Place::Text),
            (_, b' ' | b'\n' | b'\t' | b'\r') => {}
            (place, b'}' | b']') => {
                self.depth = self.depth.saturating_sub(1);
                if place == Place::Between {
                    self.begin_line();
                }
                self.put(byte, Place::Between);
            }
            (place, _) => {
                if place == Place::Opened {
                    self.begin_line();
                }
                self.put_outside(byte);
            }
        }
    }

    fn put_outside(&mut self, byte: u8) {
        match byte {
            b'"' => self.put(byte, Place::Text),
            b'{' | b'[' => {
                self.depth += 1;
                self.put(byte, Place::Opened);
            }
            b',' => {
                self.put(byte, Place::Between);
                self.begin_line();
            }
            b':' => {
                self.put(byte, Place::Between);
                self.line.push(b' ');
            }
            _ => self.put(byte, Place::Between),
        }
    }

    fn put(&mut self, byte: u8, then: Place) {
        self.line.push(byte);
        self.place = then;
    }

    fn begin_line(&mut self) {
        self.line.push(b'\n');
        self.line.extend(std::iter::repeat_n(b' ', 2 * self.depth));
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    // JSON is UTF-8, and what is no JSON is shown as well as it can be.
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_come_in_pieces_are_printed_as_those_that_are_whole() {
        for text in [
            r#"{"a":1,"b":[],"c":{},"d":[1,-2.5,true,null,"x"],"e":{"f":{"g":"h"}}}"#,
            r#"{"quotes":"\"{[,:]}\\","ä€":"\\\"","deep":[[[]],[{"a":[{}]}]]}"#,
            "[]",
            "\"only\"",
            "7",
        ] {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            let wanted = serde_json::to_string_pretty(&value).unwrap() + "\n";
            for length in [1, 2, 3, 1_000] {
                let mut pretty = Pretty::default();
                let mut shown = String::new();
                text.as_bytes().chunks(length).for_each(|piece| shown += &pretty.lines(piece));
                assert_eq!(shown + &pretty.end(), wanted, "{length}");
            }
        }
    }
}
