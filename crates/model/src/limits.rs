//! Every limit, in one table. Documentation and tests are generated from [`ALL`]: a value of
//! exactly the limit passes, one more is refused by name. The test of each is named in
//! `crates/api/tests/limits.rs`.

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name, as errors give it.
    pub name: &'static str,
    /// The largest value that passes.
    pub max: u64,
    /// What is counted.
    pub unit: &'static str,
    /// What it bounds.
    pub bounds: &'static str,
}

impl Limit {
    /// `Err` with a diagnostic naming the limit when `value` is over it.
    ///
    /// # Errors
    /// [`crate::Code::TooLarge`].
    pub fn check(&self, value: u64, what: &str) -> Result<(), crate::Diagnostic> {
        if value <= self.max {
            return Ok(());
        }
        Err(crate::Diagnostic::new(
            crate::Code::TooLarge,
            format!(
                "{what}: {value} {} is over the limit `{}` of {}",
                self.unit, self.name, self.max
            ),
        ))
    }
}

macro_rules! limits {
    ($($ident:ident = $name:literal, $max:expr, $unit:literal, $bounds:literal;)*) => {
        $(#[doc = $bounds] pub const $ident: Limit =
            Limit { name: $name, max: $max, unit: $unit, bounds: $bounds };)*

        /// All of them.
        pub const ALL: &[Limit] = &[$($ident,)*];
    };
}

limits! {
    MANIFEST_BYTES = "manifest-bytes", 20 << 20, "bytes", "one manifest file or request body";
    YAML_DEPTH = "yaml-depth", 100, "levels", "nesting of a YAML or JSON value";
    YAML_NODES = "yaml-nodes", 2_000_000, "nodes", "values in one file, after aliases are followed";
    DOCUMENTS = "documents", 1_000, "documents", "documents in one file";
    NAME_BYTES = "name-bytes", 253, "bytes", "the name of a run, a stored object or a space";
    TEMPLATES = "templates", 100_000, "templates", "templates of one run, references included";
    CALLS = "calls", 100_000, "calls", "tasks of one DAG or steps of one template";
    PARAMETER_BYTES = "parameter-bytes", 1 << 20, "bytes", "one parameter, result or item";
    PARAMETERS = "parameters", 10_000, "parameters", "parameters of one template or run";
    ITEMS = "items", 100_000, "items", "items of one loop";
    STEPS = "steps", 1_000_000, "steps", "steps of one run";
    RUN_BYTES = "run-bytes", 1 << 30, "bytes",
        "inputs, outputs, items and messages that one run holds, and 32 for each of them";
    CALL_DEPTH = "call-depth", 100, "levels", "templates that call each other";
    RETRIES = "retries", 10_000, "retries", "tries of one step";
    INFRASTRUCTURE_RETRIES = "infrastructure-retries", 20, "retries",
        "attempts of one step that may be lost before it is given up";
    ARGUMENT_BYTES = "argument-bytes", (128 << 10) - 1, "bytes",
        "one argument, or one variable with its name, of a program (Linux' limit)";
    ARGUMENTS_BYTES = "arguments-bytes", (2 << 20) - (16 << 10), "bytes",
        "all arguments and variables of a program, with 9 more for each (Linux' limit with a stack of 8 MiB)";
    EXPRESSION_DEPTH = "expression-depth", 64, "levels", "brackets and prefixes of one expression";
    EXPRESSION_CHAIN = "expression-chain", 160, "levels",
        "members, pipes and choices in a row of one expression";
    EXPRESSION_NODES = "expression-nodes", 10_000, "nodes", "values and operators of one expression";
    EXPRESSION_BYTES = "expression-bytes", 64 << 10, "bytes", "one expression or condition";
    RESULT_BYTES = "result-bytes", 256 << 10, "bytes", "the standard output kept as a result (its end)";
    ARCHIVE_ENTRIES = "archive-entries", 1_000_000, "entries", "files in one archive";
    ARCHIVE_BYTES = "archive-bytes", 64 << 30, "bytes", "one archive when unpacked";
    ARCHIVE_NAME_BYTES = "archive-name-bytes", 4_095, "bytes", "the name of an entry of an archive";
    ARCHIVE_DEPTH = "archive-depth", 256, "levels", "folders of an archive in each other";
    ARCHIVE_RATIO = "archive-ratio", 1_100, "times", "unpacked over packed size of an archive (above 1 MiB)";
    MEMO_KEY_BYTES = "memo-key-bytes", 253, "bytes", "the key of a step's outputs in a cache";
    KEY_BYTES = "key-bytes", 1_024, "bytes", "the key of a stored artifact or S3 object";
    METADATA_BYTES = "metadata-bytes", 2 << 10, "bytes", "what a client adds to an S3 object for itself";
    PUT_BYTES = "put-bytes", 5 << 30, "bytes", "an S3 object, or a part of one, sent at once";
    OBJECT_BYTES = "object-bytes", 5 << 40, "bytes", "an S3 object of several parts";
    DOCUMENT_BYTES = "document-bytes", 4 << 20, "bytes", "an XML document that an S3 client sends";
    CONNECTIONS = "connections", 512, "connections", "open connections of one address that is listened on";
    CONNECTION_IDLE = "connection-idle", 60, "seconds",
        "a connection without a request, or with one of which no more comes";
    CONNECTION_PEER = "connection-peer", 120, "seconds",
        "a connection whose other end has vanished";
    LABELS = "labels", 1_000, "labels", "labels or annotations of one object";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_passes_its_value_and_refuses_the_next() {
        for limit in ALL {
            assert!(limit.check(limit.max, "x").is_ok(), "{}", limit.name);
            let refused = limit.check(limit.max + 1, "x").unwrap_err();
            assert!(refused.what.contains(limit.name), "{}", refused.what);
        }
    }
}
