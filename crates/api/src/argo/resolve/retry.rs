//! When and how often something is tried again.

use argosy_model::graph::{Retry, RetryPolicy};
use argosy_model::limits;

use super::build::Build;
use crate::argo::yaml::Node;

impl Build<'_> {
    /// A `retryStrategy`. Without a policy every failure is tried again if there is an expression, and
    /// only failed work if there is none (argo-workflows `pkg/apis/workflow/v1alpha1`
    /// `RetryPolicyActual`).
    pub(super) fn retry(&mut self, node: &Node) -> Retry {
        let limit = node.any("limit");
        // One with tags is known only later, and cut then.
        if let Some(number) = limit.as_ref().and_then(|limit| limit.parse().ok())
            && let Err(refused) = limits::RETRIES.check(number, "retryStrategy.limit")
        {
            self.sink.refuse(refused.code, node.get("limit").unwrap_or(node).mark, refused.what);
        }
        let expression = node.some_text("expression");
        let policy = match node.text("retryPolicy") {
            "OnError" => RetryPolicy::OnError,
            "OnTransientError" => RetryPolicy::OnTransientError,
            "Always" => RetryPolicy::Always,
            "" if expression.is_some() => RetryPolicy::Always,
            _ => RetryPolicy::OnFailure,
        };
        let backoff = node.get("backoff");
        let text =
            |key: &str| backoff.and_then(|backoff| backoff.any(key)).filter(|t| !t.is_empty());
        Retry {
            limit,
            policy,
            expression,
            backoff: text("duration"),
            factor: text("factor"),
            cap: text("cap"),
            max_duration: text("maxDuration"),
        }
    }
}
