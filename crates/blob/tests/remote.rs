//! The store that is an S3 elsewhere, over the endpoint of this crate.

use argosy_blob::s3::{Attempts, Endpoint, Keys};
use argosy_blob::{Address, Folder, Meta, Remote, Source, Space, Store};
use argosy_model::AttemptId;
use futures::TryStreamExt;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use tempfile::TempDir;

struct House {
    root: TempDir,
    /// What is below the remote store.
    folder: Folder,
    remote: Remote,
    url: String,
    space: Space,
}

/// There are no attempts.
#[derive(Debug)]
struct Nobody;

impl Attempts for Nobody {
    fn is_live(&self, _: AttemptId) -> bool {
        false
    }
}

impl House {
    async fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open(&root.path().join("blobs")).unwrap();
        folder.create_space(&Space::new("bucket").unwrap()).unwrap();
        let keys = Keys::open(root.path()).unwrap();
        let endpoint = Endpoint::open(&folder, &keys, Arc::new(Nobody), 0).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
            let endpoint = endpoint.clone();
            async move { endpoint.answer(request).await }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        let variables = [
            ("AWS_ACCESS_KEY_ID".to_owned(), keys.admin().access_key.clone()),
            ("AWS_SECRET_ACCESS_KEY".to_owned(), keys.admin().secret.expose().to_owned()),
            ("HOME".to_owned(), "/".to_owned()),
        ];
        let remote = Remote::open("s3://bucket/pre/fix", Some(&url), variables).unwrap();
        Self { root, folder, remote, url, space: Space::new("team").unwrap() }
    }

    fn at(&self, key: &str) -> Address {
        Address::new(&self.space, key).unwrap()
    }

    async fn put(&self, key: &str, text: &'static str) {
        let source = Source::Bytes(text.as_bytes().into());
        self.remote.put(&self.at(key), source, Meta::default()).await.unwrap();
    }

    async fn keys(&self, prefix: &str, after: &str, limit: usize) -> (Vec<String>, bool) {
        let listing = self.remote.list(&self.space, prefix, after, limit).await.unwrap();
        (listing.objects.into_iter().map(|object| object.key).collect(), listing.more)
    }
}

#[tokio::test]
async fn an_object_comes_back_with_all_that_was_put() {
    let house = House::new().await;
    let meta = Meta {
        content_type: "text/plain".into(),
        headers: BTreeMap::from([("content-encoding".into(), "gzip".into())]),
        user: BTreeMap::from([("k".into(), "v".into())]),
    };
    let at = house.at("a b/c%d+é");
    let put = house.remote.put(&at, Source::Bytes("abc".into()), meta.clone()).await.unwrap();
    // RFC 1321, A.5.
    assert_eq!((&*put.etag, put.size), ("900150983cd24fb0d6963f7d28e17f72", 3));
    assert_eq!((&*put.key, &put.meta), ("a b/c%d+é", &meta));
    assert_eq!(house.remote.head(&at).await.unwrap(), Some(put));
    let mut part = house.remote.fetch(&at).await.unwrap().unwrap();
    let mut text = String::new();
    part.read_to_string(&mut text).unwrap();
    assert_eq!(text, "abc");
    let below = Address::new(&Space::new("bucket").unwrap(), "pre/fix/team/a b/c%d+é").unwrap();
    assert!(house.folder.head(&below).await.unwrap().is_some());
}

#[tokio::test]
async fn what_is_not_there_is_none() {
    let house = House::new().await;
    let at = house.at("none");
    assert_eq!(house.remote.head(&at).await.unwrap(), None);
    assert!(house.remote.fetch(&at).await.unwrap().is_none());
    assert!(house.remote.read(&at, Some(0..1)).await.unwrap().is_none());
    assert!(house.remote.read(&at, None).await.unwrap().is_none());
    assert!(!house.remote.delete(&at).await.unwrap());
    house.put("none", "x").await;
    assert!(house.remote.delete(&at).await.unwrap());
    assert_eq!(house.remote.head(&at).await.unwrap(), None);
}

#[tokio::test]
async fn ranges_are_cut_at_the_end() {
    let house = House::new().await;
    house.put("k", "0123456789").await;
    for (range, expected) in [
        (None, "0123456789"),
        (Some(2..5), "234"),
        (Some(8..99), "89"),
        (Some(10..12), ""),
        (Some(50..60), ""),
        (Some(3..3), ""),
    ] {
        let shown = format!("{range:?}");
        let (object, bytes) = house.remote.read(&house.at("k"), range).await.unwrap().unwrap();
        let bytes: Vec<_> = bytes.try_collect().await.unwrap();
        assert_eq!((object.size, &*bytes.concat()), (10, expected.as_bytes()), "{shown}");
    }
}

#[tokio::test]
async fn lists_have_prefixes_that_end_anywhere_and_go_on_after_any_text() {
    let house = House::new().await;
    for key in ["a", "b/1", "b/2", "b0", "c/d/3"] {
        house.put(key, "x").await;
    }
    let all = ["a", "b/1", "b/2", "b0", "c/d/3"];
    for (prefix, after, limit, keys, more) in [
        ("", "", 9, &all[..], false),
        ("", "", 5, &all, false),
        ("", "", 2, &all[..2], true),
        ("b", "", 9, &all[1..4], false),
        ("b/", "", 9, &all[1..3], false),
        ("b/2", "", 9, &all[2..3], false),
        ("", "b/1", 2, &all[2..4], true),
        ("", "b/", 9, &all[1..], false),
        ("c/d/", "b", 9, &all[4..], false),
        ("x", "", 9, &[], false),
    ] {
        let (found, is_more) = house.keys(prefix, after, limit).await;
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!((&*found, is_more), (keys, more), "{prefix} {after}");
    }
    let other = house.remote.list(&Space::new("tea").unwrap(), "", "", 9).await.unwrap();
    assert_eq!(other.objects, [], "another space whose name starts the same");
}

#[tokio::test]
async fn files_are_put_from_where_they_are_read_next_and_large_ones_in_parts() {
    let house = House::new().await;
    let path = house.root.path().join("file");
    let large = "0123456789abcdef".repeat(1_100_000);
    for text in ["", "--rest", &large] {
        std::fs::write(&path, text).unwrap();
        let mut file = std::fs::File::open(&path).unwrap();
        let start = if text.starts_with("--") { 2 } else { 0 };
        file.seek(SeekFrom::Start(start)).unwrap();
        let at = house.at("k");
        let put = house.remote.put(&at, Source::Copied(file), Meta::default()).await.unwrap();
        assert_eq!(put.size, text.len() as u64 - start);
        let got = std::io::read_to_string(house.remote.fetch(&at).await.unwrap().unwrap()).unwrap();
        assert!(got == text[start as usize..], "{} bytes", text.len());
    }
    std::fs::File::create(&path).unwrap().write_all(b"taken").unwrap();
    let at = house.at("t");
    house.remote.put(&at, Source::Taken(path.clone()), Meta::default()).await.unwrap();
    assert!(!path.exists());
    assert_eq!(house.remote.head(&at).await.unwrap().unwrap().size, 5);
}

#[tokio::test]
async fn a_store_that_does_not_let_us_in_is_an_error_and_not_an_absence() {
    let house = House::new().await;
    let wrong = [
        ("AWS_ACCESS_KEY_ID".to_owned(), "somebody".to_owned()),
        ("AWS_SECRET_ACCESS_KEY".to_owned(), "guessed".to_owned()),
    ];
    let denied = Remote::open("s3://bucket", Some(&house.url), wrong).unwrap();
    let at = house.at("none");
    assert!(denied.head(&at).await.is_err());
    assert!(denied.fetch(&at).await.is_err());
    assert!(denied.list(&house.space, "", "", 9).await.is_err());
    assert!(denied.put(&at, Source::Bytes("x".into()), Meta::default()).await.is_err());
    assert!(denied.delete(&at).await.is_err());
}
