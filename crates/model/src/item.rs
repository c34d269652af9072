//! One item of a loop.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// An item of a loop: the text of a JSON value, without white space. A number keeps its digits and
/// an object the order of its keys, which no value that is computed with would keep
/// (argo-workflows `pkg/apis/workflow/v1alpha1/item.go`, a `json.RawMessage`).
#[derive(Clone, Debug, PartialEq)]
pub struct Item(Form);

#[derive(Clone, Debug)]
enum Form {
    /// A string with nothing to escape in it, as most items are: without its quotes.
    Plain(Box<str>),
    /// Anything else.
    Json(Box<RawValue>),
}

impl PartialEq for Form {
    fn eq(&self, other: &Form) -> bool {
        match (self, other) {
            (Form::Plain(one), Form::Plain(other)) => one == other,
            (Form::Json(one), Form::Json(other)) => one.get() == other.get(),
            _ => false,
        }
    }
}

impl Item {
    /// The item of that JSON text.
    ///
    /// # Errors
    /// If it is no JSON.
    pub fn new(json: String) -> Result<Item, serde_json::Error> {
        RawValue::from_string(json).map(Item::of_raw)
    }

    /// The item that is this string.
    ///
    /// # Errors
    /// None that is known: every text is a string of JSON.
    pub fn of_text(text: String) -> Result<Item, serde_json::Error> {
        if text.contains(|c: char| c < ' ' || c == '"' || c == '\\') {
            return to_raw_value(&text).map(Item::of_raw);
        }
        Ok(Item(Form::Plain(text.into_boxed_str())))
    }

    fn of_raw(raw: Box<RawValue>) -> Item {
        let inner = raw.get().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match inner.filter(|inner| !inner.contains('\\')) {
            Some(plain) => Item(Form::Plain(plain.into())),
            None => Item(Form::Json(raw)),
        }
    }

    /// Its JSON text.
    #[must_use]
    pub fn json(&self) -> Cow<'_, str> {
        match &self.0 {
            Form::Plain(text) => Cow::Owned(format!("\"{text}\"")),
            Form::Json(raw) => Cow::Borrowed(raw.get()),
        }
    }

    /// The string that it is, where nothing in it has an escape.
    #[must_use]
    pub fn as_plain(&self) -> Option<&str> {
        match &self.0 {
            Form::Plain(text) => Some(text),
            Form::Json(_) => None,
        }
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Form::Plain(text) => serializer.serialize_str(text),
            Form::Json(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Item, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Item::of_raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_written_and_read_with_the_digits_that_it_has() {
        let text =
            r#"[1.50,1e3,123456789012345678901234567890,{"b":1.0,"a":"x"},null,"x y","\u00e9\\n"]"#;
        let items: Vec<Item> = serde_json::from_str(text).unwrap();
        assert_eq!(items[2].json(), "123456789012345678901234567890");
        assert_eq!(serde_json::to_string(&items).unwrap(), text);
        assert!(Item::new("1.".to_owned()).is_err());
        for (string, json) in [("x y", r#""x y""#), ("a\"\\\n", r#""a\"\\\n""#)] {
            let item = Item::of_text(string.to_owned()).unwrap();
            assert_eq!((item.json().as_ref(), &item), (json, &Item::new(json.to_owned()).unwrap()));
        }
    }
}
