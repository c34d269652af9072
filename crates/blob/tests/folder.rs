//! The store in a folder.

use argosy_blob::{Address, Folder, Listing, Meta, Object, Source, Space, Store};
use futures::TryStreamExt;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use tempfile::TempDir;

struct House {
    root: TempDir,
    store: Folder,
    space: Space,
}

impl House {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = Folder::open(&root.path().join("blobs")).unwrap();
        Self { root, store, space: Space::new("team").unwrap() }
    }

    fn at(&self, key: &str) -> Address {
        Address::new(&self.space, key).unwrap()
    }

    async fn put(&self, key: &str, text: &'static str) -> Object {
        let source = Source::Bytes(text.as_bytes().into());
        self.store.put(&self.at(key), source, Meta::default()).await.unwrap()
    }

    async fn text(&self, key: &str) -> Option<String> {
        let part = self.store.fetch(&self.at(key)).await.unwrap();
        part.map(|part| std::io::read_to_string(part).unwrap())
    }

    async fn keys(&self, prefix: &str, after: &str, limit: usize) -> (Vec<String>, bool) {
        let Listing { objects, more } =
            self.store.list(&self.space, prefix, after, limit).await.unwrap();
        (objects.into_iter().map(|object| object.key).collect(), more)
    }

    fn files(&self) -> usize {
        let entries = walk(self.root.path());
        entries.iter().filter(|path| path.is_file()).count()
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            let below = if path.is_dir() { walk(&path) } else { vec![] };
            std::iter::once(path).chain(below)
        })
        .collect()
}

#[tokio::test]
async fn an_object_has_its_bytes_size_md5_and_what_was_put_with_it() {
    let house = House::new();
    let user = BTreeMap::from([("k".to_owned(), "v\"".to_owned())]);
    let meta = Meta { content_type: "text/plain".into(), user, ..Meta::default() };
    let at = house.at("run/1.log");
    let source = Source::Bytes(b"abc".as_slice().into());
    let put = house.store.put(&at, source, meta.clone()).await.unwrap();
    // RFC 1321, A.5.
    assert_eq!((&*put.etag, put.size), ("900150983cd24fb0d6963f7d28e17f72", 3));
    assert_eq!((&*put.key, &put.meta), ("run/1.log", &meta));
    assert!(put.modified_ms > 1_600_000_000_000);
    assert_eq!(house.store.head(&at).await.unwrap(), Some(put));
    assert_eq!(house.text("run/1.log").await.as_deref(), Some("abc"));
    assert_eq!(house.text("run").await, None, "a folder is no object");
    assert_eq!(house.text("run/1.log/x").await, None);
}

#[tokio::test]
async fn a_put_replaces_what_was_there_and_a_key_may_go_on_below_another() {
    let house = House::new();
    for (key, text) in [("a", "1"), ("a/b", "2"), ("a", "3"), ("A", "4")] {
        house.put(key, text).await;
    }
    for (key, text) in [("a", "3"), ("a/b", "2"), ("A", "4")] {
        assert_eq!(house.text(key).await.as_deref(), Some(text), "{key}");
    }
    let other = Address::new(&Space::new("other").unwrap(), "a").unwrap();
    assert_eq!(house.store.head(&other).await.unwrap(), None, "spaces are apart");
}

#[tokio::test]
async fn files_are_taken_or_copied() {
    let house = House::new();
    let path = house.root.path().join("file");
    fs::write(&path, "taken").unwrap();
    let at = house.at("k");
    house.store.put(&at, Source::Taken(path.clone()), Meta::default()).await.unwrap();
    assert!(!path.exists());
    assert_eq!(house.text("k").await.as_deref(), Some("taken"));

    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"not this, copied").unwrap();
    file.seek(SeekFrom::Start(10)).unwrap();
    let put = house.store.put(&at, Source::Copied(file), Meta::default()).await.unwrap();
    assert_eq!((house.text("k").await.as_deref(), put.size), (Some("copied"), 6));

    std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
    let taken = house.store.put(&at, Source::Taken(path), Meta::default()).await;
    assert!(taken.is_err(), "a link is not followed");
    assert_eq!(house.text("k").await.as_deref(), Some("copied"), "and nothing is replaced");
}

#[tokio::test]
async fn ranges_are_read_as_far_as_there_are_bytes() {
    let house = House::new();
    house.put("k", "0123456789").await;
    for (range, expected) in
        [(None, "0123456789"), (Some(2..5), "234"), (Some(8..99), "89"), (Some(20..30), "")]
    {
        let (object, bytes) =
            house.store.read(&house.at("k"), range.clone()).await.unwrap().unwrap();
        let chunks: Vec<_> = bytes.try_collect().await.unwrap();
        assert_eq!((chunks.concat(), object.size), (expected.as_bytes().to_vec(), 10), "{range:?}");
    }
    assert!(house.store.read(&house.at("none"), None).await.unwrap().is_none());
    let mut part = house.store.fetch(&house.at("k")).await.unwrap().unwrap();
    part.seek(SeekFrom::End(-2)).unwrap();
    let mut text = String::new();
    part.read_to_string(&mut text).unwrap();
    assert_eq!(text, "89");
}

#[tokio::test]
async fn large_objects_come_in_several_chunks() {
    let house = House::new();
    let large: Vec<u8> = (0..600_000_u32).map(|n| (n % 251) as u8).collect();
    let source = Source::Bytes(large.clone().into());
    house.store.put(&house.at("k"), source, Meta::default()).await.unwrap();
    let (_, bytes) = house.store.read(&house.at("k"), None).await.unwrap().unwrap();
    let chunks: Vec<_> = bytes.try_collect().await.unwrap();
    assert!(chunks.len() > 1);
    assert!(chunks.concat() == large);
}

#[tokio::test]
async fn keys_are_listed_in_the_order_of_their_bytes_page_by_page() {
    let house = House::new();
    let long = "l".repeat(300);
    let keys = ["B", "a", "a-b", "a.b", "a/b", "a/b/c", "aé", "b/x", &long, &format!("{long}/y")];
    for key in keys {
        house.put(key, "").await;
    }
    let mut sorted = keys.map(str::to_owned).to_vec();
    sorted.sort();
    assert_eq!(house.keys("", "", 99).await, (sorted.clone(), false));
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let (page, more) = house.keys("", &after, 3).await;
        assert_eq!(page.len() == 3, more || found.len() + 3 == sorted.len());
        found.extend(page);
        after.clone_from(found.last().unwrap());
        if !more {
            break;
        }
    }
    assert_eq!(found, sorted);
    for (prefix, expected) in [
        ("a/", vec!["a/b", "a/b/c"]),
        ("a", vec!["a", "a-b", "a.b", "a/b", "a/b/c", "aé"]),
        ("a/b/", vec!["a/b/c"]),
        ("none", vec![]),
    ] {
        assert_eq!(house.keys(prefix, "", 99).await.0, expected, "{prefix}");
    }
    assert_eq!(house.keys("a/", "a/b", 99).await.0, ["a/b/c"]);
    assert_eq!(house.keys("", &sorted[9], 99).await, (vec![], false));
}

#[tokio::test]
async fn a_delete_leaves_only_the_space_behind() {
    let house = House::new();
    house.put("a/b/c", "1").await;
    house.put("a/d", "2").await;
    assert!(house.store.delete(&house.at("a/b/c")).await.unwrap());
    assert!(!house.store.delete(&house.at("a/b/c")).await.unwrap());
    assert!(!house.store.delete(&house.at("a/d/e")).await.unwrap());
    assert_eq!((house.keys("", "", 9).await.0, house.files()), (vec!["a/d".to_owned()], 1));
    assert!(house.store.delete(&house.at("a/d")).await.unwrap());
    let spaces = house.root.path().join("blobs/spaces");
    assert_eq!(walk(&spaces), [spaces.join("team=")]);
}

#[tokio::test]
async fn objects_survive_a_restart_and_half_written_ones_do_not() {
    let house = House::new();
    house.put("k", "1").await;
    let blobs = house.root.path().join("blobs");
    fs::write(blobs.join("new/half"), "half").unwrap();
    let again = Folder::open(&blobs).unwrap();
    assert_eq!(again.head(&house.at("k")).await.unwrap().unwrap().size, 1);
    assert_eq!(house.files(), 1);
    // A file that was cut off is an error and no object.
    let file = walk(&blobs).into_iter().find(|path| path.is_file()).unwrap();
    fs::write(&file, "1").unwrap();
    let error = again.head(&house.at("k")).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{error}");
}

#[tokio::test]
async fn puts_and_deletes_of_one_folder_do_not_disturb_each_other() {
    let house = House::new();
    let rounds = (0..20).map(|round| {
        let house = &house;
        async move {
            let key = format!("folder/deep/{round}");
            house.put(&key, "x").await;
            assert!(house.store.delete(&house.at(&key)).await.unwrap());
        }
    });
    futures::future::join_all(rounds).await;
    assert_eq!(house.files(), 0);
}
