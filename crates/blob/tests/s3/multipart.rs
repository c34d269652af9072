//! Objects that come in parts.

use super::support::{Answer, Call, House, files, now_ms};
use argosy_blob::s3::Endpoint;

const MIB5: usize = 5 << 20;

async fn begin(house: &House, path: &str) -> String {
    let headers = [("content-type", "text/x"), ("x-amz-meta-k", "v")];
    let call = Call { query: &[("uploads", "")], headers: &headers, ..Call::default() };
    let id = house.call("POST", path, call).await.one("UploadId");
    assert_eq!(id.len(), 32);
    id
}

async fn part(house: &House, path: &str, id: &str, number: u32, body: &[u8]) -> Answer {
    let number = number.to_string();
    let query = [("partNumber", &*number), ("uploadId", id)];
    house.call("PUT", path, Call { query: &query, body, ..Call::default() }).await
}

async fn complete(house: &House, path: &str, id: &str, parts: &[(u32, &str)]) -> Answer {
    let part = |(number, etag): &(u32, &str)| {
        format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
    };
    let parts: String = parts.iter().map(part).collect();
    let body = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    let call = Call { query: &[("uploadId", id)], body: body.as_bytes(), ..Call::default() };
    house.call("POST", path, call).await
}

#[tokio::test]
async fn parts_in_any_order_become_one_object_at_once() {
    let house = House::new();
    let path = "/team/big";
    let id = begin(&house, path).await;
    let last = part(&house, path, &id, 7, b"end").await;
    part(&house, path, &id, 2, b"is replaced").await;
    let first = part(&house, path, &id, 2, &vec![b'a'; MIB5]).await;
    part(&house, path, &id, 5, b"is left out").await;
    assert_eq!(house.get(path).await.status, 404, "nothing is there yet");

    let query = [("uploadId", &*id)];
    let shown = house.call("GET", path, Call { query: &query, ..Call::default() }).await;
    assert_eq!(shown.all("PartNumber"), ["2", "5", "7"]);
    assert_eq!(shown.all("Size"), ["5242880", "11", "3"]);
    let query = [("uploadId", &*id), ("max-parts", "1"), ("part-number-marker", "2")];
    let shown = house.call("GET", path, Call { query: &query, ..Call::default() }).await;
    assert_eq!((shown.one("PartNumber"), shown.one("IsTruncated")), ("5".into(), "true".into()));

    let parts = [(2, first.header("etag")), (7, last.header("etag"))];
    let done = complete(&house, path, &id, &parts).await;
    // md5sum of the MD5s of both parts, as bytes, one behind the other.
    let etag = "cc8f6f16b44b75adde6349ab98aee432-2";
    assert_eq!(done.status, 200, "{}", done.text());
    assert!(done.one("ETag").contains(etag), "{}", done.text());
    let got = house.get(path).await;
    assert_eq!(got.body.len(), MIB5 + 3);
    assert!(got.body.ends_with(b"aend"));
    assert_eq!(got.header("etag"), format!("\"{etag}\""));
    assert_eq!((got.header("content-type"), got.header("x-amz-meta-k")), ("text/x", "v"));
    let again = complete(&house, path, &id, &parts).await;
    assert_eq!(again.error(), (404, "NoSuchUpload".into()));
    assert_eq!(files(&house.root.path().join("blobs")), 1, "no part is left");
}

#[tokio::test]
async fn parts_that_do_not_fit_together_are_refused_by_name() {
    let house = House::new();
    let path = "/team/big";
    let id = begin(&house, path).await;
    let one = part(&house, path, &id, 1, b"small").await;
    let two = part(&house, path, &id, 2, b"small too").await;
    let (one, two) = (one.header("etag"), two.header("etag"));
    let zero = "\"00000000000000000000000000000000\"";
    for (parts, code) in [
        (&[(1, one), (2, two)][..], "EntityTooSmall"),
        (&[(2, two), (1, one)], "InvalidPartOrder"),
        (&[(1, one), (1, one)], "InvalidPartOrder"),
        (&[(1, one), (3, two)], "InvalidPart"),
        (&[(1, zero)], "InvalidPart"),
        (&[], "MalformedXML"),
    ] {
        let refused = complete(&house, path, &id, parts).await;
        assert_eq!(refused.error(), (400, code.into()), "{parts:?}");
    }
    for number in [0, 10_001] {
        let refused = part(&house, path, &id, number, b"").await;
        assert_eq!(refused.error(), (400, "InvalidArgument".into()), "{number}");
    }
    let digest = [("content-md5", "XUFAKrxLKna5cZ2REBfFkg==")];
    let query = [("partNumber", "3"), ("uploadId", &*id)];
    let call = Call { query: &query, headers: &digest, body: b"hullo" };
    assert_eq!(house.call("PUT", path, call).await.error(), (400, "BadDigest".into()));
    assert_eq!(complete(&house, path, &id, &[(1, one)]).await.status, 200);
}

#[tokio::test]
async fn an_upload_is_known_by_its_key_and_id_only() {
    let house = House::new();
    let id = begin(&house, "/team/a").await;
    for (path, id) in [("/team/b", &*id), ("/team/a", "../../x"), ("/team/a", &id[1..])] {
        let refused = part(&house, path, id, 1, b"x").await;
        assert_eq!(refused.error(), (404, "NoSuchUpload".into()), "{path} {id}");
    }
}

#[tokio::test]
async fn uploads_are_listed_and_given_up() {
    let house = House::new();
    let (b, a) = (begin(&house, "/team/x/b").await, begin(&house, "/team/x/a").await);
    begin(&house, "/team/y").await;
    let query = [("uploads", ""), ("prefix", "x/")];
    let listed = house.call("GET", "/team", Call { query: &query, ..Call::default() }).await;
    assert_eq!(listed.all("UploadId"), [&*a, &*b]);
    let query = [("uploads", ""), ("max-uploads", "1"), ("key-marker", "x/a")];
    let listed = house.call("GET", "/team", Call { query: &query, ..Call::default() }).await;
    assert_eq!(listed.all("UploadId"), [&*b]);
    assert_eq!(listed.one("NextKeyMarker"), "x/b");
    part(&house, "/team/x/b", &b, 1, b"x").await;
    let query = [("uploadId", &*b)];
    let abort = || house.call("DELETE", "/team/x/b", Call { query: &query, ..Call::default() });
    assert_eq!(abort().await.status, 204);
    assert_eq!(abort().await.error(), (404, "NoSuchUpload".into()));
    assert_eq!(part(&house, "/team/x/b", &b, 2, b"x").await.status, 404);
}

#[tokio::test]
async fn an_upload_outlives_the_server_but_not_a_week_without_parts() {
    let house = House::new();
    let id = begin(&house, "/team/a").await;
    let folder = house.root.path().join("blobs/uploads");
    // What a crash in the middle of a beginning leaves.
    std::fs::create_dir(folder.join("00000000000000000000000000000000")).unwrap();
    let day = 24 * 60 * 60 * 1_000;
    let open = |at_ms| {
        let attempts = house.attempts.clone();
        Endpoint::open(&house.store, &house.keys, attempts, at_ms).unwrap();
    };
    open(now_ms() + 6 * day);
    assert_eq!(part(&house, "/team/a", &id, 1, b"x").await.status, 200);
    open(now_ms() + 8 * day);
    assert_eq!(part(&house, "/team/a", &id, 1, b"x").await.status, 404);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[tokio::test]
async fn a_part_is_copied_from_a_range_of_an_object() {
    let house = House::new();
    house.put("/team/source", b"0123456789").await;
    let id = begin(&house, "/team/a").await;
    let query = [("partNumber", "1"), ("uploadId", &*id)];
    let headers = [("x-amz-copy-source", "/team/source"), ("x-amz-copy-source-range", "bytes=2-4")];
    let call = Call { query: &query, headers: &headers, ..Call::default() };
    let copied = house.call("PUT", "/team/a", call).await;
    let etag = copied.one("ETag").replace("&quot;", "\"");
    assert_eq!(complete(&house, "/team/a", &id, &[(1, &etag)]).await.status, 200);
    assert_eq!(house.get("/team/a").await.text(), "234");
}
