//! Objects and buckets.

use super::support::{Call, House, files, now_ms};
use argosy_blob::{Address, Space, Store};

/// MD5 of `hello`, from `md5sum`.
const HELLO: &str = "\"5d41402abc4b2a76b9719d911017c592\"";

#[tokio::test]
async fn an_object_comes_back_with_its_bytes_etag_type_headers_and_metadata() {
    let house = House::new();
    let headers = [
        ("content-type", "text/plain"),
        ("content-encoding", "gzip,aws-chunked"),
        ("cache-control", "no-store"),
        ("x-amz-meta-owner", "ann"),
    ];
    let put = Call { headers: &headers, body: b"hello", ..Call::default() };
    let put = house.call("PUT", "/team/a/b c+d%é.txt", put).await;
    assert_eq!((put.status.as_u16(), put.header("etag")), (200, HELLO), "{}", put.text());
    for (method, body) in [("GET", "hello"), ("HEAD", "")] {
        let got = house.call(method, "/team/a/b c+d%é.txt", Call::default()).await;
        assert_eq!((got.status.as_u16(), &*got.text()), (200, body), "{method}");
        for (name, value) in [
            ("etag", HELLO),
            ("content-length", "5"),
            ("content-type", "text/plain"),
            ("content-encoding", "gzip"),
            ("cache-control", "no-store"),
            ("x-amz-meta-owner", "ann"),
            ("accept-ranges", "bytes"),
        ] {
            assert_eq!(got.header(name), value, "{method} {name}");
        }
    }
    // It is the same object that the store knows.
    let at = Address::new(&Space::new("team").unwrap(), "a/b c+d%é.txt").unwrap();
    assert_eq!(house.store.head(&at).await.unwrap().unwrap().size, 5);
}

#[tokio::test]
async fn ranges_are_of_bytes_from_a_place_to_a_place_or_from_the_end() {
    let house = House::new();
    house.put("/team/k", b"0123456789").await;
    for (range, status, body, shown) in [
        ("bytes=2-4", 206, "234", "bytes 2-4/10"),
        ("bytes=7-", 206, "789", "bytes 7-9/10"),
        ("bytes=7-99", 206, "789", "bytes 7-9/10"),
        ("bytes=-3", 206, "789", "bytes 7-9/10"),
    ] {
        let headers = [("range", range)];
        let got = house.call("GET", "/team/k", Call { headers: &headers, ..Call::default() }).await;
        assert_eq!((got.status.as_u16(), &*got.text()), (status, body), "{range}");
        assert_eq!(got.header("content-range"), shown, "{range}");
    }
}

#[tokio::test]
async fn a_range_without_a_byte_is_refused_with_the_size_and_one_that_is_none_is_ignored() {
    // As S3 does; `-0` and whatever begins behind the end ask for no byte.
    let house = House::new();
    house.put("/team/k", b"0123456789").await;
    house.put("/team/empty", b"").await;
    for (path, range, size) in [
        ("/team/k", "bytes=10-", 10),
        ("/team/k", "bytes=10-12", 10),
        ("/team/k", "bytes=-0", 10),
        ("/team/k", "bytes=99999999999999999999-", 10),
        ("/team/empty", "bytes=0-0", 0),
    ] {
        let call = Call { headers: &[("range", range)], ..Call::default() };
        let got = house.call("GET", path, call).await;
        assert_eq!(got.error(), (416, "InvalidRange".into()), "{range}");
        assert_eq!(got.header("content-range"), format!("bytes */{size}"), "{range}");
        assert_eq!(got.header("content-type"), "application/xml", "{range}");
        let head = house.call("HEAD", path, call).await;
        assert_eq!(head.status.as_u16(), 416, "{range}");
        assert_eq!(head.header("content-range"), format!("bytes */{size}"), "{range}");
    }
    for range in ["bytes=4-2", "bytes=-", "bytes=1-2,4-5", "bytes=x-y", "items=0-1", "nonsense"] {
        let call = Call { headers: &[("range", range)], ..Call::default() };
        for (method, body) in [("GET", "0123456789"), ("HEAD", "")] {
            let got = house.call(method, "/team/k", call).await;
            assert_eq!((got.status.as_u16(), &*got.text()), (200, body), "{method} {range}");
            assert_eq!(got.header("content-length"), "10", "{method} {range}");
            assert_eq!(got.header("content-range"), "", "{method} {range}");
        }
    }
    let call = Call { headers: &[("range", "bytes=-3")], ..Call::default() };
    let got = house.call("GET", "/team/empty", call).await;
    assert_eq!((got.status.as_u16(), got.header("content-range")), (200, ""));
    let headers = [("range", "bytes=8-99999999999999999999")];
    let query = [("response-content-type", "a/b")];
    let call = Call { headers: &headers, query: &query, ..Call::default() };
    let got = house.call("GET", "/team/k", call).await;
    assert_eq!((got.status.as_u16(), &*got.text()), (206, "89"));
    assert_eq!((got.header("content-range"), got.header("content-type")), ("bytes 8-9/10", "a/b"));
}

#[tokio::test]
async fn reads_and_writes_hold_to_their_conditions() {
    let house = House::new();
    house.put("/team/k", b"hello").await;
    let other = "\"00000000000000000000000000000000\"";
    for (method, key, name, value, status) in [
        ("GET", "k", "if-match", HELLO, 200),
        ("GET", "k", "if-match", other, 412),
        ("GET", "k", "if-none-match", HELLO, 304),
        ("GET", "k", "if-none-match", other, 200),
        ("GET", "k", "if-modified-since", "Wed, 01 Jan 2020 00:00:00 GMT", 200),
        ("GET", "k", "if-unmodified-since", "Wed, 01 Jan 2020 00:00:00 GMT", 412),
        ("PUT", "k", "if-none-match", "*", 412),
        ("PUT", "new", "if-none-match", "*", 200),
        ("PUT", "new", "if-none-match", "*", 412),
        ("PUT", "k", "if-match", other, 412),
        ("PUT", "k", "if-match", HELLO, 200),
        ("PUT", "k", "if-match", HELLO, 412),
        ("PUT", "none", "if-match", HELLO, 404),
    ] {
        let headers = [(name, value)];
        let call = Call { headers: &headers, body: b"", ..Call::default() };
        let got = house.call(method, &format!("/team/{key}"), call).await;
        assert_eq!(got.status.as_u16(), status, "{method} {key} {name}: {value}");
    }
    assert_eq!(house.get("/team/none").await.error(), (404, "NoSuchKey".into()));
}

#[tokio::test]
async fn of_many_puts_at_once_that_want_to_be_the_first_one_is() {
    let house = House::new();
    let headers = [("if-none-match", "*")];
    let put = || house.call("PUT", "/team/one", Call { headers: &headers, ..Call::default() });
    let all = futures::future::join_all((0..16).map(|_| put())).await;
    let done = all.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(done, 1);
}

#[tokio::test]
async fn a_body_that_is_not_what_its_digests_say_is_refused_and_leaves_nothing() {
    let house = House::new();
    // Digests of `hello`: MD5, CRC32 and SHA-256 in base64, SHA-256 in hexadecimal.
    let (md5, crc32) = ("XUFAKrxLKna5cZ2REBfFkg==", "NhCmhg==");
    let sha256 = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=";
    let hex = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let before = files(house.root.path());
    for (name, value) in [
        ("content-md5", md5),
        ("x-amz-checksum-crc32", crc32),
        ("x-amz-checksum-sha256", sha256),
        ("x-amz-content-sha256", hex),
    ] {
        let headers = [(name, value)];
        let bad = Call { headers: &headers, body: b"hullo", ..Call::default() };
        let bad = house.call("PUT", "/team/bad", bad).await;
        assert_eq!(bad.error(), (400, "BadDigest".into()), "{name}");
        let good = Call { headers: &headers, body: b"hello", ..Call::default() };
        assert_eq!(house.call("PUT", "/team/good", good).await.status, 200, "{name}");
    }
    let headers = [("content-md5", "short")];
    let bad = Call { headers: &headers, body: b"hello", ..Call::default() };
    let bad = house.call("PUT", "/team/bad", bad).await;
    assert_eq!(bad.error(), (400, "InvalidDigest".into()));
    assert_eq!(house.get("/team/bad").await.status, 404);
    assert_eq!(files(house.root.path()), before + 1, "only the good object is there");
}

#[tokio::test]
async fn a_copy_keeps_its_metadata_or_replaces_it() {
    let house = House::new();
    let headers = [("x-amz-meta-k", "old"), ("content-type", "text/plain")];
    house
        .call("PUT", "/team/a", Call { headers: &headers, body: b"hello", ..Call::default() })
        .await;
    let copy = [("x-amz-copy-source", "/team/a")];
    let copied = house.call("PUT", "/team/b", Call { headers: &copy, ..Call::default() }).await;
    assert_eq!(copied.one("ETag").replace("&quot;", "\""), HELLO, "{}", copied.text());
    let got = house.get("/team/b").await;
    assert_eq!((&*got.text(), got.header("x-amz-meta-k")), ("hello", "old"));
    let replace = [
        ("x-amz-copy-source", "/team/a"),
        ("x-amz-metadata-directive", "REPLACE"),
        ("x-amz-meta-k", "new"),
    ];
    for path in ["/team/c", "/team/a"] {
        let copied = house.call("PUT", path, Call { headers: &replace, ..Call::default() }).await;
        assert_eq!(copied.status, 200, "{}", copied.text());
        let got = house.get(path).await;
        assert_eq!((&*got.text(), got.header("x-amz-meta-k")), ("hello", "new"));
    }
    let onto_itself =
        house.call("PUT", "/team/a", Call { headers: &copy, ..Call::default() }).await;
    assert_eq!(onto_itself.error(), (400, "InvalidRequest".into()));
    let none = [("x-amz-copy-source", "/team/none")];
    let none = house.call("PUT", "/team/d", Call { headers: &none, ..Call::default() }).await;
    assert_eq!(none.error(), (404, "NoSuchKey".into()));
}

#[tokio::test]
async fn deleted_objects_are_gone_one_by_one_or_many_at_once() {
    let house = House::new();
    house.have(&["/team/a", "/team/b", "/team/c/d"]).await;
    for _ in 0..2 {
        let deleted = house.call("DELETE", "/team/a", Call::default()).await;
        assert_eq!(deleted.status, 204, "deleting what is not there succeeds");
    }
    let body = b"<Delete><Object><Key>b</Key></Object><Object><Key>c/d</Key></Object>\
                 <Object><Key>none</Key></Object><Object><Key>x//y</Key></Object></Delete>";
    let call = Call { query: &[("delete", "")], body, ..Call::default() };
    let deleted = house.call("POST", "/team", call).await;
    let shown: Vec<_> = deleted.all("Key");
    assert_eq!(shown, ["b", "c/d", "none", "x//y"], "{}", deleted.text());
    assert_eq!(deleted.one("Code"), "InvalidArgument");
    for path in ["/team/a", "/team/b", "/team/c/d"] {
        assert_eq!(house.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_thousand_objects_are_deleted_at_once_and_no_more() {
    let house = House::new();
    house.have(&["/team/k0"]).await;
    for (count, status, code, left) in [(1_001, 400, "MalformedXML", 200), (1_000, 200, "", 404)] {
        let keys = (0..count).map(|n| format!("<Object><Key>k{n}</Key></Object>"));
        let body = format!("<Delete><Quiet>true</Quiet>{}</Delete>", keys.collect::<String>());
        let call = Call { query: &[("delete", "")], body: body.as_bytes(), ..Call::default() };
        let answer = house.call("POST", "/team", call).await;
        assert_eq!(answer.error(), (status, code.to_owned()), "{count}");
        assert_eq!(house.get("/team/k0").await.status, left, "{count}");
    }
}

#[tokio::test]
async fn buckets_are_made_listed_and_removed_when_they_are_empty() {
    let house = House::new();
    assert_eq!(house.call("HEAD", "/new", Call::default()).await.status, 404);
    assert_eq!(house.put("/new/k", b"x").await.error(), (404, "NoSuchBucket".into()));
    assert_eq!(house.get("/new/k").await.error(), (404, "NoSuchBucket".into()));
    assert_eq!(house.put("/new", b"").await.status, 200);
    assert_eq!(house.call("HEAD", "/new", Call::default()).await.status, 200);
    house.have(&["/new/k"]).await;
    assert_eq!(house.get("/").await.all("Name"), ["new", "team"]);
    let remove = || house.call("DELETE", "/new", Call::default());
    assert_eq!(remove().await.error(), (409, "BucketNotEmpty".into()));
    house.call("DELETE", "/new/k", Call::default()).await;
    assert_eq!(house.call("HEAD", "/new", Call::default()).await.status, 200, "an empty one stays");
    assert_eq!(remove().await.status, 204);
    assert_eq!(remove().await.error(), (404, "NoSuchBucket".into()));
    assert_eq!(house.get("/").await.all("Name"), ["team"]);
}

#[tokio::test]
async fn what_is_beyond_the_limits_or_not_supported_is_refused_by_name() {
    let house = House::new();
    let long = format!("/team/{}", "k".repeat(1_025));
    for (path, code) in [
        (&*long, "KeyTooLongError"),
        ("/team/a//b", "InvalidArgument"),
        ("/team/a/../b", "InvalidArgument"),
        ("/team/a/", "InvalidArgument"),
    ] {
        let refused = house.put(path, b"x").await;
        assert_eq!(refused.error(), (400, code.into()), "{path}");
        assert!(!refused.one("Message").is_empty() || code == "KeyTooLongError", "{path}");
    }
    assert_eq!(house.put(&long[..long.len() - 1], b"x").await.status, 200);
    // One letter is the name of what is added.
    let (most, large) = ("v".repeat(2_047), "v".repeat(2_048));
    let headers = [("x-amz-meta-k", &*most)];
    let fits = house.call("PUT", "/team/k", Call { headers: &headers, ..Call::default() }).await;
    assert_eq!(fits.status, 200, "{}", fits.text());
    // How long a body will be is believed before it comes.
    for (length, code) in [(5_u64 << 30, "IncompleteBody"), ((5 << 30) + 1, "EntityTooLarge")] {
        let length = length.to_string();
        let headers = [("x-amz-decoded-content-length", &*length)];
        let refused =
            house.call("PUT", "/team/k", Call { headers: &headers, ..Call::default() }).await;
        assert_eq!(refused.one("Code"), code, "{length}: {}", refused.text());
        assert!(code == "IncompleteBody" || refused.text().contains("`put-bytes`"), "{length}");
    }
    let document = |bytes: usize| {
        let text = "<Delete><Object><Key>none</Key></Object></Delete>";
        text.to_owned() + &" ".repeat(bytes - text.len())
    };
    for (bytes, passes) in [(4 << 20, true), ((4 << 20) + 1, false)] {
        let body = document(bytes);
        let call = Call { query: &[("delete", "")], body: body.as_bytes(), ..Call::default() };
        let answer = house.call("POST", "/team", call).await;
        assert_eq!(answer.status == 200, passes, "{bytes}: {}", answer.text());
    }
    for (name, value, status, code) in [
        ("x-amz-meta-k", &*large, 400, "MetadataTooLarge"),
        ("x-amz-server-side-encryption", "AES256", 501, "NotImplemented"),
        ("x-amz-tagging", "a=b", 501, "NotImplemented"),
    ] {
        let headers = [(name, value)];
        let refused =
            house.call("PUT", "/team/k", Call { headers: &headers, ..Call::default() }).await;
        assert_eq!(refused.error(), (status, code.into()), "{name}");
    }
    let versions = Call { query: &[("versionId", "abc")], ..Call::default() };
    house.have(&["/team/k"]).await;
    let refused = house.call("GET", "/team/k", versions).await;
    assert_eq!(refused.error(), (404, "NoSuchVersion".into()));
    let refused =
        house.call("GET", "/team", Call { query: &[("policy", "")], ..Call::default() }).await;
    assert_eq!(refused.error(), (501, "NotImplemented".into()));
}

#[tokio::test]
async fn a_signed_url_works_until_it_is_old_and_for_what_it_was_signed_for() {
    let house = House::new();
    let signer = house.signer(house.keys.admin());
    let at = Address::new(&Space::new("team").unwrap(), "k").unwrap();
    let put = signer.presign("PUT", &at, 60, now_ms()).unwrap();
    assert_eq!(house.send("PUT", &put, &[], b"hello").await.status, 200);
    let get = signer.presign("GET", &at, 60, now_ms()).unwrap();
    assert_eq!(house.send("GET", &get, &[], b"").await.text(), "hello");
    let denied = house.send("DELETE", &get, &[], b"").await;
    assert_eq!(denied.error(), (403, "SignatureDoesNotMatch".into()));
    let elsewhere = get.replacen("/team/k?", "/team/other?", 1);
    let denied = house.send("GET", &elsewhere, &[], b"").await;
    assert_eq!(denied.error(), (403, "SignatureDoesNotMatch".into()));
    let old = signer.presign("GET", &at, 60, now_ms() - 61_000).unwrap();
    assert_eq!(house.send("GET", &old, &[], b"").await.error(), (403, "AccessDenied".into()));
}
