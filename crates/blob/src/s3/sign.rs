//! Signed URLs: SigV4 in the query.
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html>

use super::keys::{Credentials, hmac};
use crate::Address;
use crate::folder::hex;
use argosy_model::{Code, Diagnostic};
use sha2::{Digest, Sha256};

/// Longest time for which a URL may be signed: seven days, as in S3.
const LONGEST_SECONDS: u32 = 604_800;

/// The region that is signed; the endpoint takes any.
const REGION: &str = "us-east-1";

/// Signs URLs of an endpoint with a key pair.
#[derive(Clone, Debug)]
pub struct Signer {
    /// `http://HOST:PORT`.
    pub endpoint: String,
    /// Whose rights the URLs have.
    pub credentials: Credentials,
}

impl Signer {
    /// A URL with which anybody can do `method` (`GET`, `PUT`, ..) to an object for some seconds
    /// from `now_ms` (Unix ms).
    ///
    /// # Errors
    /// [`Code::BadValue`] if the time is 0 or longer than seven days, or is no time.
    pub fn presign(
        &self,
        method: &str,
        at: &Address,
        seconds: u32,
        now_ms: i64,
    ) -> Result<String, Diagnostic> {
        let path = format!("/{}/{}", at.space().as_str(), at.key());
        self.sign(&Ask { method, path: &path, query: &[], headers: &[] }, seconds, now_ms)
    }

    /// A URL with which a request can be made that has at least these headers.
    ///
    /// # Errors
    /// As [`Signer::presign`].
    pub fn sign(&self, ask: &Ask<'_>, seconds: u32, now_ms: i64) -> Result<String, Diagnostic> {
        if !(1..=LONGEST_SECONDS).contains(&seconds) {
            let what = format!("a URL is signed for 1 to {LONGEST_SECONDS} seconds, not {seconds}");
            return Err(Diagnostic::new(Code::BadValue, what));
        }
        let time = jiff::Timestamp::from_millisecond(now_ms)
            .map_err(|error| Diagnostic::new(Code::BadValue, error.to_string()))?
            .strftime("%Y%m%dT%H%M%SZ")
            .to_string();
        let date = time.split('T').next().unwrap_or_default();
        let scope = format!("{date}/{REGION}/s3/aws4_request");
        let mut headers = vec![("host".to_owned(), self.host().to_owned())];
        headers.extend(ask.headers.iter().map(|(k, v)| (k.to_lowercase(), v.trim().to_owned())));
        headers.sort();
        let names = headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
        let query = self.query(ask, seconds, &time, &scope, &names);
        let path = encoded(ask.path, "/");
        let lines: String = headers.iter().map(|(k, v)| format!("{k}:{v}\n")).collect();
        let canonical =
            format!("{}\n{path}\n{query}\n{lines}\n{names}\nUNSIGNED-PAYLOAD", ask.method);
        let digest = hex(&Sha256::digest(canonical));
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}");
        let mut key = format!("AWS4{}", self.credentials.secret.expose()).into_bytes();
        for part in scope.split('/') {
            key = hmac(&key, part.as_bytes()).to_vec();
        }
        let signature = hex(&hmac(&key, text.as_bytes()));
        let endpoint = self.endpoint.trim_end_matches('/');
        Ok(format!("{endpoint}{path}?{query}&X-Amz-Signature={signature}"))
    }

    fn host(&self) -> &str {
        let rest = self.endpoint.split_once("://").map_or(&*self.endpoint, |(_, rest)| rest);
        rest.split('/').next().unwrap_or_default()
    }

    /// The query in the order in which it is signed.
    fn query(&self, ask: &Ask<'_>, seconds: u32, time: &str, scope: &str, names: &str) -> String {
        let credential = format!("{}/{scope}", self.credentials.access_key);
        let seconds = seconds.to_string();
        let own = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", time),
            ("X-Amz-Expires", &seconds),
            ("X-Amz-SignedHeaders", names),
        ];
        let pairs = ask.query.iter().copied().chain(own);
        let mut pairs: Vec<_> = pairs.map(|(k, v)| (encoded(k, ""), encoded(v, ""))).collect();
        pairs.sort();
        pairs.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join("&")
    }
}

/// A request to be signed.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// `GET`, `PUT`, ..
    pub method: &'a str,
    /// `/SPACE/KEY`, not encoded.
    pub path: &'a str,
    /// Names and values of the query, not encoded.
    pub query: &'a [(&'a str, &'a str)],
    /// Headers that the request will have.
    pub headers: &'a [(&'a str, &'a str)],
}

/// Percent-encodes all but RFC 3986's unreserved characters and those in `kept`.
pub(super) fn encoded(text: &str, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        if is_plain || kept.as_bytes().contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example on the page that this module names.
    #[test]
    fn the_published_example_is_signed_as_published() {
        let credentials = serde_json::json!({
            "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        });
        let signer = Signer {
            endpoint: "https://examplebucket.s3.amazonaws.com".into(),
            credentials: serde_json::from_value(credentials).unwrap(),
        };
        let ask = Ask { method: "GET", path: "/test.txt", query: &[], headers: &[] };
        // 2013-05-24T00:00:00Z
        let url = signer.sign(&ask, 86_400, 1_369_353_600_000).unwrap();
        let signature = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
        assert!(url.ends_with(&format!("&X-Amz-Signature={signature}")), "{url}");
    }

    #[test]
    fn texts_are_encoded_byte_by_byte() {
        for (text, kept, expected) in [
            ("a-Z_0.~", "", "a-Z_0.~"),
            ("a b/c", "/", "a%20b/c"),
            ("a b/c", "", "a%20b%2Fc"),
            ("é+", "", "%C3%A9%2B"),
        ] {
            assert_eq!(encoded(text, kept), expected, "{text}");
        }
    }

    #[test]
    fn a_url_lives_for_a_second_to_seven_days() {
        let keys = super::super::Keys::open(tempfile::tempdir().unwrap().path()).unwrap();
        let credentials = keys.admin().clone();
        let signer = Signer { endpoint: "http://h:1".into(), credentials };
        let at = Address::new(&crate::Space::new("s").unwrap(), "k").unwrap();
        for (seconds, works) in [(0, false), (1, true), (604_800, true), (604_801, false)] {
            assert_eq!(signer.presign("GET", &at, seconds, 0).is_ok(), works, "{seconds}");
        }
    }
}
