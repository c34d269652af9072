//! Lists of objects.

use super::support::{Answer, Call, House};

async fn list(house: &House, query: &[(&str, &str)]) -> Answer {
    let answer = house.call("GET", "/team", Call { query, ..Call::default() }).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer
}

/// Keys, then rolled-up prefixes.
fn entries(answer: &Answer) -> (Vec<String>, Vec<String>) {
    let rolled = answer.all("CommonPrefixes");
    let rolled = rolled.iter().map(|text| text.replace("<Prefix>", "").replace("</Prefix>", ""));
    (answer.all("Key"), rolled.collect())
}

const KEYS: [&str; 8] = ["a", "b/1", "b/2", "b/c/3", "b0", "d/4", "e", "é"];

async fn house() -> House {
    let house = House::new();
    let paths = KEYS.map(|key| format!("/team/{key}"));
    house.have(&paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
    house
}

#[tokio::test]
async fn keys_are_filtered_rolled_up_and_in_the_order_of_their_bytes() {
    let house = house().await;
    let v2 = ("list-type", "2");
    for (query, keys, prefixes) in [
        (&[v2][..], &KEYS[..], &[][..]),
        (&[v2, ("prefix", "b/")], &["b/1", "b/2", "b/c/3"], &[]),
        (&[v2, ("prefix", "b")], &["b/1", "b/2", "b/c/3", "b0"], &[]),
        (&[v2, ("delimiter", "/")], &["a", "b0", "e", "é"], &["b/", "d/"]),
        (&[v2, ("delimiter", "/"), ("prefix", "b/")], &["b/1", "b/2"], &["b/c/"]),
        (&[v2, ("delimiter", "c/"), ("prefix", "b")], &["b/1", "b/2", "b0"], &["b/c/"]),
        (&[v2, ("start-after", "b/2")], &["b/c/3", "b0", "d/4", "e", "é"], &[]),
        (&[v2, ("prefix", "none")], &[], &[]),
        (&[("marker", "b0")], &["d/4", "e", "é"], &[]),
        (&[("delimiter", "/"), ("marker", "b/")], &["b0", "e", "é"], &["d/"]),
    ] {
        let answer = list(&house, query).await;
        let found = entries(&answer);
        assert_eq!(found.0, keys, "{query:?}");
        assert_eq!(found.1, prefixes, "{query:?}");
        assert_eq!(answer.one("IsTruncated"), "false", "{query:?}");
    }
}

#[tokio::test]
async fn pages_of_every_size_make_the_whole() {
    let house = house().await;
    for size in 1..=7 {
        for delimiter in ["", "/"] {
            let (mut keys, mut prefixes) = (vec![], vec![]);
            let mut token = String::new();
            loop {
                let size = size.to_string();
                let mut query = vec![("list-type", "2"), ("max-keys", &size)];
                query.extend((!delimiter.is_empty()).then_some(("delimiter", delimiter)));
                query.extend((!token.is_empty()).then_some(("continuation-token", &*token)));
                let answer = list(&house, &query).await;
                let (some, rolled) = entries(&answer);
                assert_eq!(answer.one("KeyCount"), (some.len() + rolled.len()).to_string());
                keys.extend(some);
                prefixes.extend(rolled);
                token = answer.one("NextContinuationToken");
                assert_eq!(answer.one("IsTruncated") == "true", !token.is_empty());
                if token.is_empty() {
                    break;
                }
            }
            let whole = if delimiter.is_empty() { &KEYS[..] } else { &["a", "b0", "e", "é"] };
            assert_eq!(keys, whole, "{size} {delimiter}");
            assert_eq!(prefixes.len(), if delimiter.is_empty() { 0 } else { 2 }, "{size}");
        }
    }
}

#[tokio::test]
async fn a_page_of_the_first_version_goes_on_after_its_marker() {
    let house = house().await;
    let first = list(&house, &[("delimiter", "/"), ("max-keys", "2")]).await;
    assert_eq!(entries(&first), (vec!["a".into()], vec!["b/".into()]));
    assert_eq!(first.one("NextMarker"), "b/");
    let query = [("delimiter", "/"), ("max-keys", "2"), ("marker", "b/")];
    assert_eq!(entries(&list(&house, &query).await), (vec!["b0".into()], vec!["d/".into()]));
}

#[tokio::test]
async fn many_keys_behind_one_prefix_are_one_entry() {
    let house = House::new();
    let paths: Vec<_> = (0..70).map(|at| format!("/team/many/{at:03}")).collect();
    house.have(&paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
    house.have(&["/team/many0", "/team/next/1"]).await;
    let answer = list(&house, &[("list-type", "2"), ("delimiter", "/")]).await;
    assert_eq!(entries(&answer), (vec!["many0".into()], vec!["many/".into(), "next/".into()]));
}

#[tokio::test]
async fn a_list_has_sizes_etags_and_encoded_keys_where_asked() {
    let house = House::new();
    house.have(&["/team/a b&c"]).await;
    let plain = list(&house, &[("list-type", "2")]).await;
    assert_eq!(plain.one("Key"), "a b&amp;c");
    assert_eq!(plain.one("Size"), "1");
    // MD5 of `x`, from `md5sum`.
    assert!(plain.one("ETag").contains("9dd4e461268c8034f5c8564e155c67a6"));
    let encoded = list(&house, &[("list-type", "2"), ("encoding-type", "url")]).await;
    assert_eq!(encoded.one("Key"), "a%20b%26c");
    assert_eq!(encoded.one("EncodingType"), "url");
}

#[tokio::test]
async fn what_cannot_be_listed_is_refused() {
    let house = house().await;
    let empty = list(&house, &[("list-type", "2"), ("max-keys", "0")]).await;
    assert_eq!((entries(&empty), &*empty.one("IsTruncated")), ((vec![], vec![]), "false"));
    for (path, query, status, code) in [
        ("/none", &[("list-type", "2")][..], 404, "NoSuchBucket"),
        ("/none", &[], 404, "NoSuchBucket"),
        ("/team", &[("list-type", "2"), ("max-keys", "-1")], 400, "InvalidArgument"),
        ("/team", &[("list-type", "2"), ("continuation-token", "!")], 400, "InvalidArgument"),
    ] {
        let answer = house.call("GET", path, Call { query, ..Call::default() }).await;
        assert_eq!(answer.error(), (status, code.into()), "{path} {query:?}");
    }
}
