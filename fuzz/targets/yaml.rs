//! A manifest, from its bytes to a run: every text is accepted or refused with a place.
#![no_main]

use argosy_api::argo::{Kind, Shelf, SubmitOptions, load, to_run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let loaded = match load("fuzz.yaml", text) {
        Ok(loaded) => loaded,
        Err(errors) => {
            assert!(!errors.is_empty(), "refused without a reason");
            return;
        }
    };
    let options = SubmitOptions {
        namespace: "default".to_owned(),
        uid: "00000000-0000-4000-8000-000000000000".to_owned(),
        suffix: "bcdfg".to_owned(),
        ..SubmitOptions::default()
    };
    let mut shelf = Shelf::default();
    loaded.objects.iter().cloned().for_each(|object| shelf.add(object));
    for object in loaded.objects.iter().filter(|object| object.kind == Kind::Workflow) {
        if let Err(errors) = to_run(object, &options, &shelf) {
            assert!(!errors.is_empty(), "refused without a reason");
        }
    }
});
