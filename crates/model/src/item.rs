//! One item of a loop.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An item of a loop: the text of a JSON value, without white space. A number keeps its digits and
/// an object the order of its keys, which no value that is computed with would keep
/// (argo-workflows `pkg/apis/workflow/v1alpha1/item.go`, a `json.RawMessage`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Item(Box<RawValue>);

impl Item {
    /// The item of that JSON text.
    ///
    /// # Errors
    /// If it is no JSON.
    pub fn new(json: String) -> Result<Item, serde_json::Error> {
        RawValue::from_string(json).map(Item)
    }

    /// Its text.
    #[must_use]
    pub fn json(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        self.json() == other.json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_written_and_read_with_the_digits_that_it_has() {
        let text = r#"[1.50,1e3,123456789012345678901234567890,{"b":1.0,"a":"x"},null]"#;
        let items: Vec<Item> = serde_json::from_str(text).unwrap();
        assert_eq!(items[2].json(), "123456789012345678901234567890");
        assert_eq!(serde_json::to_string(&items).unwrap(), text);
        assert!(Item::new("1.".to_owned()).is_err());
    }
}
