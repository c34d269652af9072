//! Points at which tests kill the process. Without the feature they are nothing.

/// A point in the life of a commit or an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// Events are decided and not durable.
    BeforeCommit,
    /// Events are durable and their effects not carried out.
    AfterCommit,
    /// Effects are carried out and nothing is reported back.
    AfterEffect,
}

/// Dies here, when a test says so.
#[cfg(feature = "test-hooks")]
pub(crate) fn pass(point: Point) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    static PLAN: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let plan = PLAN.get_or_init(|| {
        let text = std::env::var("ARGOSY_TEST_KILL").ok()?;
        let (name, number) = text.split_once(':')?;
        Some((name.to_owned(), number.parse().ok()?))
    });
    let Some((name, number)) = plan else { return };
    let here = match point {
        Point::BeforeCommit => "before-commit",
        Point::AfterCommit => "after-commit",
        Point::AfterEffect => "after-effect",
    };
    if name == here && SEEN.fetch_add(1, Ordering::SeqCst) + 1 == *number {
        // The same as kill -9 from outside: nothing is flushed, no destructor runs.
        std::process::abort();
    }
}

#[cfg(not(feature = "test-hooks"))]
pub(crate) fn pass(_: Point) {}

/// Whether a test wants effects before their commit, to see that its checks notice.
#[cfg(feature = "test-hooks")]
pub(crate) fn effects_first() -> bool {
    std::env::var_os("ARGOSY_TEST_EFFECTS_FIRST").is_some()
}

/// Exchanges two outputs of an attempt, when a test wants to see that its checks notice.
#[cfg(feature = "test-hooks")]
pub(crate) fn swap_outputs(end: &mut argosy_model::attempt::End) {
    if std::env::var_os("ARGOSY_TEST_SWAP_OUTPUTS").is_none() {
        return;
    }
    let argosy_model::Outputs { result, parameters, .. } = &mut end.outputs;
    match (parameters.as_mut_slice(), result) {
        ([first, second, ..], _) => std::mem::swap(&mut first.1, &mut second.1),
        ([only], Some(result)) => {
            let text = only.1.as_str().unwrap_or_default().into();
            only.1 = std::mem::replace(result, text).into_string().into();
        }
        _ => {}
    }
}

#[cfg(not(feature = "test-hooks"))]
pub(crate) fn swap_outputs(_: &mut argosy_model::attempt::End) {}
