//! Archives that try to reach outside, or to fill the machine.

use crate::build::{Place, Tar, gzip, pax, sealed};
use argosy_blob::archive::Limits;
use argosy_model::{Archive, Code};
use proptest::prelude::*;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn tar() -> Tar {
    Tar::default().file("first", "1")
}

fn assert_refused(what: &str, bytes: &[u8], because: &str) {
    let refused = Place::new().unpack(bytes, Archive::Default);
    let diagnostic = refused.expect_err(what);
    assert_eq!(diagnostic.code, Code::HostileArchive, "{what}: {diagnostic}");
    assert!(diagnostic.what.contains(because), "{what}: {diagnostic}");
}

#[test]
fn tars_that_could_reach_outside_are_refused() {
    let long = "n".repeat(70_000);
    for (what, tar, because) in [
        ("absolute name", tar().file("/etc/x", ""), "absolute"),
        ("climbing name", tar().file("a/../../x", ""), "climbs"),
        ("climbing folder", tar().folder("../x"), "climbs"),
        ("name that is not UTF-8", tar().entry(b'0', b"\xff", 0o644, b"", b""), "UTF-8"),
        ("absolute link", tar().symlink("l", "/etc"), "outside"),
        ("climbing link", tar().symlink("l", ".."), "outside"),
        ("climbing link of a folder", tar().symlink("d/l", "../../x"), "outside"),
        ("link that climbs behind a link", tar().symlink("l", "a/../.."), "outside"),
        ("link to nothing", tar().symlink("l", ""), "outside"),
        ("file through a link", tar().symlink("l", "d").file("l/x", ""), "leads through"),
        ("folder through a link", tar().symlink("l", "d").folder("l/x"), "leads through"),
        ("folder in place of a link", tar().symlink("l", "d").folder("l"), "leads through"),
        ("file in place of a link", tar().symlink("l", "d").file("l", ""), "twice"),
        ("link through a link", tar().symlink("l", "d").symlink("l/x", "y"), "leads through"),
        ("file through a file", tar().file("first/x", ""), "leads through"),
        ("the same name again", tar().file("./first", "2"), "twice"),
        ("hard link to an absolute name", tar().hardlink("l", "/etc/passwd"), "absolute"),
        ("hard link that climbs", tar().hardlink("l", "../beside"), "climbs"),
        ("hard link to nothing", tar().hardlink("l", "none"), "no file here"),
        ("hard link to a link", tar().symlink("s", "first").hardlink("l", "s"), "no file here"),
        ("hard link to a folder", tar().folder("d").hardlink("l", "d"), "no file here"),
        ("the folder itself", tar().file(".", ""), "itself"),
        ("character device", tar().entry(b'3', b"d", 0o666, b"", b""), "cannot be unpacked"),
        ("block device", tar().entry(b'4', b"d", 0o666, b"", b""), "cannot be unpacked"),
        ("pipe", tar().entry(b'6', b"d", 0o666, b"", b""), "cannot be unpacked"),
        ("sparse file", tar().entry(b'S', b"d", 0o666, b"", b""), "cannot be unpacked"),
        ("long GNU name", tar().entry(b'L', b"L", 0, b"", long.as_bytes()), "more than"),
        (
            "GNU name that climbs",
            tar().entry(b'L', b"L", 0, b"", b"../x\0").file("harmless", ""),
            "climbs",
        ),
        (
            "GNU link that climbs",
            tar().entry(b'K', b"K", 0, b"", b"../beside\0").hardlink("l", "first"),
            "climbs",
        ),
        (
            "GNU name with a zero byte",
            tar().entry(b'L', b"L", 0, b"", b"a\0b\0").file("harmless", ""),
            "zero byte",
        ),
        (
            "pax name that climbs",
            tar().entry(b'x', b"x", 0, b"", pax("path", "../x").as_bytes()).file("harmless", ""),
            "climbs",
        ),
        (
            "pax link that is absolute",
            tar().entry(b'x', b"x", 0, b"", pax("linkpath", "/etc").as_bytes()).symlink("l", "d"),
            "outside",
        ),
        (
            "pax size that differs",
            tar().entry(b'x', b"x", 0, b"", pax("size", "9").as_bytes()).file("f", ""),
            "contradict",
        ),
        (
            "sparse file in pax",
            tar().entry(b'x', b"x", 0, b"", pax("GNU.sparse.major", "1").as_bytes()),
            "sparse",
        ),
        ("malformed pax record", tar().entry(b'x', b"x", 0, b"", b"99 a=b\n"), "malformed"),
    ] {
        assert_refused(what, &tar.clone().end(), because);
        assert_refused(what, &gzip(&tar.end()), because);
    }
}

#[test]
fn names_are_bounded_in_length_and_depth() {
    for (name, because) in
        [("n".repeat(4_096), "archive-name-bytes"), ("d/".repeat(257), "archive-depth")]
    {
        let tar = Tar::default().entry(b'L', b"L", 0, b"", name.as_bytes()).file("f", "");
        assert_refused(because, &tar.end(), because);
    }
}

#[test]
fn damaged_tars_are_refused() {
    let whole = Tar::default().file("f", &"x".repeat(2_000)).end();
    let mut wrong_sum = whole.clone();
    wrong_sum.extend([b'x'; 512]);
    let mut negative = [0; 512];
    negative[..1].copy_from_slice(b"f");
    negative[124..136].fill(0xff);
    for (what, bytes) in [
        ("cut off", gzip(&whole[..1_000])),
        ("gzip cut off", gzip(&whole)[..60].to_vec()),
        ("negative size", gzip(&[&Tar::default().file("a", "").0[..], &sealed(negative)].concat())),
        ("garbage after an entry", gzip(&[&whole[..2_560], &wrong_sum[3_584..]].concat())),
    ] {
        let refused = Place::new().unpack(&bytes, Archive::Tar(6)).expect_err(what);
        assert_eq!(refused.code, Code::HostileArchive, "{what}");
    }
}

#[test]
fn special_bits_are_taken_away() {
    let tar = Tar::default()
        .entry(b'0', b"suid", 0o6_755, b"", b"x")
        .entry(b'5', b"sticky", 0o1_755, b"", b"")
        .entry(b'5', b"closed", 0, b"", b"");
    let found = Place::new().unpack(&tar.end(), Archive::Default).unwrap();
    assert_eq!(found, ["dest/ 755", "dest/closed/ 700", "dest/sticky/ 755", "dest/suid 755 x"]);
}

#[test]
fn an_archive_is_bounded_in_entries_bytes_and_ratio() {
    let limits = Limits { entries: 3, bytes: 4 << 20, ratio: 10 };
    let files =
        |count: u32| (0..count).fold(Tar::default(), |tar, n| tar.file(&n.to_string(), "")).end();
    let zeros = |bytes: usize| Tar::default().file("f", &"\0".repeat(bytes)).end();
    // Random bytes do not get smaller, so their ratio is about 1.
    let mut seed = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    })
    .take(5 << 20)
    .collect();
    let noise = |bytes: usize| Tar::default().entry(b'0', b"f", 0o644, b"", &noise[..bytes]).end();
    for (what, bytes, because) in [
        ("three entries", gzip(&files(3)), None),
        ("four entries", gzip(&files(4)), Some("archive-entries")),
        ("less than 1 MiB of zeros", gzip(&zeros(1 << 19)), None),
        ("2 MiB of zeros", gzip(&zeros(2 << 20)), Some("archive-ratio")),
        ("3 MiB of noise", gzip(&noise(3 << 20)), None),
        ("5 MiB of noise", gzip(&noise(5 << 20)), Some("archive-bytes")),
    ] {
        let result = Place::new().unpack_within(&bytes, Archive::Default, limits);
        match because {
            None => assert!(result.is_ok(), "{what}: {:?}", result.err()),
            Some(because) => {
                let refused = result.expect_err(what);
                assert!(refused.what.contains(because), "{what}: {refused}");
            }
        }
    }
}

type Build<'a> = &'a dyn Fn(&mut ZipWriter<Cursor<Vec<u8>>>);

fn zip(build: Build<'_>) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("first", SimpleFileOptions::default()).unwrap();
    build(&mut zip);
    zip.finish().unwrap().into_inner()
}

/// A zip whose names `placeholder` are replaced by one of the same length, in both places.
fn renamed(placeholder: &str, name: &[u8]) -> Vec<u8> {
    let mut bytes = zip(&|zip| zip.start_file(placeholder, SimpleFileOptions::default()).unwrap());
    let old = placeholder.as_bytes();
    for at in 0..bytes.len() - old.len() {
        if bytes[at..].starts_with(old) {
            bytes[at..at + old.len()].copy_from_slice(name);
        }
    }
    bytes
}

#[test]
fn zips_that_could_reach_outside_are_refused() {
    let options = SimpleFileOptions::default();
    let link =
        |target: &'static str| zip(&move |zip| zip.add_symlink("l", target, options).unwrap());
    let through = zip(&|zip| {
        zip.add_symlink("l", "d", options).unwrap();
        zip.start_file("l/x", options).unwrap();
    });
    for (what, bytes, because) in [
        ("absolute name", renamed("abcdef", b"/etc/x"), "absolute"),
        ("climbing name", renamed("abcdef", b"../../"), "climbs"),
        ("climbing file", renamed("abcdef", b"../xyz"), "climbs"),
        ("name that is not UTF-8", renamed("abcdef", b"ab\xff\xfeef"), "UTF-8"),
        ("name with a zero byte", renamed("abcdef", b"abc\0ef"), "zero byte"),
        ("absolute link", link("/etc"), "outside"),
        ("climbing link", link("../beside"), "outside"),
        ("file through a link", through, "leads through"),
        ("garbage", b"PK\x03\x04garbage".to_vec(), "cannot be read"),
    ] {
        assert_refused(what, &bytes, because);
    }
}

#[test]
fn a_zip_is_bounded_whatever_it_declares() {
    let limits = Limits { entries: 3, bytes: 4 << 20, ratio: 10 };
    let bomb = zip(&|zip| {
        zip.start_file("zeros", SimpleFileOptions::default()).unwrap();
        zip.write_all(&vec![0; 2 << 20]).unwrap();
    });
    let mut lying = bomb.clone();
    // The uncompressed size in the central directory, which readers go by.
    let directory = (0..bomb.len()).rfind(|at| bomb[*at..].starts_with(b"PK\x01\x02")).unwrap();
    lying[directory + 24..directory + 28].copy_from_slice(&100_u32.to_le_bytes());
    for (what, bytes) in [("honest", bomb), ("lying", lying)] {
        let result = Place::new().unpack_within(&bytes, Archive::Default, limits);
        assert_eq!(result.expect_err(what).code, Code::HostileArchive, "{what}");
    }
}

/// A tar with a bit of everything, to change bytes of.
fn rich() -> Vec<u8> {
    Tar::default()
        .folder("d")
        .file("d/f", "text")
        .symlink("d/l", "../d/f")
        .hardlink("h", "d/f")
        .entry(b'L', b"L", 0, b"", b"long\0")
        .file("short", "text")
        .entry(b'x', b"x", 0, b"", pax("path", "pax").as_bytes())
        .file("other", "text")
        .end()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// `Place` asserts that nothing outside has changed.
    #[test]
    fn changed_archives_never_escape(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        reseal: bool,
    ) {
        let mut tar = rich();
        for (at, byte) in changes {
            let at = at.index(tar.len());
            tar[at] = byte;
            if let (true, Some(block)) = (reseal, tar[at / 512 * 512..].first_chunk::<512>()) {
                let block = sealed(*block);
                tar[at / 512 * 512..][..512].copy_from_slice(&block);
            }
        }
        let _ = Place::new().unpack(&tar, Archive::Tar(0));
        let _ = Place::new().unpack(&gzip(&tar), Archive::Default);
    }

    #[test]
    fn changed_zips_never_escape(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = zip(&|zip| {
            zip.add_symlink("l", "first", SimpleFileOptions::default()).unwrap();
            zip.add_directory("d", SimpleFileOptions::default()).unwrap();
        });
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = Place::new().unpack(&bytes, Archive::Zip);
    }

    #[test]
    fn random_bytes_never_escape(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        for packing in [Archive::Default, Archive::Tar(6), Archive::Zip] {
            let _ = Place::new().unpack(&bytes, packing);
        }
    }
}
