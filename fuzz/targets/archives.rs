//! Archives: whatever they hold, nothing outside the target is made, followed or changed.
#![no_main]

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use argosy_blob::archive::{Limits, unpack};
use argosy_model::Archive;
use libfuzzer_sys::fuzz_target;

/// Beside the target, in memory where the machine has such a folder.
fn outside() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let place = tempfile::Builder::new().prefix("argosy-fuzz").tempdir_in(parent);
        let place = place.expect("a folder for the target").keep();
        fs::write(place.join("canary"), "sings").expect("a canary");
        place
    })
}

fuzz_target!(|bytes: &[u8]| {
    let place = outside();
    let dest = place.join("dest");
    let limits = Limits { entries: 1_000, bytes: 1 << 20, ratio: 100 };
    for packing in [Archive::Default, Archive::Tar(0), Archive::Zip] {
        let _ = unpack(Cursor::new(bytes), packing, &dest, limits);
        let beside = fs::read_dir(place).expect("the folder").count();
        assert!(beside <= 2, "something was made beside the target");
        assert_eq!(fs::read_to_string(place.join("canary")).ok().as_deref(), Some("sings"));
        if dest.is_dir() {
            let _ = fs::remove_dir_all(&dest);
        } else {
            let _ = fs::remove_file(&dest);
        }
    }
});
