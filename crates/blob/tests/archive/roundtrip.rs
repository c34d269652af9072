//! What is packed comes out again, and Argo's rules hold.

use crate::build::{Place, Tar, gzip, listing, pax};
use argosy_blob::archive::pack;
use argosy_blob::tree::Tree;
use argosy_model::Archive;
use std::fs::{self, Permissions};
use std::io::Cursor;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

const PACKED: [Archive; 4] = [Archive::Default, Archive::Tar(0), Archive::Tar(9), Archive::Zip];

fn source() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("out/deep/er")).unwrap();
    fs::create_dir(at("out/empty")).unwrap();
    fs::write(at("out/deep/er/file"), "text").unwrap();
    fs::write(at(&format!("out/{}", "n".repeat(200))), "long").unwrap();
    fs::write(at("out/run.sh"), "#!/bin/sh").unwrap();
    fs::set_permissions(at("out/run.sh"), Permissions::from_mode(0o755)).unwrap();
    symlink("deep/er/file", at("out/link")).unwrap();
    symlink("/etc/passwd", at("out/outside")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("out/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    folder
}

fn packed(folder: &Path, path: &str, archive: Archive) -> Vec<u8> {
    let tree = Tree::open([folder]).unwrap();
    let mut bytes = Cursor::new(Vec::new());
    let name = Path::new(path).file_name().unwrap().to_str().unwrap();
    pack(&tree, Path::new(path), name, archive, &mut bytes).unwrap();
    bytes.into_inner()
}

#[test]
fn a_folder_comes_out_as_it_went_in() {
    let source = source();
    // A link that leads outside is kept when packing, and refused when unpacking.
    fs::remove_file(source.path().join("out/outside")).unwrap();
    let mut expected = listing(&source.path().join("out"), "dest/");
    expected.insert(0, "dest/ 755".to_owned());
    for archive in PACKED {
        let bytes = packed(source.path(), "out", archive);
        assert_eq!(Place::new().unpack(&bytes, archive).unwrap(), expected, "{archive:?}");
        assert_eq!(Place::new().unpack(&bytes, Archive::Default).unwrap(), expected, "sniffed");
        assert_eq!(packed(source.path(), "out", archive), bytes, "{archive:?} is deterministic");
    }
}

#[test]
fn links_are_packed_as_links() {
    let source = source();
    for archive in PACKED {
        let bytes = packed(source.path(), "out", archive);
        let refused = Place::new().unpack(&bytes, archive).unwrap_err();
        assert!(refused.what.contains(r#""out/outside": a link to "/etc/passwd""#), "{refused}");
    }
}

#[test]
fn a_file_comes_out_as_a_file() {
    let source = source();
    for archive in PACKED.into_iter().chain([Archive::None]) {
        let bytes = packed(source.path(), "out/deep/er/file", archive);
        assert_eq!(Place::new().unpack(&bytes, archive).unwrap(), ["dest 644 text"], "{archive:?}");
    }
    assert_eq!(packed(source.path(), "out/deep/er/file", Archive::None), b"text");
}

#[test]
fn exactly_one_entry_takes_the_place_of_the_folder() {
    let tar = Tar::default;
    for (what, tar, expected) in [
        ("no entry", tar(), vec!["dest/ 755"]),
        ("one file", tar().file("a", "1"), vec!["dest 644 1"]),
        ("one folder", tar().folder("a").file("a/b", "1"), vec!["dest/ 755", "dest/b 644 1"]),
        ("an implied folder", tar().file("./a/b", "1"), vec!["dest/ 755", "dest/b 644 1"]),
        ("one of the same name", tar().file("dest", "1"), vec!["dest 644 1"]),
        (
            "one level only",
            tar().file("a/b/c", "1"),
            vec!["dest/ 755", "dest/b/ 755", "dest/b/c 644 1"],
        ),
        (
            "two files",
            tar().file("a", "1").file("b", "2"),
            vec!["dest/ 755", "dest/a 644 1", "dest/b 644 2"],
        ),
    ] {
        assert_eq!(
            Place::new().unpack(&gzip(&tar.end()), Archive::Default).unwrap(),
            expected,
            "{what}"
        );
    }
}

#[test]
fn bytes_are_unpacked_only_if_they_are_an_archive() {
    let tar = Tar::default().file("a", "1").end();
    for (what, bytes, packing, expected) in [
        ("text", b"text".to_vec(), Archive::Default, Some("dest 644 text")),
        ("nothing", vec![], Archive::Default, Some("dest 644 ")),
        ("zipped text", gzip(b"text"), Archive::Default, None),
        ("the magic of gzip", b"\x1f\x8bx".to_vec(), Archive::Default, None),
        ("a tar", tar.clone(), Archive::Default, Some("dest 644 1")),
        ("a zipped tar", gzip(&tar), Archive::Tar(6), Some("dest 644 1")),
        ("an archive that is to stay one", gzip(&tar), Archive::None, None),
    ] {
        let found = Place::new().unpack(&bytes, packing).unwrap();
        let kept = format!("dest 644 {}", String::from_utf8_lossy(&bytes));
        assert_eq!(found, [expected.unwrap_or(&kept)], "{what}");
    }
    for packing in [Archive::Tar(6), Archive::Zip] {
        assert!(Place::new().unpack(b"text", packing).is_err(), "{packing:?} is insisted on");
    }
}

#[test]
fn long_names_of_every_dialect_are_understood() {
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(120));
    let expected = ["dest/ 755".to_owned(), format!("dest/{} 644 1", "f".repeat(120))];
    let gnu = Tar::default().entry(b'L', b"L", 0, b"", format!("{long}\0").as_bytes());
    let pax = Tar::default().entry(b'x', b"x", 0, b"", pax("path", &long).as_bytes());
    for tar in [gnu, pax] {
        let tar = tar.entry(b'g', b"g", 0, b"", b"").file("short", "1");
        assert_eq!(Place::new().unpack(&tar.end(), Archive::Default).unwrap(), expected);
    }
    // A ustar header with a prefix.
    let mut block = [0; 512];
    block[..3].copy_from_slice(b"b/c");
    block[100..107].copy_from_slice(b"0000644");
    block[124..135].copy_from_slice(b"00000000000");
    block[156] = b'0';
    block[257..265].copy_from_slice(b"ustar\x0000");
    block[345..346].copy_from_slice(b"a");
    let tar = Tar(crate::build::sealed(block).to_vec()).end();
    let found = Place::new().unpack(&tar, Archive::Default).unwrap();
    assert_eq!(found, ["dest/ 755", "dest/b/ 755", "dest/b/c 644 "]);
}
