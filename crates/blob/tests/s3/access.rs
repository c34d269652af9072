//! Who may do what.

use super::support::{Call, House, now_ms};
use argosy_blob::s3::{Ask, Credentials, Endpoint};
use argosy_blob::{Address, Space};
use argosy_model::{AttemptId, RunId, StepKey};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

fn mint(house: &House, space: &str) -> Credentials {
    let attempt = AttemptId { run: RunId(7), step: StepKey(1), number: 0 };
    house.keys.mint(&Space::new(space).unwrap(), &["runs/7"], attempt)
}

#[tokio::test]
async fn minted_keys_do_everything_below_their_folders_and_nothing_elsewhere() {
    let house = House::new();
    house.have(&["/team/runs/7/in", "/team/runs/70/other", "/team/secret"]).await;
    house.put("/foreign", b"").await;
    house.have(&["/foreign/runs/7/in"]).await;
    let minted = mint(&house, "team");
    let inside = [("x-amz-copy-source", "/team/runs/7/in")];
    let outside = [("x-amz-copy-source", "/team/secret")];
    let both = b"<Delete><Object><Key>runs/7/none</Key></Object>\
                 <Object><Key>secret</Key></Object></Delete>";
    let own = b"<Delete><Object><Key>runs/7/none</Key></Object></Delete>";
    let plain = Call::default();
    let list = |query| Call { query, ..plain };
    let delete = |body| Call { query: &[("delete", "")], body, ..plain };
    for (method, path, call, status) in [
        ("GET", "/team/runs/7/in", plain, 200),
        ("HEAD", "/team/runs/7/in", plain, 200),
        ("PUT", "/team/runs/7/out", plain, 200),
        ("DELETE", "/team/runs/7/out", plain, 204),
        ("PUT", "/team/runs/7/copy", Call { headers: &inside, ..plain }, 200),
        ("POST", "/team/runs/7/big", list(&[("uploads", "")]), 200),
        ("GET", "/team", list(&[("list-type", "2"), ("prefix", "runs/7/")]), 200),
        ("GET", "/team", list(&[("prefix", "runs/7/x")]), 200),
        ("HEAD", "/team", plain, 200),
        ("POST", "/team", delete(own), 200),
        ("GET", "/team/runs/70/other", plain, 403),
        ("GET", "/team/secret", plain, 403),
        ("GET", "/team/none", plain, 403),
        ("PUT", "/team/secret", plain, 403),
        ("DELETE", "/team/secret", plain, 403),
        ("PUT", "/team/runs/7/copy", Call { headers: &outside, ..plain }, 403),
        ("PUT", "/team/secret", Call { headers: &inside, ..plain }, 403),
        ("POST", "/team/big", list(&[("uploads", "")]), 403),
        ("POST", "/team", delete(both), 403),
        ("GET", "/team", list(&[("list-type", "2")]), 403),
        ("GET", "/team", list(&[("list-type", "2"), ("prefix", "runs/7")]), 403),
        ("GET", "/team", list(&[("prefix", "runs/")]), 403),
        ("GET", "/team", list(&[("uploads", "")]), 403),
        ("DELETE", "/team", plain, 403),
        ("PUT", "/another", plain, 403),
        ("GET", "/", plain, 403),
        ("GET", "/foreign/runs/7/in", plain, 403),
        ("GET", "/foreign", list(&[("prefix", "runs/7/")]), 403),
    ] {
        let answer = house.call_as(&minted, method, path, call).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path} {}", answer.text());
    }
    assert_eq!(house.get("/team/secret").await.status, 200, "it was never touched");
}

#[tokio::test]
async fn the_space_of_minted_keys_is_there_before_its_first_object() {
    let house = House::new();
    let minted = mint(&house, "fresh");
    let call = Call { query: &[("prefix", "runs/7/")], ..Call::default() };
    assert_eq!(house.call_as(&minted, "GET", "/fresh", call).await.status, 200);
    let put = Call { body: b"x", ..Call::default() };
    assert_eq!(house.call_as(&minted, "PUT", "/fresh/runs/7/a", put).await.status, 200);
    assert_eq!(house.get("/fresh/runs/7/a").await.text(), "x");
}

#[tokio::test]
async fn nothing_is_answered_without_a_valid_signature() {
    let house = House::new();
    house.have(&["/team/k"]).await;
    for path in ["/", "/team", "/team/k"] {
        let answer = house.send("GET", &format!("http://127.0.0.1:9000{path}"), &[], b"").await;
        assert_eq!(answer.error(), (403, "AccessDenied".into()), "{path}");
    }
    let with = |access_key: &str, secret: &str| -> Credentials {
        let json = serde_json::json!({
            "AWS_ACCESS_KEY_ID": access_key,
            "AWS_SECRET_ACCESS_KEY": secret,
        });
        serde_json::from_value(json).unwrap()
    };
    let admin = house.keys.admin();
    let minted = mint(&house, "team");
    for (who, code) in [
        (with(&admin.access_key, "guessed"), "SignatureDoesNotMatch"),
        (with(&minted.access_key, "guessed"), "SignatureDoesNotMatch"),
        (with(&minted.access_key, admin.access_key.as_str()), "SignatureDoesNotMatch"),
        (with("somebody", admin.secret.expose()), "InvalidAccessKeyId"),
    ] {
        let answer = house.call_as(&who, "GET", "/team/k", Call::default()).await;
        assert_eq!(answer.error(), (403, code.into()), "{}", who.access_key);
    }
}

#[tokio::test]
async fn forms_are_refused_before_anything_is_kept() {
    let house = House::new();
    let body = b"--b\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nk\r\n\
                 --b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--b--\r\n";
    let headers = [("content-type", "multipart/form-data; boundary=b")];
    let answer = house.send("POST", "http://127.0.0.1:9000/team", &headers, body).await;
    assert_eq!(answer.error(), (403, "AccessDenied".into()));
    assert_eq!(house.get("/team/k").await.status, 404);
}

#[tokio::test]
async fn with_an_attempt_end_its_keys_its_signed_urls_and_its_uploads() {
    let house = House::new();
    let minted = mint(&house, "team");
    let uploads = Call { query: &[("uploads", "")], ..Call::default() };
    let begun = house.call_as(&minted, "POST", "/team/runs/7/big", uploads).await;
    let id = begun.one("UploadId");
    let theirs = house.call("POST", "/team/mine", uploads).await.one("UploadId");
    let part = [("partNumber", "1"), ("uploadId", &*id)];
    let part = Call { query: &part, body: b"x", ..Call::default() };
    assert_eq!(house.call_as(&minted, "PUT", "/team/runs/7/big", part).await.status, 200);
    let kept = Call { body: b"x", ..Call::default() };
    assert_eq!(house.call_as(&minted, "PUT", "/team/runs/7/out", kept).await.status, 200);
    let at = Address::new(&Space::new("team").unwrap(), "runs/7/out").unwrap();
    let url = house.signer(&minted).presign("GET", &at, 60, now_ms()).unwrap();
    assert_eq!(house.send("GET", &url, &[], b"").await.status, 200);

    house.attempts.over.store(true, Ordering::Relaxed);
    let refused = (403, "InvalidAccessKeyId".to_owned());
    let get = house.call_as(&minted, "GET", "/team/runs/7/out", Call::default()).await;
    assert_eq!(get.error(), refused);
    assert_eq!(house.call_as(&minted, "PUT", "/team/runs/7/big", part).await.error(), refused);
    assert_eq!(house.send("GET", &url, &[], b"").await.error(), refused);
    assert_eq!(house.get("/team/runs/7/out").await.text(), "x", "what was written stays");
    // Nobody else may add to what it began, nor sees it.
    let add = house.call("PUT", "/team/runs/7/big", part).await;
    assert_eq!(add.error(), (404, "NoSuchUpload".into()));
    let listed = house.call("GET", "/team", uploads).await.all("UploadId");
    assert_eq!(listed, std::slice::from_ref(&theirs));
    // Its bytes go with the next upload, and those of others do not.
    let next = house.call("POST", "/team/mine", uploads).await.one("UploadId");
    let folder = house.root.path().join("blobs/uploads");
    let left = std::fs::read_dir(folder).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.collect::<BTreeSet<_>>(), BTreeSet::from([theirs, next]));
}

#[tokio::test]
async fn uploads_of_ended_attempts_are_removed_when_the_endpoint_is_opened() {
    let house = House::new();
    let uploads = Call { query: &[("uploads", "")], ..Call::default() };
    house.call_as(&mint(&house, "team"), "POST", "/team/runs/7/big", uploads).await;
    let left = || std::fs::read_dir(house.root.path().join("blobs/uploads")).unwrap().count();
    let open = || Endpoint::open(&house.store, &house.keys, house.attempts.clone(), now_ms());
    open().unwrap();
    assert_eq!(left(), 1, "its attempt goes on");
    house.attempts.over.store(true, Ordering::Relaxed);
    open().unwrap();
    assert_eq!(left(), 0);
}

#[tokio::test]
async fn a_range_that_is_none_opens_no_door() {
    // Such a request is sent on behind the check of its signature.
    let house = House::new();
    house.have(&["/team/secret", "/team/runs/7/in"]).await;
    let headers = [("range", "nonsense")];
    let call = Call { headers: &headers, ..Call::default() };
    let nobody = house.send("GET", "http://127.0.0.1:9000/team/secret", &headers, b"").await;
    assert_eq!(nobody.error(), (403, "AccessDenied".into()));
    let ask = Ask { method: "GET", path: "/team/secret", query: &[], headers: &headers };
    let url = house.signer(house.keys.admin()).sign(&ask, 60, now_ms()).unwrap();
    let changed = house.send("GET", &url, &[("range", "bytes=4-2")], b"").await;
    assert_eq!(changed.error(), (403, "SignatureDoesNotMatch".into()));
    let minted = mint(&house, "team");
    let elsewhere = house.call_as(&minted, "GET", "/team/secret", call).await;
    assert_eq!(elsewhere.error(), (403, "AccessDenied".into()));
    assert_eq!(house.call_as(&minted, "GET", "/team/runs/7/in", call).await.text(), "x");
}
