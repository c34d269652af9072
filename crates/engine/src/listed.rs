//! The list that a tag of all parameters shows: `{{inputs.parameters}}`, `{{workflow.parameters}}`
//! (argo-workflows `workflow/common/util.go`, `workflow/controller/operator.go`).

use argosy_model::graph::Argument;
use argosy_template::json_text;
use serde::Serialize;

/// A parameter as Go writes it.
#[derive(Serialize)]
pub struct Listed<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(rename = "enum", skip_serializing_if = "<[String]>::is_empty")]
    allowed: &'a [String],
}

/// A declared parameter with its value.
pub fn listed<'a>(declared: &'a Argument, value: Option<&'a str>) -> Listed<'a> {
    let (default, allowed) = (declared.default.as_deref(), &*declared.allowed);
    Listed { name: &declared.name, default, value, allowed }
}

/// The text of the list.
pub fn written<'a>(list: impl Iterator<Item = Listed<'a>>) -> String {
    // A list of texts can always be written.
    let text = serde_json::to_string(&list.collect::<Vec<_>>()).unwrap_or_default();
    json_text::escape_html(&text)
}
