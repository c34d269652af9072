//! Calls of templates: steps, tasks and hooks.

use super::io::ARGUMENTS;
use super::template::TEMPLATE;
use super::{Field, Kind, Object, Range, deprecated, ignored, works};

const ARGUMENTS_FIELD: Field = works("arguments", Kind::One(&ARGUMENTS));
const CONTINUE_ON: Field = works("continueOn", Kind::One(&CONTINUE_ON_OBJECT));
const HOOKS: Field = works("hooks", Kind::Keyed(&HOOK));
const NAME: Field = works("name", Kind::Text);
const ON_EXIT: Field = deprecated("onExit", Kind::Text, "hooks.exit");
const TARGET: Field = works("template", Kind::Text);
const TEMPLATE_REF: Field = works("templateRef", Kind::One(&TEMPLATE_REF_OBJECT));
const WHEN: Field = works("when", Kind::Condition);
const WITH_ITEMS: Field = works("withItems", Kind::Items);
const WITH_PARAM: Field = works("withParam", Kind::Text);
const WITH_SEQUENCE: Field = works("withSequence", Kind::One(&SEQUENCE));

pub(crate) static STEP: Object = Object {
    name: "WorkflowStep",
    fields: &[
        ARGUMENTS_FIELD,
        CONTINUE_ON,
        HOOKS,
        works("inline", Kind::One(&TEMPLATE)),
        NAME,
        ON_EXIT,
        TARGET,
        TEMPLATE_REF,
        WHEN,
        WITH_ITEMS,
        WITH_PARAM,
        WITH_SEQUENCE,
    ],
};

pub(crate) static DAG_TASK: Object = Object {
    name: "DAGTask",
    fields: &[
        ARGUMENTS_FIELD,
        CONTINUE_ON,
        works("dependencies", Kind::Texts),
        works("depends", Kind::Text),
        HOOKS,
        works("inline", Kind::One(&TEMPLATE)),
        NAME,
        ON_EXIT,
        TARGET,
        TEMPLATE_REF,
        WHEN,
        WITH_ITEMS,
        WITH_PARAM,
        WITH_SEQUENCE,
    ],
};

pub(crate) static HOOK: Object = Object {
    name: "LifecycleHook",
    fields: &[ARGUMENTS_FIELD, works("expression", Kind::Expression), TARGET, TEMPLATE_REF],
};

static CONTINUE_ON_OBJECT: Object = Object {
    name: "ContinueOn",
    fields: &[works("error", Kind::Bool), works("failed", Kind::Bool)],
};

static TEMPLATE_REF_OBJECT: Object = Object {
    name: "TemplateRef",
    fields: &[
        works("clusterScope", Kind::Bool),
        works("name", Kind::Text),
        works("template", Kind::Text),
        ignored("runtimeResolution", "references are resolved at submit"),
    ],
};

static SEQUENCE: Object = Object {
    name: "Sequence",
    fields: &[
        works("count", Kind::Number(Range::from(0))),
        works("end", Kind::Number(Range::new(i64::MIN, i64::MAX))),
        works("format", Kind::Text),
        works("start", Kind::Number(Range::new(i64::MIN, i64::MAX))),
    ],
};
